"""The composition root: builds everything from settings, has no behaviour of its own."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from types import TracebackType

from memscope.clock import Clock, system_clock
from memscope.contracts.identity import IdentityProvider
from memscope.contracts.plugins import Provider
from memscope.contracts.storage import StorageHost
from memscope.core import Core
from memscope.embedding import Embedding
from memscope.errors import StartError, Unavailable
from memscope.hooks import Hooks
from memscope.keys import Keys, read_server_key
from memscope.organizations.rosters import Rosters
from memscope.organizations.settings import keep_fixed
from memscope.organizations.signing_in import Host, Identities
from memscope.plugin_manager import Plugins
from memscope.plugin_states import PluginStates
from memscope.settings import Settings
from memscope.usage import Usage

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MemScope:
    """One MemScope: the core and who signs in. Use it as a context manager, or `open` and `close` it."""

    core: Core
    identities: Identities

    @classmethod
    def from_settings(cls, settings: Settings, *, clock: Clock = system_clock) -> MemScope:
        """Build all parts; nothing is connected or loaded yet. Raises StartError with what to do."""
        try:
            # Root's embedded database runs as another user, who must be able to pass through; what lies here is private by itself.
            settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o711 if os.geteuid() == 0 else 0o700)
        except OSError as error:
            raise StartError(
                f"The data folder {settings.data_dir} cannot be made ({error.strerror}). Choose one with --data-dir."
            ) from None
        hooks = Hooks(Plugins(settings.plugins), settings)
        server_key = read_server_key(settings.server.key, settings.data_dir)
        keys = Keys(server_key)
        storage_provider = hooks.storage(settings.storage.provider)
        host = StorageHost(str(settings.data_dir), server_key)
        storage = storage_provider.open(_section(settings, storage_provider), host)
        embedder_provider = hooks.embedder(settings.embedding.provider)
        embedding = Embedding(embedder_provider.open(_section(settings, embedder_provider)))
        providers: list[IdentityProvider] = []
        for name in settings.identity.providers:
            identity_provider = hooks.identity(name)
            providers.append(identity_provider.open(_section(settings, identity_provider)))
        rosters = Rosters(storage)
        usage = Usage(storage, rosters, clock)
        states = PluginStates(storage, usage.home, clock)
        core = Core(settings, storage, hooks, embedding, keys, rosters, clock, usage, states)
        return cls(core, Identities(tuple(providers)))

    def open(self, *, any_model: bool = False) -> MemScope:
        """Open the storage and check that its vectors are of the chosen model. Raises StartError with the way out.

        `any_model` is for commands that do not search, and for `reindex`, which mends a mismatch.
        """
        self.core.storage.open()
        keep_fixed(self.core)
        self.core.embedding.watch = self._watch_embedding
        self.core.hooks.follow(self.core.plugin_states.states, self.core.usage.note_plugin)
        for provider in self.identities.providers:
            provider.start(Host(self.core.storage.records(provider.name), self.core.keys, provider.name))
        if any_model:
            return self
        model = self.core.embedding.model
        serving = self.core.storage.serving_model()
        if serving is not None and serving != model.identity:
            self.core.storage.close()
            raise StartError(
                f"The stored vectors were made with {serving}, and the settings choose {model.identity}. Vectors of two models cannot be compared. "
                "Run `memscope reindex` to make new ones, or choose the earlier model again."
            )
        self.core.storage.use_model(model.identity, model.dimensions)
        return self

    def _watch_embedding(self, milliseconds: float | None, failed: tuple[str, str, str] | None) -> None:
        for plugin, hooks in self.core.hooks.providing.items():
            if "memscope_embedder" in hooks:
                self.core.usage.note_plugin(plugin, milliseconds, failed)

    def close(self) -> None:
        """Write what was counted, close the storage and release the model."""
        self.core.embedding.close()
        try:
            self.core.usage.flush()
        except Unavailable:
            log.warning("the last usage figures could not be written")
        self.core.storage.close()

    def __enter__(self) -> MemScope:
        return self.open()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _section(settings: Settings, provider: Provider[object]) -> object:
    return None if provider.section is None else settings.section(provider.section)
