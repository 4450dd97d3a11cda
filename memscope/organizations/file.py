"""Organization files: reading one strictly, with the line of what is wrong, and writing one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import tomli_w

from memscope.errors import InvalidArgument
from memscope.model.audience import Scope, Sensitivity
from memscope.model.organization import Confirmation, GroupKind, GroupRole, Role, Roster, SecretsPolicy
from memscope.organizations.clients import ClientRule
from memscope.text.normalise import LoneSurrogate, NulCharacter, normalise

NAME_MAX = 200
DESCRIPTION_MAX = 1000
SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}")


class FileError(Exception):
    """What is wrong with an organization file, with its line and what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One table of the file: only the keys that were given."""

    line: int
    values: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def __contains__(self, key: str) -> bool:
        return key in self.values


@dataclass(frozen=True, slots=True)
class OrganizationFile:
    """A file as read: every value checked by itself; names are not yet looked up."""

    organization: Entry
    people: tuple[Entry, ...] = ()
    teams: tuple[Entry, ...] = ()
    projects: tuple[Entry, ...] = ()
    topics: tuple[Entry, ...] = ()
    lines: Mapping[tuple[str, int, str], int] = field(default_factory=dict, repr=False)

    def line(self, table: str, index: int, key: str = "") -> int:
        """The line of a key in the index-th table of a kind, or of the table itself."""
        return self.lines.get((table, index, key), self.lines.get((table, index, ""), 1))


def _text(longest: int, *, empty: bool = False) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError("must be a text in quotes")
        try:
            cleaned = normalise(value).strip()
        except (NulCharacter, LoneSurrogate):
            raise ValueError("holds a NUL character or half of a surrogate pair") from None
        if not cleaned and not empty:
            raise ValueError("must not be empty")
        if len(cleaned) > longest:
            raise ValueError(f"is longer than {longest} characters")
        return cleaned

    return check


def _slug(value: Any) -> str:
    text = _text(63)(value)
    if SLUG.fullmatch(text) is None:
        raise ValueError("must be lower-case letters, digits, - and _, beginning with a letter or digit")
    return text


def _email(value: Any) -> str:
    text = _text(255)(value).casefold()
    if EMAIL.fullmatch(text) is None:
        raise ValueError("must be an e-mail address")
    return text


def check_name(value: str) -> str:
    """A name as it is kept; InvalidArgument."""
    return _checked("name", _text(NAME_MAX), value)


def check_email(value: str) -> str:
    """An e-mail address as it is kept, in lower case; InvalidArgument."""
    return _checked("email", _email, value)


def check_zone(value: str) -> str:
    """The name of a time zone; InvalidArgument."""
    return _checked("timezone", _zone, value)


def check_slug(value: str) -> str:
    """A slug; InvalidArgument."""
    return _checked("slug", _slug, value)


def check_description(value: str) -> str:
    """A description; may be empty. InvalidArgument."""
    return _checked("description", _text(DESCRIPTION_MAX, empty=True), value)


def _checked(parameter: str, check: Callable[[Any], str], value: str) -> str:
    try:
        return check(value)
    except ValueError as error:
        raise InvalidArgument(parameter, f"{parameter} {error}.") from None


def _list(check: Callable[[Any], str]) -> Callable[[Any], tuple[str, ...]]:
    def checked(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise ValueError("must be a list")
        return tuple(dict.fromkeys(check(item) for item in value))

    return checked


def _one_of(values: Mapping[str, Any]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not isinstance(value, str) or value not in values:
            raise ValueError(f"must be one of {', '.join(values)}")
        return values[value]

    return check


def _whole(lowest: int, highest: int) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
            raise ValueError(f"must be a whole number from {lowest} to {highest}")
        return value

    return check


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _zone(value: Any) -> str:
    text = _text(64)(value)
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("must be a time zone such as Europe/Berlin") from None
    return text


_LEVELS = {level.label: level for level in Sensitivity}
_NAME = _text(NAME_MAX)
_KEYS: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {
    "organization": {
        "slug": _slug,
        "name": _NAME,
        "timezone": _zone,
        "trash_days": _whole(1, 3650),
        "default_scope": _one_of({scope.value: scope for scope in Scope}),
        "default_sensitivity": _one_of(_LEVELS),
        "confirmation": _one_of({mode.value: mode for mode in Confirmation}),
        "secrets": _one_of({policy.value: policy for policy in SecretsPolicy}),
        "clients": _one_of({rule.value: rule for rule in ClientRule}),
    },
    "people": {
        "email": _email,
        "name": _NAME,
        "role": _one_of({role.value: role for role in Role}),
        "clearance": _one_of(_LEVELS | {"by_role": None}),
        "active": _truth,
        "password": _text(256),
    },
    "teams": {"slug": _slug, "name": _NAME, "aliases": _list(_NAME), "owners": _list(_email), "members": _list(_email)},
    "projects": {
        "slug": _slug,
        "name": _NAME,
        "aliases": _list(_NAME),
        "team": _text(63, empty=True),
        "owners": _list(_email),
        "members": _list(_email),
    },
    "topics": {
        "key": _slug,
        "name": _NAME,
        "aliases": _list(_NAME),
        "description": _text(DESCRIPTION_MAX, empty=True),
        "sensitivity": _one_of(_LEVELS),
        "phrases": _list(_text(300)),
        "teams": _list(_slug),
    },
}
_IDENTITY = {"organization": "slug", "people": "email", "teams": "slug", "projects": "slug", "topics": "key"}


def parse(text: str) -> OrganizationFile:
    """Read an organization file. FileError names the line of the first thing that is wrong."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"The file is no valid TOML: {error}.") from None
    lines = _lines(text)
    for table in raw:
        if table not in _KEYS:
            line = lines.get((table, 0, ""), 1)
            raise FileError(
                f"Line {line}: nobody knows the table {table}. Tables: [organization], [[people]], [[teams]], [[projects]], [[topics]]."
            )
    if not isinstance(raw.get("organization"), dict):
        raise FileError("The file needs a table [organization] with at least a slug.")
    tables: dict[str, list[Entry]] = {}
    for table, keys in _KEYS.items():
        entries = [raw[table]] if table == "organization" else raw.get(table, [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise FileError(f"Line {lines.get((table, 0, ''), 1)}: write each of the {table} under a line [[{table}]].")
        tables[table] = [_entry(table, index, entry, keys, lines) for index, entry in enumerate(entries)]
        _refuse_repeats(table, tables[table], lines)
    return OrganizationFile(
        tables["organization"][0],
        tuple(tables["people"]),
        tuple(tables["teams"]),
        tuple(tables["projects"]),
        tuple(tables["topics"]),
        lines,
    )


def _entry(
    table: str, index: int, entry: Mapping[str, Any], keys: Mapping[str, Callable[[Any], Any]], lines: Mapping[tuple[str, int, str], int]
) -> Entry:
    start = lines.get((table, index, ""), 1)
    values: dict[str, Any] = {}
    for key, value in entry.items():
        line = lines.get((table, index, key), start)
        if key not in keys:
            raise FileError(f"Line {line}: {table} have no key {key}. Keys: {', '.join(keys)}.")
        try:
            values[key] = keys[key](value)
        except ValueError as error:
            raise FileError(f"Line {line}: {key} {error}.") from None
    identity = _IDENTITY[table]
    if identity not in values:
        raise FileError(f"Line {start}: this entry of {table} needs {identity}.")
    return Entry(start, values)


def _refuse_repeats(table: str, entries: list[Entry], lines: Mapping[tuple[str, int, str], int]) -> None:
    identity = _IDENTITY[table]
    seen: dict[str, int] = {}
    for index, entry in enumerate(entries):
        name = entry[identity]
        if name in seen:
            line = lines.get((table, index, identity), entry.line)
            raise FileError(f"Line {line}: {name} stands in {table} twice, first in line {seen[name]}. Put both into one entry.")
        seen[name] = entry.line


def _lines(text: str) -> dict[tuple[str, int, str], int]:
    """(table, index, key) → line, found by looking at how lines begin; good enough to point a person to the place."""
    found: dict[tuple[str, int, str], int] = {}
    counts: dict[str, int] = {}
    table, index = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\[?\s*([\w-]+)\s*\]", line):
            table = header.group(1)
            index = counts.get(table, 0)
            counts[table] = index + 1
            found.setdefault((table, index, ""), number)
        elif key := re.match(r"\s*[\"']?([\w-]+)[\"']?\s*=", line):
            if not table:
                found.setdefault((key.group(1), 0, ""), number)
            found.setdefault((table, index, key.group(1)), number)
    return found


def write(roster: Roster, clients: ClientRule) -> str:
    """The organization as a file that `org apply` takes, with its rule for clients; passwords are never in it."""
    organization = roster.organization
    data: dict[str, Any] = {
        "organization": {
            "slug": organization.slug,
            "name": organization.name,
            "timezone": organization.timezone,
            "trash_days": organization.trash_days,
            "default_scope": organization.default_scope.value,
            "default_sensitivity": organization.default_sensitivity.label,
            "confirmation": organization.confirmation.value,
            "secrets": organization.secrets.value,
            "clients": clients.value,
        },
        "people": [
            {
                "email": person.email,
                "name": person.name,
                "role": person.role.value,
                "clearance": "by_role" if person.clearance is None else person.clearance.label,
                "active": person.active,
            }
            for person in sorted(roster.people.values(), key=lambda person: person.email)
        ],
        "teams": _groups(roster, GroupKind.TEAM),
        "projects": _groups(roster, GroupKind.PROJECT),
        "topics": [
            {
                "key": topic.key,
                "name": topic.name,
                "aliases": list(topic.aliases),
                "description": topic.description,
                "sensitivity": topic.sensitivity.label,
                "phrases": list(topic.phrases),
                "teams": sorted(roster.groups[team].slug for team in topic.teams),
            }
            for topic in sorted(roster.topics.values(), key=lambda topic: topic.key)
        ],
    }
    return tomli_w.dumps(data)


def _groups(roster: Roster, kind: GroupKind) -> list[dict[str, Any]]:
    written = []
    for group in sorted(roster.groups.values(), key=lambda group: group.slug):
        if group.kind is not kind:
            continue
        entry: dict[str, Any] = {"slug": group.slug, "name": group.name, "aliases": list(group.aliases)}
        if kind is GroupKind.PROJECT:
            entry["team"] = roster.groups[group.team].slug if group.team else ""
        for key, role in (("owners", GroupRole.OWNER), ("members", GroupRole.MEMBER)):
            people = roster.memberships.get(group.id, {})
            entry[key] = sorted(roster.people[person].email for person, held in people.items() if held is role)
        written.append(entry)
    return written
