"""The PostgreSQL storage keeps the contract, on an embedded server."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from memscope_postgres.settings import DatabaseSettings
from memscope_postgres.storage import PostgresStorage

from memscope.contracts.storage import Storage, StorageHost
from memscope.testing.storage_conformance import StorageConformance, opened


@pytest.fixture(scope="module")
def storage() -> Iterator[Storage]:
    folder = Path(tempfile.mkdtemp(prefix="ms-"))
    folder.chmod(0o711)  # the server's account has to pass
    try:
        yield from opened(PostgresStorage(DatabaseSettings(), StorageHost(str(folder / "data"), b"k" * 32)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class TestPostgresStorage(StorageConformance):
    pass
