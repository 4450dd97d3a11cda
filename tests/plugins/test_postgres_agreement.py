"""Random organizations in PostgreSQL: queries and row-level security show what policy says."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from memscope_postgres.settings import DatabaseSettings
from memscope_postgres.storage import PostgresStorage
from memscope_postgres.transaction import PostgresTransaction

from memscope.contracts.storage import Storage, StorageHost, Transaction
from memscope.model.ids import new_id
from memscope.model.memory import Memory
from memscope.testing import agreement
from memscope.testing.builders import Builder
from memscope.testing.storage_conformance import opened
from memscope.testing.strategies import populated

MODEL = "agreement@0123456789abcdef"


@pytest.fixture(scope="module")
def storage() -> Iterator[Storage]:
    folder = Path(tempfile.mkdtemp(prefix="ms-"))
    folder.chmod(0o711)  # the server's account has to pass
    try:
        for storage in opened(PostgresStorage(DatabaseSettings(), StorageHost(str(folder / "data"), b"k" * 32))):
            storage.use_model(MODEL, 4)
            yield storage
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def forget_the_filter(transaction: Transaction) -> Mapping[str, set[str]]:
    """What row-level security alone leaves of statements without any condition."""
    assert isinstance(transaction, PostgresTransaction)

    def ids(table: str) -> set[str]:
        return {row[0] for row in transaction._run(f"SELECT DISTINCT memory_id FROM memscope.{table}")}

    assert ids("memory") == ids("memory_version")
    assert ids("memory_search") == ids("memory_vector")
    return {"by_id": ids("memory"), "listed": ids("memory_search")}


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(drawn=populated(size=8))
def test_policy_storage_and_row_level_security_agree(storage: Storage, drawn: tuple[Builder, list[Memory]]) -> None:
    org, memories = drawn
    org.organization = replace(org.organization, slug=f"quay-{new_id()}")
    agreement.store(storage, org, memories, MODEL)
    agreement.check(storage, org, memories, MODEL, forget_the_filter)
