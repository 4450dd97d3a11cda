"""Fixtures for authors of plugins, found by pytest through its entry-point group. Imports nothing before it is used.

* `memscope_app`: an isolated MemScope in a folder of its own, with storage in memory;
* `memscope_harbor`: the organization `harbor` stored in it, for `memscope.testing.builders`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from memscope.app import MemScope
    from memscope.testing.builders import Builder


@pytest.fixture
def memscope_app(tmp_path: Path) -> Iterator[MemScope]:
    """An open MemScope with the installed plugins and storage in memory."""
    from memscope.app import MemScope
    from memscope.settings import Settings, StorageSettings

    with MemScope.from_settings(Settings(tmp_path / "memscope", storage=StorageSettings("inprocess"))) as app:
        yield app


@pytest.fixture
def memscope_harbor(memscope_app: MemScope) -> Builder:
    """Ada, Bo, Cy, Di and Ed, stored in `memscope_app`."""
    from memscope.testing.builders import harbor

    return harbor().store(memscope_app.core.storage)
