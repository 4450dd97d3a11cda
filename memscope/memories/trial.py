"""A text on the bench: what would be made of it if it were saved for everybody, with topics as they are or as in a draft."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memscope.core import Core
from memscope.errors import SecretRejected
from memscope.guarding.examine import Setting, examine
from memscope.guarding.route import Inherited, route
from memscope.memories.consequence import People, readers
from memscope.memories.texts import clean
from memscope.model.audience import Place, Scope, Sensitivity
from memscope.model.ids import new_id, new_number
from memscope.model.memory import CONTENT_MAX, Memory, Provenance
from memscope.model.organization import Roster
from memscope.model.principal import Principal


@dataclass(frozen=True, slots=True)
class Trial:
    """What would be made of a text."""

    sensitivity: str
    topics: tuple[str, ...]
    """Names."""
    flags: tuple[tuple[str, str], ...]
    """(flag, reason)."""
    evidence: tuple[tuple[str, str, float, str], ...]
    """(type, source, confidence, the words)."""
    readers: People | None
    """Who would read it; None when it would be refused."""
    refused: str | None = None


def try_text(core: Core, roster: Roster, principal: Principal, text: str) -> Trial:
    """Judge a text of the principal's under a roster, which may be a draft. Nothing is stored. InvalidArgument."""
    content = clean("text", text, CONTENT_MAX)
    examination = examine(core, roster, content, Setting.of(principal, roster, Scope.ORGANIZATION, None, None))
    now = core.clock()
    memory = Memory(
        id=new_id(),
        number=new_number(),
        content=content,
        place=Place.organization(),
        sensitivity=Sensitivity.PUBLIC,
        topics=frozenset(),
        provenance=Provenance(principal.person, principal.connection),
        created_at=now,
        updated_at=now,
    )
    evidence = tuple(
        (
            finding.type,
            finding.source,
            finding.confidence,
            "" if finding.type in examination.credentials else content[finding.start : finding.end],
        )
        for finding in examination.findings
    )
    names = tuple(sorted(roster.topics[topic].name for topic in examination.topics if topic in roster.topics))
    try:
        routed = route(examination, memory, roster, Inherited())
    except SecretRejected as error:
        return Trial(examination.sensitivity.label, names, (), evidence, None, error.message)
    saved = replace(
        memory,
        place=routed.place,
        sensitivity=routed.sensitivity,
        topics=routed.topics,
        reviews=routed.reviews(now, 1, ()),
    )
    return Trial(
        routed.sensitivity.label,
        tuple(sorted(roster.topics[topic].name for topic in routed.topics if topic in roster.topics)),
        tuple((flag.value, reason) for flag, reason, _ in routed.raised),
        evidence,
        readers(saved, roster, principal),
    )
