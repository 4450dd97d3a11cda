"""Plugins as administrators see and switch them.

Plugins are the server's, not an organization's: what one administrator switches off judges nobody's texts any more. So only
administrators of a server with a single organization switch them; where there are several, the settings file does.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from memscope.contracts.instructions import InstructionVerdict
from memscope.contracts.sensitivity import SensitivityVerdict
from memscope.core import Core
from memscope.errors import Forbidden, InvalidArgument, NotFound, StartError, Unavailable
from memscope.guarding.differences import disagreement
from memscope.hooks import ACTIVE, OFF, SHADOW
from memscope.model.organization import Role
from memscope.model.principal import Principal
from memscope.organizations.changes import Outcome, admins, carry_out
from memscope.plugin_manager import PluginInfo
from memscope.plugin_states import SHADOW_DAYS, SHADOW_DAYS_MAX, Chosen
from memscope.usage import PluginFigures

SAMPLE = "The weekly planning meeting moves to Tuesday at ten, and Marta keeps the notes."
"""An ordinary text, for trying a plugin."""
LOOKED_BACK = timedelta(days=29)
_PROVIDERS = {
    "memscope_storage": ("the storage", "[storage] provider"),
    "memscope_embedder": ("the embedding model", "[embedding] provider"),
    "memscope_identity": ("a way to sign in", "[identity] providers"),
}
_KINDS = {
    "memscope_detect_secrets": "finds credentials: passwords and keys are then saved unseen",
    "memscope_classify_sensitivity": "judges how sensitive a text is: every memory then gets the organization's default level and no topic",
    "memscope_detect_instructions": "detects orders to an AI: such text is then not held back",
}


@dataclass(frozen=True, slots=True)
class PluginView:
    """One plugin with how it does."""

    info: PluginInfo
    state: str
    """`active`, `shadow`, `off`, `blocked` or `failed`."""
    figures: PluginFigures | None
    """Of the whole server; None where other organizations are on it: what they do is not told."""
    judged: int
    """Texts that it judged with effect within 30 days."""
    differed: int
    """Those on which its verdict was not the one of all plugins together."""
    trouble: str | None
    """What is wrong with it now; None when it is well."""
    chosen: Chosen | None
    ended: bool
    """Whether its time in shadow mode is over, so that it is off until somebody decides."""
    locked: str | None
    """Why its state cannot be changed here."""
    section: str | None
    """Name of the settings section it owns."""


def overview(core: Core, principal: Principal) -> list[PluginView]:
    """Every plugin that was found. Forbidden for all but administrators."""
    _administrators(core, principal)
    figures, chosen, now = core.usage.plugins(), core.plugin_states.chosen(), core.clock()
    compared = disagreement(core, principal.organization, core.usage.today(principal.organization) - LOOKED_BACK)
    alone = len(core.storage.organizations()) == 1
    sections = core.hooks.owners
    found = []
    for info in core.hooks.report:
        kept = chosen.get(info.name)
        numbers = figures.get(info.name, PluginFigures())
        judged, differed = compared.get(info.name, (0, 0))
        state = core.hooks.state(info.name)
        ended = kept is not None and kept.state == SHADOW and kept.now(now) == OFF
        found.append(
            PluginView(
                info,
                state,
                numbers if alone else None,
                judged,
                differed,
                _trouble(core, info, state, numbers),
                kept,
                ended,
                _locked(core, info, alone or kept is not None),
                sections.get(info.name),
            )
        )
    return found


def unwell(core: Core) -> list[tuple[str, str]]:
    """(plugin, what is wrong) of each plugin that is not well."""
    figures = core.usage.plugins()
    states = core.plugin_states.states()
    found = []
    for info in core.hooks.report:
        state = states.get(info.name, info.state) if info.state == ACTIVE else info.state
        if trouble := _trouble(core, info, state, figures.get(info.name, PluginFigures())):
            found.append((info.name, trouble))
    return found


def consequences(core: Core, plugin: str, state: str) -> list[str]:
    """What letting a plugin be in another state means, in sentences."""
    info = _info(core, plugin)
    if state == ACTIVE:
        return ["Its verdicts count for every text saved from now on; it can only make a verdict stricter."]
    words = {
        SHADOW: "It goes on being asked, and what it says is recorded and has no effect.",
        OFF: "It is no longer asked anything, from the next save on.",
    }
    told = [words[state]]
    for hook, missing in _KINDS.items():
        if hook in info.hooks and not any(
            hook in other.hooks and other.name != plugin and core.hooks.state(other.name) == ACTIVE for other in core.hooks.report
        ):
            told.append(f"No other plugin {missing}.")
    return told


def switch(core: Core, principal: Principal, plugin: str, state: str, days: int = SHADOW_DAYS) -> None:
    """Let a plugin be `active`, in `shadow` for some days, or `off`, on all workers from the next call on.

    Forbidden for all but administrators, NotFound, InvalidArgument with why its state stays as it is.
    """
    _administrators(core, principal)
    info = _info(core, plugin)
    if state not in (ACTIVE, SHADOW, OFF):
        raise InvalidArgument("state", "state must be active, shadow or off.")
    if not 1 <= days <= SHADOW_DAYS_MAX:
        raise InvalidArgument("days", f"Shadow mode lasts 1 to {SHADOW_DAYS_MAX} days.")
    # Back to what the settings say it may always go, or nobody could undo what was chosen before a second organization came.
    if (why := _locked(core, info, state == ACTIVE or len(core.storage.organizations()) == 1)) is not None:
        raise InvalidArgument("state", why)
    if state == OFF and plugin in core.settings.plugins.required:
        raise InvalidArgument("state", "The settings require it ([plugins] required), so it stays.")
    detail: dict[str, str | int | bool | None] = {"plugin": plugin, "state": state}
    if state == SHADOW:
        detail["days"] = days
    carry_out(core, principal, "plugin.switch", admins, lambda transaction, roster: Outcome(None, detail))
    core.plugin_states.choose(plugin, state, principal.person, days)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a plugin's self-check found of one hook."""

    hook: str
    good: bool
    text: str
    milliseconds: float | None = None


def self_check(core: Core, principal: Principal, plugin: str) -> list[Checked]:
    """Try a plugin on an ordinary text, or ask its provider how it is; counted nowhere. Forbidden, NotFound."""
    _administrators(core, principal)
    info = _info(core, plugin)
    if info.state in ("blocked", "failed"):
        return [Checked("load", False, info.error or "The settings block it, so it is not loaded.")]
    found = [_tried(tried.hook, tried.value, tried.failure, tried.milliseconds) for tried in core.hooks.try_out(plugin, SAMPLE)]
    for hook in core.hooks.providing.get(plugin, ()):
        found.append(_provider(core, hook))
    done = {one.hook for one in found}
    found += [Checked(hook, True, "It is loaded and offers this.") for hook in info.hooks if hook not in done]
    return found


def check_settings(core: Core, principal: Principal, plugin: str, lines: str) -> str:
    """Whether lines for a plugin's section of the settings file are good; the section's name. InvalidArgument with its own message."""
    _administrators(core, principal)
    name = core.hooks.owners.get(_info(core, plugin).name)
    if name is None:
        raise InvalidArgument("lines", "This plugin has no settings.")
    try:
        core.hooks.check_section(name, lines)
    except (StartError, ValueError) as error:
        raise InvalidArgument("lines", str(error)) from None
    return name


def _administrators(core: Core, principal: Principal) -> None:
    if core.rosters.current(principal.organization).people[principal.person].role is not Role.ADMIN:
        raise Forbidden("Plugins are for administrators.")


def _info(core: Core, plugin: str) -> PluginInfo:
    for info in core.hooks.report:
        if info.name == plugin:
            return info
    raise NotFound


def _locked(core: Core, info: PluginInfo, alone: bool) -> str | None:
    fixed = core.settings.fixed_by
    if info.state == "blocked":
        return f"It is blocked by {fixed('plugins', 'blocked')}."
    if info.state == "failed":
        return "It could not be loaded."
    if info.state == SHADOW:
        return f"It is in shadow mode by {fixed('plugins', 'shadow')}."
    for hook in core.hooks.providing.get(info.name, ()):
        gives, key = _PROVIDERS[hook]
        return f"It gives {gives} that this server runs on, and nothing works without. To use another, set {key} and start the server anew."
    if not {*_KINDS, "memscope_event"} & {*info.hooks}:
        return "It adds to the server only what is settled at its start. To leave it out, name it in [plugins] blocked."
    if not alone:
        return "This server holds several organizations, and a plugin is the whole server's: its state is set in [plugins] of the settings."
    return None


def _trouble(core: Core, info: PluginInfo, state: str, figures: PluginFigures) -> str | None:
    if info.state == "failed":
        return f"It could not be loaded: {info.error}"
    if state in (OFF, "blocked"):
        return None
    providing = core.hooks.providing.get(info.name, ())
    if "memscope_embedder" in providing and core.embedding.unwell:
        return f"Searches go by words alone: {core.embedding.unwell}"
    if state == ACTIVE and any(hour.errors for hour in figures.hours[-2:]):
        kind = figures.last_error.type if figures.last_error else "an error"
        return f"It failed within the last hours: {kind}"
    return None


def _provider(core: Core, hook: str) -> Checked:
    try:
        if hook == "memscope_storage":
            core.storage.check()
            return Checked(hook, True, "It answers.")
        if hook == "memscope_embedder":
            if core.embedding.unwell:
                return Checked(hook, False, core.embedding.unwell)
            vector = core.embedding.query(SAMPLE)
            if vector is None:
                return Checked(hook, core.embedding.state == "loading", f"The model is {core.embedding.state}.")
            return Checked(hook, True, f"It made a vector of {vector.shape[-1]} dimensions.")
    except Unavailable:
        return Checked(hook, False, "It does not answer.")
    return Checked(hook, True, "It was opened, and people sign in by it.")


def _tried(hook: str, value: Any, failure: tuple[str, str] | None, milliseconds: float) -> Checked:
    if failure is not None:
        return Checked(hook, False, ": ".join(part for part in failure if part), milliseconds)
    if isinstance(value, SensitivityVerdict):
        text = f"It says {value.sensitivity.label.replace('_', ' ')}, {value.confidence:.0%} sure."
    elif isinstance(value, InstructionVerdict):
        text = "It takes the sample for orders to an AI." if value.flag else "It takes the sample for ordinary text."
    else:
        text = f"It finds {len(value)} things." if value else "It finds nothing in the sample, as it should."
    return Checked(hook, True, text, milliseconds)
