"""Places as a form offers them: `organization`, `personal`, `team:SLUG`, `project:SLUG`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from memscope.errors import InvalidArgument
from memscope.model.audience import Place, Scope
from memscope.model.organization import Roster


@dataclass(frozen=True, slots=True)
class Choice:
    """A place to choose."""

    value: str
    title: str


def choices(places: Iterable[Place], roster: Roster) -> list[Choice]:
    """Places to choose from."""
    return [_choice(place, roster) for place in places]


def _choice(place: Place, roster: Roster) -> Choice:
    if place.group is not None:
        group = roster.groups[place.group]
        return Choice(f"{group.kind.value}:{group.slug}", f"{group.kind.value.capitalize()} {group.name}")
    return Choice(place.scope.value, "Everybody in the organization" if place.scope is Scope.ORGANIZATION else "Its author alone")


def resolved(value: str) -> tuple[Scope, str | None, str | None]:
    """(scope, team, project) of a chosen place; InvalidArgument."""
    scope, _, slug = value.partition(":")
    if scope not in [known.value for known in Scope] or (scope in ("team", "project")) != bool(slug):
        raise InvalidArgument("place", "Choose a place from the list.")
    return Scope(scope), slug if scope == "team" else None, slug if scope == "project" else None
