"""The verdict on a text, with evidence that a reviewer understands."""

from __future__ import annotations

import math

from memscope.contracts.guard import GuardContext
from memscope.contracts.instructions import InstructionVerdict, Reason
from memscope.model.audience import Scope
from memscope.model.memory import Kind
from memscope_instructions.model import Judgement, Model, model
from memscope_instructions.normalise import show

MOST_REASONS = 8
_AGENT_SHIFT = 0.25
"""An agent's text for the whole organization is flagged a little earlier: it is read most and may come from outside content."""
_FAINT = -3.0
"""The weighted sum of a sentence or part below which it is no evidence."""


def detect(text: str, context: GuardContext) -> InstructionVerdict:
    """Whether a text reads like orders to an AI. Some 7 ms per 1,000 characters."""
    if not text.strip():
        return InstructionVerdict(False, 0.0)
    weights = model()
    judged = weights.judge(text)
    score = weights.calibrated(judged.logit, _shift(context))
    reasons = _reasons(text, judged, weights, score) if score >= 0.25 else ()
    return InstructionVerdict(score >= 0.5, score, reasons)


def _shift(context: GuardContext) -> float:
    shift = 0.0
    if context.agent and context.scope is Scope.ORGANIZATION:
        shift += _AGENT_SHIFT
    if context.agent and context.kind is Kind.PROCEDURE:
        shift += _AGENT_SHIFT / 2
    return shift


def _share(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


def _reasons(text: str, judged: Judgement, weights: Model, score: float) -> tuple[Reason, ...]:
    reasons: list[Reason] = []

    def add(rule: str, weight: float, start: int, end: int, decoded: str | None = None) -> None:
        if not any(known.rule == rule and known.start == start for known in reasons):
            reasons.append(Reason(rule, round(min(1.0, weight), 3), start, end, show(text[start:end]), show(decoded) if decoded else None))

    for note, ranges in judged.view.notes.items():
        payload = next((inner for _, inner, start, _ in judged.view.payloads if start == ranges[0][0]), None)
        add(note, weights.notes[note] / 4, *ranges[0], payload)
    ranked = sorted(zip(judged.instances, judged.logits, strict=True), key=lambda pair: -pair[1])
    for one, logit in ranked:
        if one.part is not None and (logit > _FAINT or one.kind == "invisible"):
            add(f"{one.kind}_text", _share(logit), one.start, one.end, one.text)
    whole = judged.instances[0]
    outside = [(one, logit) for one, logit in ranked if one.part is None]
    sentence, _ = next(((one, logit) for one, logit in outside if one.kind == "sentence"), (whole, 0.0))
    for firing in sorted(whole.content.firings, key=lambda firing: not sentence.start <= firing.start < sentence.end):
        if len(reasons) >= MOST_REASONS - 1:
            break
        add(firing.family, 0.3 + 0.4 * score, *judged.view.span(firing.start, firing.end))
    if sentence.end > sentence.start and (score >= 0.5 or outside[0][1] > _FAINT):
        add("model", score, *judged.view.span(sentence.start, sentence.end))
    return tuple(sorted(reasons, key=lambda reason: -reason.weight)[:MOST_REASONS])
