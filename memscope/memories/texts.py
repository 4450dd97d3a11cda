"""Texts that callers store: cleaned, and judged where others may see them."""

from __future__ import annotations

from memscope.core import Core
from memscope.errors import InvalidArgument
from memscope.guarding.examine import Setting
from memscope.guarding.examine import doubtful as is_doubtful
from memscope.model.audience import Scope
from memscope.model.memory import REASON_MAX, Provenance
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.text.normalise import LoneSurrogate, NulCharacter, normalise


def clean(parameter: str, text: str, longest: int, *, shortest: int = 1) -> str:
    """The text in Unicode NFC. InvalidArgument for NUL, lone surrogates, blank and over-long texts; nothing is ever cut."""
    try:
        cleaned = normalise(text)
    except NulCharacter:
        raise InvalidArgument(parameter, f"{parameter} holds a NUL character; remove it and try again.") from None
    except LoneSurrogate:
        raise InvalidArgument(
            parameter, f"{parameter} holds half of a surrogate pair, which is no character; remove it and try again."
        ) from None
    if len(cleaned) > longest or len(text) > longest:
        raise InvalidArgument(
            parameter, f"{parameter} has {max(len(text), len(cleaned))} characters; at most {longest} are taken.", maximum=longest
        )
    if shortest and len(cleaned.strip()) < shortest:
        raise InvalidArgument(parameter, f"{parameter} must not be empty.")
    return cleaned


def provenance(
    core: Core,
    roster: Roster,
    principal: Principal,
    setting: Setting,
    agent: str | None,
    run_id: str | None,
    reason: str | None = None,
) -> tuple[Provenance, str | None]:
    """Who saves, through what, and the cleaned reason.

    Labels and reason that hold a secret or read like orders are kept for their author alone.
    """
    cleaned = clean("reason", reason, REASON_MAX, shortest=0) or None if reason is not None else None
    doubtful = any(is_doubtful(core, roster, text, setting) for text in (*_as_texts(agent, run_id), cleaned) if text)
    made = Provenance(principal.person, principal.connection, principal.client, principal.client_version, agent, run_id, doubtful)
    return made, cleaned


def doubtful_labels(core: Core, principal: Principal, agent: str | None, run_id: str | None) -> bool:
    """Whether the labels of a change that stores no text of its own hold a secret or read like orders."""
    texts = _as_texts(agent, run_id)
    if not texts:
        return False
    roster = core.rosters.known(principal.organization)
    setting = Setting.of(principal, roster, Scope.ORGANIZATION, None, agent)
    return any(is_doubtful(core, roster, text, setting) for text in texts)


def _as_texts(agent: str | None, run_id: str | None) -> tuple[str, ...]:
    """Labels both as written, for credentials have separators too, and as words."""
    labels = " ".join(label for label in (agent, run_id) if label)
    return tuple(dict.fromkeys(text for text in (labels, labels.translate(_SEPARATORS)) if text))


_SEPARATORS = str.maketrans("._/-", "    ")
