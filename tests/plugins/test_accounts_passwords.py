"""Which passwords are kept."""

from __future__ import annotations

import pytest
from memscope_accounts.accounts import Accounts
from memscope_accounts.settings import AccountsSettings

ACCOUNTS = Accounts(AccountsSettings(time_cost=1, memory_kib=64))


@pytest.mark.parametrize("password", ["elevenchars", "passwordpassword", "123456789012", "aaaaaaaaaaaa", "qwertyuiop123", "x" * 257])
def test_short_endless_and_easily_guessed_passwords_are_refused(password: str) -> None:
    with pytest.raises(ValueError, match="password"):
        ACCOUNTS.refuse_weak(password)


@pytest.mark.parametrize(
    "password", ["a quiet harbour at six", "Gx7#kq9!zLw2", "ein leiser Hafen um sechs", "  spaces around  ", "水曜日の静かな港に六時だよね"]
)
def test_long_ones_of_any_make_are_taken(password: str) -> None:
    ACCOUNTS.refuse_weak(password)
