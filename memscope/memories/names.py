"""People as they are called in a filter: by e-mail address, by what stands before its @, by name or by id."""

from __future__ import annotations

from collections.abc import Mapping

from memscope.model.organization import Person, Roster


def person_called(roster: Roster, text: str) -> Person | None:
    """The person that a text means; None when there is none or it might mean several."""
    found = roster.find_person(text)
    if found is not None:
        return found
    folded = text.strip().casefold()
    for name in (_short, _name):
        matching = [person for person in roster.people.values() if name(person) == folded]
        if matching:
            return matching[0] if len(matching) == 1 else None
    return None


def handles(roster: Roster) -> Mapping[str, str]:
    """Person id → the shortest text that `person_called` takes for just that person."""
    counts: dict[str, int] = {}
    for person in roster.people.values():
        counts[_short(person)] = counts.get(_short(person), 0) + 1
    return {person.id: _short(person) if counts[_short(person)] == 1 else person.email for person in roster.people.values()}


def _short(person: Person) -> str:
    return person.email.partition("@")[0]


def _name(person: Person) -> str:
    return person.name.casefold()
