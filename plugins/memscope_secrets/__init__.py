"""Default plugin: credentials and identifiers in what is saved, by a table of forms with checks, cue words and levels."""

from __future__ import annotations

from memscope.contracts.secrets import SecretFinding
from memscope.hookspecs import hookimpl


@hookimpl
def memscope_detect_secrets(text: str) -> list[SecretFinding]:
    """The secrets and identifiers in a text of at most 8,000 characters; the work is linear in its length."""
    from .detect import detect  # The tables are compiled when the first text comes, not when plugins are listed.

    return detect(text)
