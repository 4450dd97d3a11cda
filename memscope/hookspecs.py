"""The hooks of MemScope: one typed, documented place.

A plugin is a module (or object) whose functions carry `hookimpl` and the names below; it is found through the entry-point
group `memscope`, or by path through the setting `plugins.files`. An implementation may take fewer arguments than the hook
has. Only `memscope.hooks.Hooks` calls them: it isolates and times each plugin and checks the type of what comes back.
No hook can grant reading, change a role or clearance, or lower a verdict. Plugins run with the server's rights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from memscope.contracts.embedding import Embedder
    from memscope.contracts.events import Event
    from memscope.contracts.guard import GuardContext
    from memscope.contracts.identity import IdentityProvider
    from memscope.contracts.instructions import InstructionVerdict
    from memscope.contracts.plugins import Command, Provider, SettingsSection, WebPart
    from memscope.contracts.secrets import SecretFinding
    from memscope.contracts.sensitivity import SensitivityVerdict
    from memscope.contracts.storage import Storage

PROJECT = "memscope"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class ProviderHooks:
    """Things of which the settings choose one, or an ordered few, by name. Two of one name stop the start."""

    @hookspec
    def memscope_storage(self) -> Provider[Storage] | None:
        """Offer a storage.

        Called at start for every plugin; only the one that `[storage] provider` names is opened. None: offers nothing.
        An exception here or in `open` stops the start with the plugin's name.
        """

    @hookspec
    def memscope_embedder(self) -> Provider[Embedder] | None:
        """Offer an embedding model.

        Called at start; only the one that `[embedding] provider` names is opened, and its weights are loaded in the
        background. None: offers nothing. An exception here or in `open` stops the start with the plugin's name.
        """

    @hookspec
    def memscope_identity(self) -> Provider[IdentityProvider] | None:
        """Offer a way to know who signs in.

        Called at start; those that `[identity] providers` lists are opened and asked in that order. `authenticate`
        answers None for "not mine"; raising `BadCredential` ends the search. Any other exception refuses the request.
        """


class VerdictHooks:
    """Judgements of a text, called at each save. All are collected; the most restrictive wins; any finding counts.

    `text` is at most 8,000 characters, Unicode NFC. A plugin that raises or takes longer than `[guarding] timeout_ms`
    has no verdict; when none of its kind is left, the memory is held for review with the plugin's name in the reason.
    """

    @hookspec
    def memscope_detect_secrets(self, text: str) -> Sequence[SecretFinding] | None:
        """Find credentials and identifiers.

        Called first: what is found as a credential is masked in the text that later hooks see. None or an empty
        list: nothing found.

            @hookimpl
            def memscope_detect_secrets(text):
                return [SecretFinding("badge", m.start(), m.end(), 0.8, Sensitivity.RESTRICTED, False, "B-…")
                        for m in re.finditer(r"B-[0-9]{6}", text)]
        """

    @hookspec
    def memscope_classify_sensitivity(self, text: str, context: GuardContext) -> SensitivityVerdict | None:
        """Say how sensitive a text is and which of `context.topics` it is about.

        The highest level wins, topics are united. Credentials in `text` are replaced by bullets (U+2022) of the same
        length, so offsets stay true. None: no opinion, which counts as a verdict.
        """

    @hookspec
    def memscope_detect_instructions(self, text: str, context: GuardContext) -> InstructionVerdict | None:
        """Say whether a text reads like orders to an AI.

        Any flag flags the memory. Credentials in `text` are bulleted as above. None: no opinion, which counts as a
        verdict.
        """


class ServerHooks:
    """Parts that a plugin adds to commands and server. Collected by name; a clash is an error."""

    @hookspec
    def memscope_settings(self) -> SettingsSection | None:
        """Own a section of the settings file for a plugin that is no provider.

        Called once when settings are read. The instance reaches the plugin through `memscope_configure`. An unknown key
        or a wrong type stops the start.
        """

    @hookspec
    def memscope_configure(self, section: Any) -> None:
        """Receive the plugin's own settings section, once, before any other call but `memscope_settings`.

        Only the plugin that owns the section is called. A `ValueError` stops the start with its text.
        """

    @hookspec
    def memscope_commands(self) -> Sequence[Command] | None:
        """Add subcommands to `memscope`.

        Called by every command, so it must be quick and import nothing heavy. A name that is taken is an error. When it
        fails, its commands are missing and `memscope plugins` shows why.
        """

    @hookspec
    def memscope_web(self, app: Any) -> Sequence[WebPart] | None:
        """Add ASGI applications to `memscope serve`.

        `app` is the composed `memscope.app.MemScope`: web parts are callers of its services. When it fails, that part is
        missing and `memscope plugins` shows why.
        """

    @hookspec
    def memscope_event(self, event: Event) -> None:
        """Hear that something happened, after its commit: ids and labels, never text.

        Answers are not used. When it fails, the failure is logged and nothing else changes.
        """


SPECS: tuple[type, ...] = (ProviderHooks, VerdictHooks, ServerHooks)
