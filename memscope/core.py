"""What every service is handed: the composed parts, and nothing that decides."""

from __future__ import annotations

from dataclasses import dataclass

from memscope.clock import Clock
from memscope.contracts.storage import Storage
from memscope.embedding import Embedding
from memscope.hooks import Hooks
from memscope.keys import Keys
from memscope.organizations.rosters import Rosters
from memscope.settings import Settings


@dataclass(frozen=True, slots=True)
class Core:
    """The parts of one running MemScope."""

    settings: Settings
    storage: Storage
    hooks: Hooks
    embedding: Embedding
    keys: Keys
    rosters: Rosters
    clock: Clock
