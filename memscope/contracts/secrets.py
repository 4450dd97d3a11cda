"""Secrets and identifiers: what a detector finds."""

from __future__ import annotations

from dataclasses import dataclass

from memscope.model.audience import Sensitivity


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """One secret or identifier in a text.

    The text itself is never part of a finding; `masked` is what people are shown.
    """

    type: str
    """A name of lower-case letters, digits and underscores, such as `github_token` or `iban`."""
    start: int
    end: int
    """Half-open range of code points in the text that was handed to the hook."""
    confidence: float
    """0..1: a checksum that holds about .95, a known format .8, context alone .6."""
    sensitivity: Sensitivity
    """The level that a memory holding it gets at least."""
    credential: bool
    """Whether it opens something (key, token, password, private key): the organization's `secrets` setting applies.
    False for identifiers and personal data, which only raise the level."""
    masked: str
    """At most 16 characters of evidence that do not give the secret away."""
