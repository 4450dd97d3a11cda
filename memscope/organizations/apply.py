"""Making an organization be as a file says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from memscope.contracts.identity import Passwords
from memscope.contracts.storage import Operator, Transaction
from memscope.core import Core
from memscope.model.audience import Sensitivity
from memscope.model.audit import Act
from memscope.model.ids import new_id
from memscope.model.organization import Group, GroupKind, GroupRole, Organization, Person, Role, Roster, Topic
from memscope.organizations.clients import ClientRule, keep_rule
from memscope.organizations.clients import rule as known_rule
from memscope.organizations.file import Entry, FileError, OrganizationFile
from memscope.organizations.invitations import withdraw
from memscope.organizations.topics import built_in_topics

Write = Callable[[Transaction], None]


@dataclass(frozen=True, slots=True)
class Step:
    """One difference between the file and the organization, in words, and how it is written."""

    text: str
    write: Write


@dataclass(frozen=True, slots=True)
class Applied:
    """What `apply` did, or would do."""

    organization: str
    """Slug."""
    steps: tuple[str, ...]
    passwords: tuple[str, ...]
    """E-mail addresses of people who got their initial password."""


def apply(
    core: Core, passwords: Passwords, file: OrganizationFile, *, dry_run: bool = False, prune: bool = False, actor: str | None = None
) -> Applied:
    """Create or update an organization in one transaction; applying the same file again changes nothing.

    A given list is the whole list; an omitted key or entry stays. With `prune`, omitted people are disabled, and omitted
    groups without memories and added topics removed. FileError, with the line, leaves everything as it was.
    `actor` is the administrator who applies it in the console.
    """
    slug = file.organization["slug"]
    known = core.storage.organizations()
    existing = next((organization for organization in known if organization.slug == slug), None) or _unused(core, known)
    roster = core.rosters.current(existing.id) if existing is not None else _empty(file)
    initial = _initial_passwords(passwords, file, roster)
    _refuse_fixed(core, file)
    differ = _Differ(file, roster, existing is None, core.settings.organization.values())
    steps = [*differ.steps(), *(differ.pruned() if prune else ())]
    rule = _rule(core, file, roster.organization)
    detail: dict[str, int | bool | str] = {"changes": len(steps), "prune": prune}
    if rule is not None:
        steps.append(rule[1])
        detail |= {"changes": len(steps), "clients": rule[0].value}
    texts = tuple(step.text for step in steps)
    if not dry_run and steps:
        act = Act("organization.apply", actor, target=roster.organization.id, detail=detail)
        try:
            # Making an organization begins outside of any; what follows in the transaction is within the new one.
            operator = Operator("org apply", existing.id if existing is not None else None)
            with core.storage.begin(operator, act) as transaction:
                for step in steps:
                    step.write(transaction)
        except ValueError as error:
            raise FileError(f"{error} Nothing was changed.") from None
    if not dry_run:
        if rule is not None:
            keep_rule(core, roster.organization.id, rule[0])
        now = core.rosters.current(roster.organization.id).people
        for person in roster.people.values():
            if person.active and not now[person.id].active:
                withdraw(core, roster.organization.id, person.id)
        people = {person.email: person.id for person in now.values()}
        for email, password in initial.items():
            passwords.set_password(roster.organization.id, people[email], password)
    return Applied(slug, texts, tuple(initial))


def _rule(core: Core, file: OrganizationFile, organization: Organization) -> tuple[ClientRule, Step] | None:
    """The rule for clients where the file has another; it is kept beside the organization, so the step itself writes nothing."""
    wanted: ClientRule | None = file.organization.values.get("clients")
    before = known_rule(core, organization.id)
    if wanted in (None, before):
        return None
    return wanted, Step(f"~ organization {file.organization['slug']}: clients {before.value} → {wanted.value}", lambda _: None)


def _refuse_fixed(core: Core, file: OrganizationFile) -> None:
    for key, value in core.settings.organization.values().items():
        if file.organization.values.get(key, value) != value:
            source = core.settings.fixed_by("organization", key)
            raise FileError(f"Line {file.line('organization', 0, key)}: {key} is fixed by {source}; leave it out or write the same.")


def _unused(core: Core, known: Sequence[Organization]) -> Organization | None:
    """The organization that the first start made and nobody has entered yet: the file's becomes that one."""
    if len(known) != 1:
        return None
    roster = core.rosters.current(known[0].id)
    return None if roster.people or roster.groups else known[0]


def _empty(file: OrganizationFile) -> Roster:
    organization = Organization(new_id(), file.organization["slug"], file.organization["slug"])
    return Roster(organization, 0, {}, {}, {topic.id: topic for topic in built_in_topics()}, {})


def _initial_passwords(passwords: Passwords, file: OrganizationFile, roster: Roster) -> dict[str, str]:
    initial: dict[str, str] = {}
    for index, entry in enumerate(file.people):
        if "password" not in entry:
            continue
        person = roster.find_person(entry["email"])
        if person is not None and passwords.has_password(roster.organization.id, person.id):
            continue
        try:
            passwords.refuse_weak(entry["password"])
        except ValueError as error:
            raise FileError(f"Line {file.line('people', index, 'password')}: {error}") from None
        initial[entry["email"]] = entry["password"]
    return initial


class _Differ:
    """Compares a file with an organization, table by table, in an order in which each step finds what it names."""

    def __init__(self, file: OrganizationFile, roster: Roster, new: bool, fixed: Mapping[str, Any]) -> None:
        self._fixed = fixed
        self._file = file
        self._roster = roster
        self._new = new
        self._people = {person.email: person for person in roster.people.values()}
        self._groups = {(group.kind, group.slug): group for group in roster.groups.values()}
        self._topics = {topic.key: topic for topic in roster.topics.values()}

    def steps(self) -> Iterator[Step]:
        yield from self._organization()
        for index, entry in enumerate(self._file.people):
            yield from self._person(index, entry)
        for kind, entries in ((GroupKind.TEAM, self._file.teams), (GroupKind.PROJECT, self._file.projects)):
            for index, entry in enumerate(entries):
                yield from self._group(kind, index, entry)
        self._refuse_shared_names()
        for index, entry in enumerate(self._file.topics):
            yield from self._topic(index, entry)

    def _organization(self) -> Iterator[Step]:
        before = self._roster.organization
        values = {key: value for key, value in self._file.organization.values.items() if key != "clients"}
        if not self._roster.people and before.slug != values["slug"]:
            values = {"name": values["slug"]} | values
        after = replace(before, **values, **{key: value for key, value in self._fixed.items() if key not in values})
        if self._new:
            yield Step(f"+ organization {after.slug}", lambda transaction: transaction.write_organization(after))
            for topic in self._roster.topics.values():
                yield Step(f"+ topic {topic.key}", _topic_write(topic))
        elif after != before:
            yield Step(f"~ organization {after.slug}: {_changes(before, after)}", lambda transaction: transaction.write_organization(after))

    def _person(self, index: int, entry: Entry) -> Iterator[Step]:
        values = {key: value for key, value in entry.values.items() if key != "password"}
        before = self._people.get(entry["email"])
        after = (
            replace(before, **values) if before is not None else Person(**{"id": new_id(), "name": entry["email"].split("@")[0]} | values)
        )
        if after.role is Role.GUEST and after.clearance not in (None, Sensitivity.PUBLIC):
            line = self._file.line("people", index, "clearance")
            raise FileError(f"Line {line}: a guest never gets above public; give {after.email} another role or no clearance.")
        self._people[after.email] = after
        if after != before:
            text = f"+ person {after.email}" if before is None else f"~ person {after.email}: {_changes(before, after)}"
            yield Step(text, _person_write(after, before))

    def _group(self, kind: GroupKind, index: int, entry: Entry) -> Iterator[Step]:
        table = f"{kind.value}s"
        values = {key: entry[key] for key in ("slug", "name", "aliases") if key in entry}
        if "team" in entry:
            values["team"] = self._team(entry["team"], table, index, "team").id if entry["team"] else None
        before = self._groups.get((kind, entry["slug"]))
        after = replace(before, **values) if before is not None else Group(**{"id": new_id(), "kind": kind, "name": entry["slug"]} | values)
        self._groups[kind, after.slug] = after
        if after != before:
            text = f"+ {kind.value} {after.slug}" if before is None else f"~ {kind.value} {after.slug}: {_changes(before, after)}"
            yield Step(text, lambda transaction: transaction.write_group(after))
        yield from self._memberships(after, table, index, entry)

    def _memberships(self, group: Group, table: str, index: int, entry: Entry) -> Iterator[Step]:
        before = dict(self._roster.memberships.get(group.id, {}))
        after = dict(before)
        for key, role in (("members", GroupRole.MEMBER), ("owners", GroupRole.OWNER)):
            if key not in entry:
                continue
            listed = {self._named(email, table, index, key).id for email in entry[key]}
            # A given list is the whole list of that role; who is listed as owner and as member is an owner.
            after = {person: held for person, held in after.items() if held is not role or person in listed}
            after |= dict.fromkeys(listed, role)
        emails = {person.id: person.email for person in self._people.values()}
        for person in sorted(before.keys() | after.keys(), key=lambda person: emails[person]):
            old, new = before.get(person), after.get(person)
            if old is new:
                continue
            text = (
                f"- {emails[person]} from {group.slug}"
                if new is None
                else f"{'+' if old is None else '~'} {emails[person]} in {group.slug}: {new.value}"
            )
            yield Step(text, _membership_write(group.id, person, new))

    def _topic(self, index: int, entry: Entry) -> Iterator[Step]:
        values = dict(entry.values)
        if "teams" in values:
            values["teams"] = frozenset(self._team(slug, "topics", index, "teams").id for slug in values["teams"])
        before = self._topics.get(entry["key"])
        after = replace(before, **values) if before is not None else Topic(**{"id": new_id(), "name": entry["key"]} | values)
        after = replace(after, guarding=after.guarding or bool(after.teams))
        self._topics[after.key] = after
        if after != before:
            yield Step(f"+ topic {after.key}" if before is None else f"~ topic {after.key}: {_changes(before, after)}", _topic_write(after))

    def pruned(self) -> Iterator[Step]:
        listed = {entry["email"] for entry in self._file.people}
        for person in sorted(self._roster.people.values(), key=lambda person: person.email):
            if person.email not in listed and person.active:
                yield Step(f"- person {person.email}: disabled", _person_write(replace(person, active=False), person))
        slugs = {(GroupKind.TEAM, entry["slug"]) for entry in self._file.teams} | {
            (GroupKind.PROJECT, entry["slug"]) for entry in self._file.projects
        }
        # Projects first: a team may only go when no project belongs to it any more.
        for group in sorted(self._roster.groups.values(), key=lambda group: (group.kind is GroupKind.TEAM, group.slug)):
            if (group.kind, group.slug) not in slugs:
                yield Step(f"- {group.kind.value} {group.slug}", _group_removal(group))
        keys = {entry["key"] for entry in self._file.topics}
        for topic in sorted(self._roster.topics.values(), key=lambda topic: topic.key):
            if topic.key not in keys and not topic.builtin:
                yield Step(f"- topic {topic.key}", _topic_removal(topic))

    def _named(self, email: str, table: str, index: int, key: str) -> Person:
        if email not in self._people:
            raise FileError(
                f"Line {self._file.line(table, index, key)}: nobody has the address {email}. Add them under [[people]], or correct it."
            )
        return self._people[email]

    def _team(self, slug: str, table: str, index: int, key: str) -> Group:
        if (GroupKind.TEAM, slug) not in self._groups:
            raise FileError(f"Line {self._file.line(table, index, key)}: there is no team {slug}. Add it under [[teams]], or correct it.")
        return self._groups[GroupKind.TEAM, slug]

    def _refuse_shared_names(self) -> None:
        for kind in GroupKind:
            owner: dict[str, Group] = {}
            for (group_kind, _), group in self._groups.items():
                if group_kind is not kind:
                    continue
                for name in {group.slug.casefold(), *(alias.casefold() for alias in group.aliases)}:
                    if name in owner:
                        raise FileError(
                            f"The {kind.value}s {owner[name].slug} and {group.slug} both go by {name}; a name must mean one of them."
                        )
                    owner[name] = group


def _person_write(person: Person, before: Person | None) -> Write:
    def write(transaction: Transaction) -> None:
        if before is not None and before.active and not person.active:
            # As in the console: who is enabled again one day gets no session, token or grant back by it.
            for connection in transaction.connections(person.id):
                if connection.revoked_at is None:
                    transaction.write_connection(replace(connection, revoked_at=transaction.now))
        transaction.write_person(person)

    return write


def _membership_write(group: str, person: str, role: GroupRole | None) -> Write:
    return lambda transaction: transaction.write_membership(group, person, role)


def _group_removal(group: Group) -> Write:
    return lambda transaction: transaction.remove_group(group.id)


def _topic_removal(topic: Topic) -> Write:
    return lambda transaction: transaction.remove_topic(topic.id)


def _topic_write(topic: Topic) -> Write:
    return lambda transaction: transaction.write_topic(topic)


def _changes(before: Any, after: Any) -> str:
    changed = [field.name for field in fields(before) if getattr(before, field.name) != getattr(after, field.name)]
    return ", ".join(f"{name} {_plain(getattr(before, name))} → {_plain(getattr(after, name))}" for name in changed)


def _plain(value: Any) -> str:
    if isinstance(value, Sensitivity):
        return value.label
    if isinstance(value, (tuple, frozenset)):
        return f"[{len(value)}]" if isinstance(value, frozenset) else "[" + ", ".join(value) + "]"
    return "none" if value is None else str(getattr(value, "value", value))
