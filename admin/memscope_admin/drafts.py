"""Drafts of the access simulator, kept in the address alone: read from it, put into it, and told in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from flask import url_for
from werkzeug.datastructures import MultiDict

from memscope.errors import InvalidArgument
from memscope.model.audience import Place, Scope, Sensitivity
from memscope.model.organization import Group, GroupKind, Person, Role, Roster
from memscope.policy.draft import Become, Change, Clear, Demote, Join, Leave, Map, Move, Own, Set, Settle, Unmap
from memscope_admin.places import resolved
from memscope_admin.sessions import Visitor
from memscope_admin.texts import words

FIELDS = ("join", "own", "leave", "role", "clearance", "map", "unmap", "place", "level", "settle")
NO_LEVEL = "role"
"""As the role says."""


def read(given: MultiDict[str, str], roster: Roster) -> tuple[Change, ...]:
    """The changes that an address names; InvalidArgument for one that means nothing."""
    found = (_change(field, value.strip(), roster) for field in FIELDS for value in given.getlist(field) if value.strip())
    return tuple(dict.fromkeys(found))


def address(changes: Iterable[Change], roster: Roster) -> dict[str, list[str]]:
    """The changes as fields of an address."""
    found: dict[str, list[str]] = {}
    for change in changes:
        field, value = _field(change, roster)
        found.setdefault(field, []).append(value)
    return found


def told(change: Change, roster: Roster) -> str:
    """A change in words that follow a person's name or "the memory": done to them."""
    match change:
        case Join(group):
            return f"put them into {_group(roster.groups[group])}"
        case Own(group):
            return f"make them an owner of {_group(roster.groups[group])}"
        case Demote(group):
            return f"make them a plain member of {_group(roster.groups[group])}"
        case Leave(group):
            return f"take them out of {_group(roster.groups[group])}"
        case Become(role):
            return f"make them {'an administrator' if role is Role.ADMIN else f'a {role.value}'}"
        case Clear(level):
            return f"clear them up to {words(level.label)}" if level is not None else "clear them as their role says"
        case Map(topic, team):
            return f"let {roster.groups[team].name} guard {roster.topics[topic].name}"
        case Unmap(topic, team):
            return f"let {roster.groups[team].name} guard {roster.topics[topic].name} no more"
        case Move(place):
            return f"move the memory to {_place(place, roster)}"
        case Set(level):
            return f"make the memory {words(level.label)}"
        case Settle():
            return "approve the memory's review"


def done_at(change: Change, roster: Roster, about: Person, number: int | None, here: Visitor) -> str | None:
    """Where it is really done; None where whoever asks cannot do it."""
    match change:
        case Join(group) | Own(group) | Demote(group) | Leave(group):
            role = {Join: "member", Own: "owner", Demote: "member", Leave: "none"}[type(change)]
            may = here.admin or group in here.reader.owns
            return url_for("groups.member", group_id=group, person=about.id, role=role) if may else None
        case Become() | Clear():
            return url_for("people.show", person_id=about.id) if here.admin else None
        case Map(topic, _) | Unmap(topic, _):
            return url_for("topics.show", key=roster.topics[topic].key) if here.admin else None
        case Move(place) if number is not None:
            return url_for("memories.move", memory=number, place=_value(place, roster))
        case Set(level) if number is not None:
            return url_for("memories.sensitivity", memory=number, sensitivity=level.label)
        case Settle() if number is not None:
            return url_for("review.queue", memory=number)
    return None


def choices(roster: Roster, about: Person) -> Mapping[str, Sequence[tuple[str, str]]]:
    """What the form offers, by field: (value, label)."""
    mine = roster.readers[about.id].groups
    groups = sorted(roster.groups.values(), key=lambda group: (group.kind.value, group.name.casefold()))
    topics = sorted(roster.topics.values(), key=lambda topic: topic.name.casefold())
    teams = [group for group in groups if group.kind is GroupKind.TEAM]
    named = [(_name(group), f"{group.kind.value.capitalize()} {group.name}") for group in groups]
    inside = {_name(group) for group in groups if group.id in mine}
    guards = {(topic.key, team.slug): team.id in topic.teams for topic in topics for team in teams}
    label = {(topic.key, team.slug): (f"{topic.key}:{team.slug}", f"{topic.name}: {team.name}") for topic in topics for team in teams}
    return {
        "join": [one for one in named if one[0] not in inside],
        "leave": [one for one in named if one[0] in inside],
        "role": [(role.value, words(role.value).capitalize()) for role in Role],
        "clearance": [(NO_LEVEL, "As the role says"), *_levels()],
        "map": [label[pair] for pair, guarded in guards.items() if not guarded],
        "unmap": [label[pair] for pair, guarded in guards.items() if guarded],
        "place": [("organization", "Everybody in the organization"), ("personal", "Its author alone"), *named],
        "level": _levels(),
    }


def _levels() -> list[tuple[str, str]]:
    return [(level.label, words(level.label).capitalize()) for level in Sensitivity]


def _change(field: str, value: str, roster: Roster) -> Change:
    match field:
        case "join" | "own" | "leave":
            group = _find(value, roster).id
            return Join(group) if field == "join" else Own(group) if field == "own" else Leave(group)
        case "role":
            if value not in [role.value for role in Role]:
                raise InvalidArgument("role", "A role is guest, member or admin.")
            return Become(Role(value))
        case "clearance":
            return Clear(None if value == NO_LEVEL else _level(value))
        case "map" | "unmap":
            key, _, slug = value.partition(":")
            topic, team = roster.find_topic(key), roster.find_group(slug, GroupKind.TEAM)
            if topic is None or team is None:
                raise InvalidArgument(field, "There is no such topic or team. Choose from the list.")
            return Map(topic.id, team.id) if field == "map" else Unmap(topic.id, team.id)
        case "place":
            scope, team_slug, project_slug = resolved(value)
            if scope is Scope.PERSONAL:
                return Move(None)
            if scope is Scope.ORGANIZATION:
                return Move(Place.organization())
            return Move(Place(scope, group=_find(f"{scope.value}:{team_slug or project_slug}", roster).id))
        case "level":
            return Set(_level(value))
    return Settle()


def _field(change: Change, roster: Roster) -> tuple[str, str]:
    match change:
        case Join(group) | Demote(group):
            return "join", _name(roster.groups[group])
        case Own(group):
            return "own", _name(roster.groups[group])
        case Leave(group):
            return "leave", _name(roster.groups[group])
        case Become(role):
            return "role", role.value
        case Clear(level):
            return "clearance", NO_LEVEL if level is None else level.label
        case Map(topic, team):
            return "map", f"{roster.topics[topic].key}:{roster.groups[team].slug}"
        case Unmap(topic, team):
            return "unmap", f"{roster.topics[topic].key}:{roster.groups[team].slug}"
        case Move(place):
            return "place", _value(place, roster)
        case Set(level):
            return "level", level.label
    return "settle", "yes"


def _find(value: str, roster: Roster) -> Group:
    kind, _, slug = value.partition(":")
    group = roster.find_group(slug, GroupKind(kind)) if kind in ("team", "project") else None
    if group is None:
        raise InvalidArgument("draft", "There is no such team or project. Choose from the list.")
    return group


def _level(value: str) -> Sensitivity:
    try:
        return Sensitivity.parse(value)
    except ValueError:
        raise InvalidArgument("draft", "There is no such sensitivity. Choose from the list.") from None


def _name(group: Group) -> str:
    return f"{group.kind.value}:{group.slug}"


def _group(group: Group) -> str:
    return f"the {group.kind.value} {group.name}"


def _value(place: Place | None, roster: Roster) -> str:
    if place is None or place.scope is Scope.PERSONAL:
        return "personal"
    return _name(roster.groups[place.group]) if place.group is not None else "organization"


def _place(place: Place | None, roster: Roster) -> str:
    if place is None or place.scope is Scope.PERSONAL:
        return "its author alone"
    return _group(roster.groups[place.group]) if place.group is not None else "everybody"
