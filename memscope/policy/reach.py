"""Reach: the sets of audiences that a permission opens to one person."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from memscope.model.audience import Audience, Permission, Reach, Standing
from memscope.model.organization import Reader
from memscope.policy.permissions import allows
from memscope.policy.rules import view

_SETS = (Standing.ANYBODY, Standing.AUTHOR, Standing.COAUTHOR, Standing.REVIEWER)


def reach(
    reader: Reader,
    organization_id: str,
    epoch: int,
    audiences: Iterable[Audience],
    permission: Permission,
    connection: str | None = None,
    revealed: frozenset[str] = frozenset(),
) -> Reach:
    """What a permission opens to a person among the audiences that storage knew at an epoch.

    The author of a flagged memory reviews it whatever its audience, so there is no set for that. Under RESTORE, held
    audiences that the person may review count as open to anybody: a forgotten memory's flags stay open.
    """
    verdicts: dict[Hashable, tuple[bool, ...]] = {}
    opened: tuple[list[Audience], ...] = ([], [], [], [])
    for audience in audiences:
        key = view(reader, audience)
        verdict = verdicts.get(key)
        if verdict is None:
            verdict = verdicts[key] = _verdict(reader, permission, audience)
        for is_open, found in zip(verdict, opened, strict=True):
            if is_open:
                found.append(audience)
    anybody, author, coauthor, reviewer = map(frozenset, opened)
    return Reach(organization_id, reader.person, epoch, permission, anybody, author, coauthor, reviewer, connection, revealed)


def _verdict(reader: Reader, permission: Permission, audience: Audience) -> tuple[bool, ...]:
    anybody, author, coauthor, reviewer = (allows(reader, permission, audience, standing) for standing in _SETS)
    return anybody or (permission is Permission.RESTORE and audience.held and reviewer), author, coauthor, reviewer
