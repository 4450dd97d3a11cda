"""Identifiers: made by us, opaque to clients."""

from __future__ import annotations

import secrets
import time
import uuid

#: Memory numbers are drawn from 1..NUMBER_MAX, so that no number tells how many memories exist.
#: The bound keeps them exact in JSON readers that hold integers as doubles (RFC 8259, section 6).
NUMBER_MAX = 2**48


def new_id() -> str:
    """A UUID of version 7 (RFC 9562, section 5.7) as lower-case text: sorts by the millisecond it was made in."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds & (2**48 - 1)) << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=value))


def new_number() -> int:
    """A memory's number within its organization, drawn at random; the storage refuses one that is taken."""
    return secrets.randbelow(NUMBER_MAX) + 1


def parse_reference(text: str) -> str | int | None:
    """What a client calls a memory: its id (text), its number (int), or None when it can be neither.

    Accepts the canonical and the unhyphenated UUID form and decimal digits. None is answered exactly as an id
    that was never given out.
    """
    stripped = text.strip()
    if stripped.isascii() and stripped.isdigit():
        number = int(stripped) if len(stripped) <= 15 else 0
        return number if 1 <= number <= NUMBER_MAX else None
    try:
        return str(uuid.UUID(stripped))
    except ValueError:
        return None
