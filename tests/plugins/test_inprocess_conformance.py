"""The in-memory storage keeps the contract."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from memscope_inprocess.storage import InProcessStorage

from memscope.contracts.storage import Storage
from memscope.testing.storage_conformance import StorageConformance, opened


@pytest.fixture(scope="module")
def storage() -> Iterator[Storage]:
    yield from opened(InProcessStorage())


class TestInProcessStorage(StorageConformance):
    pass
