"""Default plugin: how sensitive a text is and which topics it touches, by spaCy, curated words and small trained models."""

from __future__ import annotations

from memscope.contracts.guard import GuardContext
from memscope.contracts.sensitivity import SensitivityVerdict
from memscope.hookspecs import hookimpl


@hookimpl
def memscope_classify_sensitivity(text: str, context: GuardContext) -> SensitivityVerdict | None:
    """The level and the topics of a text of at most 8,000 characters; the work is linear in its length and in the topics."""
    from memscope_spacy.classify import shipped_classifier  # Weights and spaCy load with the first text, not when plugins are listed.

    return shipped_classifier().classify(text, context)
