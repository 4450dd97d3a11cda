"""A reviewer's own last decisions, kept so that each can be taken back; no text of a memory is in them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from flask import current_app
from itsdangerous import BadSignature, URLSafeSerializer

from memscope_admin.sessions import RECORDS, core, principal

LAST = 10
UNDO_WITHIN = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Decision:
    """One of them."""

    id: str
    memory: int
    """Number."""
    memory_id: str
    told: str
    """What was said when it was made."""
    at: datetime
    before: Mapping[str, Any] | None
    """How it was before; None where it cannot be taken back."""
    met: int
    """How often recalls had returned the memory by then."""

    @property
    def undoable(self) -> bool:
        """Whether it may be taken back still."""
        return self.before is not None and core().clock() - self.at < UNDO_WITHIN


def decided() -> list[Decision]:
    """The last ten, newest first."""
    record = core().storage.records(RECORDS).get(principal().organization, _key("decided"))
    return [Decision(**{**one, "at": datetime.fromisoformat(one["at"])}) for one in (record or {"decided": []})["decided"]]


def remember(number: int, memory_id: str, told: str, before: Mapping[str, Any] | None) -> str:
    """Keep a decision; returns its id."""
    made = {
        "id": secrets.token_hex(6),
        "memory": number,
        "memory_id": memory_id,
        "told": told,
        "at": core().clock().isoformat(),
        "before": before,
        "met": met(memory_id),
    }
    records = core().storage.records(RECORDS)
    records.change(
        principal().organization, _key("decided"), lambda known: {"decided": [made, *(known or {"decided": []})["decided"]][:LAST]}
    )
    return str(made["id"])


def forget(decision: str) -> None:
    """Drop one that was taken back."""
    records = core().storage.records(RECORDS)
    records.change(
        principal().organization,
        _key("decided"),
        lambda known: {"decided": [one for one in (known or {"decided": []})["decided"] if one["id"] != decision]},
    )


def met(memory_id: str) -> int:
    """How often recalls returned a memory."""
    found = core().usage.met(principal().organization, [memory_id])
    return found[memory_id].count if memory_id in found else 0


def note_cleared() -> None:
    """Note that nothing waits for the person any more."""
    core().storage.records(RECORDS).put(principal().organization, _key("cleared"), {"at": core().clock().isoformat()})


def last_cleared() -> datetime | None:
    """When the person's queue was emptied last."""
    record = core().storage.records(RECORDS).get(principal().organization, _key("cleared"))
    return None if record is None else datetime.fromisoformat(record["at"])


def seen(number: int, memory_id: str) -> str:
    """Proof, for a form, that the person was shown a memory that waited."""
    return str(_signer().dumps([principal().person, number, memory_id]))


def was_shown(number: str, proof: str) -> str | None:
    """The id of a memory that a form proves to have been shown to the person: then they may be told who was faster, although it
    may be out of their sight by now. None without such a proof."""
    try:
        person, shown, memory_id = _signer().loads(proof)
    except (BadSignature, ValueError):
        return None
    return str(memory_id) if (person, str(shown)) == (principal().person, number) else None


def _signer() -> URLSafeSerializer:
    return URLSafeSerializer(current_app.config["SECRET_KEY"], salt="review/seen")


def _key(what: str) -> str:
    return f"{what}/{principal().person}"
