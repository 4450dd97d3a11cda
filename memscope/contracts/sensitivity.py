"""Sensitivity and topics: a classifier's verdict."""

from __future__ import annotations

from dataclasses import dataclass

from memscope.contracts.guard import Span
from memscope.model.audience import Sensitivity


@dataclass(frozen=True, slots=True)
class TopicMatch:
    """A topic that a text is about."""

    key: str
    confidence: float
    """0..1, calibrated: of the matches given .8, about eight in ten are right."""
    spans: tuple[Span, ...] = ()
    """What in the text said so, strongest first."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Something in the text that raised the level."""

    type: str
    """A name of lower-case letters, digits and underscores, such as `pay` or `published`."""
    span: Span
    confidence: float


@dataclass(frozen=True, slots=True)
class SensitivityVerdict:
    """What one classifier says of one text. The most restrictive verdict wins; topics are united."""

    sensitivity: Sensitivity
    confidence: float
    """0..1, calibrated: how sure the classifier is of the level. Below `LOW_CONFIDENCE` the memory is flagged `fyi`."""
    topics: tuple[TopicMatch, ...] = ()
    evidence: tuple[Evidence, ...] = ()


#: Below this a verdict counts as low confidence (DESIGN section 3, route).
LOW_CONFIDENCE = 0.6
