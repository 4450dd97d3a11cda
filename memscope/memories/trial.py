"""A text on the bench: what would be made of it if it were saved for everybody, with topics as they are or as in a draft."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memscope.core import Core
from memscope.errors import SecretRejected
from memscope.guarding.examine import Examination, Setting, examine
from memscope.guarding.route import Inherited, route
from memscope.memories.consequence import People, readers
from memscope.memories.item import Mark
from memscope.memories.texts import clean
from memscope.model.audience import Place, Scope, Sensitivity
from memscope.model.ids import new_id, new_number
from memscope.model.memory import CONTENT_MAX, Memory, Provenance
from memscope.model.organization import Roster, Topic
from memscope.model.principal import Principal
from memscope.organizations.topics import plain


@dataclass(frozen=True, slots=True)
class Said:
    """Something that a plugin said of a text."""

    about: str
    """The topic's name, or what was found."""
    words: str
    """The piece of the text that said so; empty for a credential, and for what has no place in it."""
    phrase: str | None
    """The topic's own phrase, name or alias that stands there; None: a model or rule of the plugin said so."""
    source: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Trial:
    """What would be made of a text."""

    text: str
    marks: tuple[Mark, ...]
    """Its evidence in order of place, without overlaps."""
    sensitivity: str
    topics: tuple[tuple[str, str], ...]
    """(id, name)."""
    flags: tuple[tuple[str, str], ...]
    """(flag, reason)."""
    held: bool
    said: tuple[Said, ...]
    place: str
    """Whose it would be: `organization` or `personal`."""
    readers: People | None
    """Who would read it; None when it would be refused."""
    refused: str | None = None


def try_text(core: Core, roster: Roster, principal: Principal, text: str) -> Trial:
    """Judge a text of the principal's under a roster, which may hold a draft. Nothing is stored or counted. InvalidArgument."""
    content = clean("text", text, CONTENT_MAX)
    examination = examine(core, roster, content, Setting.of(principal, roster, Scope.ORGANIZATION, None, None), noted=False)
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
    marks, said = _marks(examination), _said(examination, roster)
    try:
        routed = route(examination, memory, roster, Inherited())
    except SecretRejected as error:
        names = _names(examination.topics, roster)
        return Trial(content, marks, examination.sensitivity.label, names, (), False, said, "organization", None, error.message)
    saved = replace(
        memory,
        place=routed.place,
        sensitivity=routed.sensitivity,
        topics=routed.topics,
        reviews=routed.reviews(now, 1, ()),
    )
    return Trial(
        content,
        marks,
        routed.sensitivity.label,
        _names(routed.topics, roster),
        tuple((flag.value, reason) for flag, reason, _ in routed.raised),
        saved.held,
        said,
        saved.place.scope.value,
        readers(saved, roster, principal),
    )


def _names(topics: frozenset[str], roster: Roster) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(((topic, roster.topics[topic].name) for topic in topics if topic in roster.topics), key=lambda pair: pair[1]))


def _marks(examination: Examination) -> tuple[Mark, ...]:
    """The evidence that has a place, the surest first where two overlap."""
    placed: list[Mark] = []
    for finding in sorted(examination.findings, key=lambda finding: (-finding.confidence, finding.start)):
        if finding.start < finding.end and all(finding.end <= mark.start or mark.end <= finding.start for mark in placed):
            placed.append(Mark(finding.start, finding.end, finding.type, finding.source, finding.confidence))
    return tuple(sorted(placed, key=lambda mark: mark.start))


def _said(examination: Examination, roster: Roster) -> tuple[Said, ...]:
    by_type = {f"topic_{topic.key}": topic for topic in roster.topics.values()}
    found = []
    for finding in examination.findings:
        topic = by_type.get(finding.type)
        words = "" if finding.type in examination.credentials else examination.text[finding.start : finding.end]
        phrase = _phrase(topic, words) if topic is not None else None
        found.append(Said(topic.name if topic else finding.type.replace("_", " "), words, phrase, finding.source, finding.confidence))
    return tuple(dict.fromkeys(found))


def _phrase(topic: Topic, words: str) -> str | None:
    """The topic's own word that a piece of evidence is, or holds, or stands in."""
    here = plain(words)
    known = (*topic.phrases, topic.name, *topic.aliases)
    return next((own for own in known if here and (plain(own) in here or here in plain(own))), None)
