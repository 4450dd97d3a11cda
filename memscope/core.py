"""What every service is handed: the composed parts, and nothing that decides."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from memscope.clock import Clock
from memscope.contracts.storage import Storage
from memscope.embedding import Embedding
from memscope.hooks import Hooks
from memscope.keys import Keys
from memscope.organizations.rosters import Rosters
from memscope.plugin_states import PluginStates
from memscope.settings import Settings
from memscope.usage import Usage


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
    usage: Usage
    plugin_states: PluginStates
    wake: threading.Event = field(default_factory=threading.Event)
    """Set when a job was started that this process need not wait for its next round to look at."""
    wake_exports: threading.Event = field(default_factory=threading.Event)
    """Likewise for exports, which wait for no other job."""
