"""Routing: what follows from an examination. Pure: looks at values, decides place, level, topics and flags."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from memscope.errors import SecretRejected
from memscope.guarding.examine import Examination
from memscope.model.audience import Place, Sensitivity
from memscope.model.memory import Memory
from memscope.model.organization import Roster, SecretsPolicy, Topic
from memscope.model.review import GRAVITY, Finding, Flag, Review, Suggestion
from memscope.policy.effect import readers_of

NEARLY_EQUAL = 0.92
"""Cosine from which a text counts as the same told again (DESIGN section 3)."""


@dataclass(frozen=True, slots=True)
class Inherited:
    """What comes along from memories that the new text replaces, corrects or repeats."""

    sensitivity: Sensitivity = Sensitivity.PUBLIC
    topics: frozenset[str] = frozenset()
    tainted: bool = False

    @classmethod
    def of(cls, *memories: Memory) -> Inherited:
        """The highest level, all topics, and whether any waits as instructions."""
        return cls(
            max((memory.sensitivity for memory in memories), default=Sensitivity.PUBLIC),
            frozenset().union(*(memory.topics for memory in memories)),
            any(memory.tainted for memory in memories),
        )


@dataclass(frozen=True, slots=True)
class Routed:
    """Where a text goes and what is open about it."""

    content: str
    masked: str | None
    """The text without its credentials when the raw one is kept; None when there is nothing to hide."""
    place: Place
    sensitivity: Sensitivity
    topics: frozenset[str]
    raised: tuple[tuple[Flag, str, Suggestion | None], ...] = field(default=())
    """Flags with their reasons, gravest first."""
    findings: tuple[Finding, ...] = field(default=(), repr=False)

    def reviews(self, now: datetime, version: int, standing: tuple[Review, ...] = ()) -> tuple[Review, ...]:
        """The reviews that are open afterwards: those that stood, and one for each flag newly raised."""
        reviews = {review.flag: review for review in standing}
        for flag, reason, suggested in self.raised:
            if flag not in reviews:
                reviews[flag] = Review(flag, reason, now, version, suggested, self.findings)
            elif reason not in reviews[flag].reason:
                known = reviews[flag]
                reviews[flag] = replace(
                    known, reason=f"{known.reason} {reason}", suggested=suggested or known.suggested, findings=self.findings
                )
        return tuple(reviews[flag] for flag in GRAVITY if flag in reviews)


def route(examination: Examination, wanted: Memory, roster: Roster, inherited: Inherited) -> Routed:
    """Decide what becomes of an examined text.

    `wanted` is the memory as it would be without any judgement: its place is where the person asked to save, its level
    and topics are those that must not be lowered. Raises SecretRejected under `secrets = reject`.
    """
    place = wanted.place
    kept = examination.holds_credentials and roster.organization.secrets is SecretsPolicy.HOLD
    topics = wanted.topics | examination.topics | inherited.topics
    about = [roster.topics[topic] for topic in topics if topic in roster.topics]
    sensitivity = max(
        examination.sensitivity,
        wanted.sensitivity,
        inherited.sensitivity,
        roster.organization.default_sensitivity,
        *(topic.sensitivity for topic in about if topic.id in examination.implying),
    )
    content, masked, raised = examination.text, None, []
    if examination.holds_credentials:
        types = ", ".join(dict.fromkeys(examination.credentials))
        if roster.organization.secrets is SecretsPolicy.REJECT:
            raise SecretRejected(
                f"The text holds a credential ({types}), and this organization stores none. Nothing was saved.",
                hint="Save it without the credential, and say where it is kept instead.",
                types=list(dict.fromkeys(examination.credentials)),
            )
        if kept:
            masked = examination.open_text
            place = Place.personal(wanted.author)
            sensitivity = Sensitivity.HIGHLY_RESTRICTED
            suggested = _suggest(wanted.place) if wanted.place.shared else None
            raised.append((Flag.AUDIENCE, f"It holds a credential ({types}); it is kept to its author.", suggested))
        else:
            content = examination.open_text
    if examination.instructions or inherited.tainted:
        reason = (
            "It reads like instructions to an AI."
            if examination.instructions
            else "It comes from a memory that reads like instructions to an AI."
        )
        raised.append((Flag.INSTRUCTIONS, reason, None))
    if place.shared:
        raised += _shared(examination, replace(wanted, place=place, sensitivity=sensitivity, topics=topics, reviews=()), about, roster)
    findings = examination.findings if not examination.holds_credentials or kept else _moved(examination)
    ordered = tuple(sorted(_merged(raised), key=lambda item: GRAVITY.index(item[0])))
    return Routed(content, masked, place, sensitivity, topics, ordered, findings)


def _shared(examination: Examination, memory: Memory, about: list[Topic], roster: Roster) -> list[tuple[Flag, str, Suggestion | None]]:
    raised: list[tuple[Flag, str, Suggestion | None]] = []
    if examination.failed:
        names = ", ".join(examination.failed)
        raised.append((Flag.AUDIENCE, f"It could not be judged: {names} failed or took too long.", None))
    guarding = [topic for topic in about if topic.id in roster.guards.guarding and memory.sensitivity >= Sensitivity.RESTRICTED]
    if guarding and not readers_of(memory, roster) - {memory.author}:
        names = ", ".join(sorted(topic.name for topic in guarding))
        raised.append((Flag.AUDIENCE, f"It is about {names}, and nobody in this place may read that.", _guard_team(guarding, roster)))
    sensitive = [topic for topic in about if topic.sensitivity >= Sensitivity.RESTRICTED and memory.sensitivity >= Sensitivity.RESTRICTED]
    gaps = [topic for topic in sensitive if topic.id not in roster.guards.guarding]
    if gaps:
        names = ", ".join(sorted(topic.name for topic in gaps))
        raised.append((Flag.SETUP_GAP, f"It is about {names}, which no team guards yet.", None))
    if examination.low_confidence:
        raised.append((Flag.FYI, "How sensitive it is was judged with low confidence.", None))
    return raised


def _merged(raised: list[tuple[Flag, str, Suggestion | None]]) -> list[tuple[Flag, str, Suggestion | None]]:
    """One entry for each flag, its reasons joined: a memory has at most one of each."""
    merged: dict[Flag, tuple[Flag, str, Suggestion | None]] = {}
    for flag, reason, suggested in raised:
        if flag in merged:
            _, known, first = merged[flag]
            reason, suggested = f"{known} {reason}", first or suggested
        merged[flag] = (flag, reason, suggested)
    return list(merged.values())


def _guard_team(guarding: list[Topic], roster: Roster) -> Suggestion | None:
    """A team that guards every topic, else one that guards the first; None while a topic guards with nobody."""
    everywhere = frozenset.intersection(*(topic.teams for topic in guarding))
    candidates = everywhere or guarding[0].teams
    teams = sorted((roster.groups[team] for team in candidates if team in roster.groups), key=lambda team: team.slug)
    return Suggestion(scope="team", group=teams[0].id) if teams else None


def _suggest(place: Place) -> Suggestion:
    return Suggestion(scope=place.scope.value, group=place.group)


def _moved(examination: Examination) -> tuple[Finding, ...]:
    """Findings with their spans moved to where they stand once credentials are replaced by their types."""
    credentials = sorted(
        (finding for finding in examination.findings if finding.type in examination.credentials and finding.end > finding.start),
        key=lambda finding: finding.start,
    )

    def moved(position: int) -> int:
        shift = 0
        for credential in credentials:
            width = len(credential.type) + 2
            if position >= credential.end:
                shift += width - (credential.end - credential.start)
            elif position > credential.start:
                return credential.start + shift + width
        return position + shift

    return tuple(replace(finding, start=moved(finding.start), end=moved(finding.end)) for finding in examination.findings)
