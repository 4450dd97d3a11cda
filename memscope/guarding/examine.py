"""Examining a text before it is saved: scan for credentials, mask them, classify, detect instructions. Slow; no transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memscope.contracts.guard import GuardContext, Span, TopicDescription
from memscope.contracts.instructions import InstructionVerdict
from memscope.contracts.secrets import SecretFinding
from memscope.contracts.sensitivity import LOW_CONFIDENCE, SensitivityVerdict, TopicMatch
from memscope.core import Core
from memscope.guarding import differences
from memscope.hooks import Verdicts
from memscope.model.audience import Scope, Sensitivity
from memscope.model.memory import Kind
from memscope.model.organization import Role, Roster
from memscope.model.principal import Principal
from memscope.model.review import Finding

BULLET = "\u2022"
"""What later plugins see of a credential, one for each character, so that their offsets stay true."""


@dataclass(frozen=True, slots=True)
class Examination:
    """What all guarding plugins together say of one text."""

    text: str
    open_text: str
    """The text with each credential replaced by its type; the text itself where there is none."""
    sensitivity: Sensitivity
    """The highest that classifiers and identifiers say, credentials apart."""
    topics: frozenset[str]
    """Ids of the topics that the text was said to be about."""
    implying: frozenset[str]
    """Those of them that imply their level: not a mention in passing, in a text that is surely harmless by the same verdict."""
    low_confidence: bool
    instructions: bool
    credentials: tuple[str, ...]
    """Types of the credentials found, in order of place."""
    findings: tuple[Finding, ...]
    """All evidence, spans in `text`; never a secret."""
    failed: tuple[str, ...]
    """Plugins that failed so that no verdict of their kind is left."""

    @property
    def holds_credentials(self) -> bool:
        """Whether the text opens something."""
        return bool(self.credentials)


@dataclass(frozen=True, slots=True)
class Setting:
    """What plugins may know about where a text is going."""

    scope: Scope
    kind: Kind | None
    role: Role
    client: str | None
    agent: str | None

    @classmethod
    def of(cls, principal: Principal, roster: Roster, scope: Scope, kind: Kind | None, agent: str | None) -> Setting:
        """The setting of something that a principal saves."""
        return cls(scope, kind, roster.people[principal.person].role, principal.client, agent)


def examine(core: Core, roster: Roster, text: str, setting: Setting, *, noted: bool = True) -> Examination:
    """Ask every guarding plugin about a normalised text and combine what they say.

    `noted` False leaves what plugins in shadow mode say uncounted: the text is not being saved.
    """
    context = _context(core, roster, setting)
    secrets = core.hooks.detect_secrets(text)
    found = _without_overlaps([(plugin, finding) for plugin, findings in secrets.values for finding in findings])
    credentials = [(plugin, finding) for plugin, finding in found if finding.credential]
    bulleted = _replace(text, [finding for _, finding in credentials], lambda finding: BULLET * (finding.end - finding.start))
    classified = core.hooks.classify_sensitivity(bulleted, context)
    detected = core.hooks.detect_instructions(bulleted, context)
    if noted:
        differences.record(core, roster.organization.id, secrets, classified, detected)

    sensitivity, low_confidence = _level(classified)
    identifiers = [finding.sensitivity for _, finding in found if not finding.credential]
    by_key = {topic.key: topic.id for topic in roster.topics.values()}
    matches = [
        (by_key[match.key], _implies(match, verdict)) for _, verdict in classified.values for match in verdict.topics if match.key in by_key
    ]
    return Examination(
        text=text,
        open_text=_replace(text, [finding for _, finding in credentials], lambda finding: f"[{finding.type}]"),
        sensitivity=max([sensitivity, *identifiers]),
        topics=frozenset(topic for topic, _ in matches),
        implying=frozenset(topic for topic, implies in matches if implies),
        low_confidence=low_confidence,
        instructions=any(verdict.flag for _, verdict in detected.values),
        credentials=tuple(finding.type for _, finding in credentials),
        findings=(
            *(Finding(f.type, plugin, f.confidence, f.start, f.end, f.masked) for plugin, f in found),
            *_evidence(classified),
            *_reasons(detected),
        ),
        failed=tuple(dict.fromkeys((*secrets.failed, *classified.failed, *detected.failed))),
    )


def _implies(match: TopicMatch, verdict: SensitivityVerdict) -> bool:
    """Whether a topic implies its level: the verdict's own level is as high, or it is surer of the topic than of the low level."""
    if verdict.sensitivity >= Sensitivity.RESTRICTED:
        return True
    return match.confidence >= max(LOW_CONFIDENCE, verdict.confidence)


def doubtful(core: Core, roster: Roster, text: str, setting: Setting) -> bool:
    """Whether a short text beside a memory (a reason, a label) holds a credential, reads like orders, or could not be judged."""
    secrets = core.hooks.detect_secrets(text)
    detected = core.hooks.detect_instructions(text, _context(core, roster, setting))
    return (
        bool(secrets.failed or detected.failed)
        or any(finding.credential for _, findings in secrets.values for finding in findings)
        or any(verdict.flag for _, verdict in detected.values)
    )


def _context(core: Core, roster: Roster, setting: Setting) -> GuardContext:
    return GuardContext(
        topics=tuple(
            TopicDescription(topic.key, topic.name, topic.aliases, topic.description, topic.phrases, topic.sensitivity)
            for topic in sorted(roster.topics.values(), key=lambda topic: topic.key)
        ),
        scope=setting.scope,
        kind=setting.kind,
        author_role=setting.role,
        client=setting.client,
        agent=setting.agent,
        embed=core.embedding.embed_for_plugins,
    )


def _without_overlaps(found: list[tuple[str, SecretFinding]]) -> list[tuple[str, SecretFinding]]:
    """Findings in order of place; of two that overlap, credentials and then surer and longer ones stay."""
    ranked = sorted(found, key=lambda item: (not item[1].credential, -item[1].confidence, item[1].start - item[1].end, item[1].start))
    kept: list[tuple[str, SecretFinding]] = []
    for plugin, finding in ranked:
        if all(finding.end <= other.start or other.end <= finding.start for _, other in kept):
            kept.append((plugin, finding))
    return sorted(kept, key=lambda item: item[1].start)


def _replace(text: str, findings: Sequence[SecretFinding], by: Callable[[SecretFinding], str]) -> str:
    parts, position = [], 0
    for finding in findings:
        parts += [text[position : finding.start], by(finding)]
        position = finding.end
    return "".join([*parts, text[position:]])


def _level(classified: Verdicts[SensitivityVerdict]) -> tuple[Sensitivity, bool]:
    """The most restrictive verdict, and whether it is in doubt: unsure itself, or two levels from another plugin's."""
    verdicts = [verdict for _, verdict in classified.values]
    if not verdicts:
        return Sensitivity.PUBLIC, False
    highest = max(verdict.sensitivity for verdict in verdicts)
    lowest = min(verdict.sensitivity for verdict in verdicts)
    confidence = max(verdict.confidence for verdict in verdicts if verdict.sensitivity is highest)
    return highest, confidence < LOW_CONFIDENCE or highest - lowest >= 2


def _evidence(classified: Verdicts[SensitivityVerdict]) -> list[Finding]:
    findings = []
    for plugin, verdict in classified.values:
        for match in verdict.topics:
            spans = match.spans[:3] or (Span(0, 0),)
            findings += [Finding(f"topic_{match.key}", plugin, match.confidence, span.start, span.end) for span in spans]
        findings += [Finding(item.type, plugin, item.confidence, item.span.start, item.span.end) for item in verdict.evidence]
    return findings


def _reasons(detected: Verdicts[InstructionVerdict]) -> list[Finding]:
    return [
        Finding(reason.rule, plugin, reason.weight, reason.start, reason.end, reason.decoded or reason.excerpt)
        for plugin, verdict in detected.values
        if verdict.flag
        for reason in verdict.reasons
    ]
