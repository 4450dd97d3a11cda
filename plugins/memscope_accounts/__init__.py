"""Identity: passwords hashed with argon2id, and access tokens kept as hashes."""

from __future__ import annotations

from memscope.contracts.identity import IdentityProvider
from memscope.contracts.plugins import Provider, SettingsSection
from memscope.hookspecs import hookimpl
from memscope_accounts.settings import AccountsSettings


def _open(section: AccountsSettings) -> IdentityProvider:
    # argon2 is imported only when accounts are used.
    from memscope_accounts.accounts import Accounts

    return Accounts(section)


@hookimpl
def memscope_identity() -> Provider[IdentityProvider]:
    """Offer `accounts`."""
    return Provider("accounts", _open, SettingsSection("accounts", AccountsSettings))
