"""Two administrators at once: a form remembers what it showed, and is not saved over what somebody else changed since."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from flask import request

from memscope_admin.sessions import core

CHANGED = "Somebody else changed this since you opened it. Load the page again to see it, or save once more to put yours in its place."


def stamp(shown: Any) -> str:
    """What a form keeps of the dataclass instance that it shows: equal for equal values, and nothing else."""
    values = {field.name: getattr(shown, field.name) for field in fields(shown)}
    return core().keys.digest(
        "stamp", {name: sorted(value) if isinstance(value, frozenset) else str(value) for name, value in values.items()}
    )


def stale(now: Any) -> bool:
    """Whether the form being sent showed something else than there is now."""
    return request.form.get("seen", stamp(now)) != stamp(now)
