"""People: added, given a role and clearance, disabled and enabled. Never deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from memscope.contracts.identity import Tokens
from memscope.contracts.storage import Operator, Transaction
from memscope.core import Core
from memscope.errors import Conflict, InvalidArgument, NotFound
from memscope.model.audience import Sensitivity
from memscope.model.ids import new_id
from memscope.model.organization import Connection, ConnectionKind, Person, Role, Roster
from memscope.model.principal import Principal
from memscope.organizations.changes import Outcome, admins, carry_out
from memscope.organizations.file import check_email, check_name
from memscope.organizations.invitations import withdraw


def add_person(
    core: Core, principal: Principal, email: str, name: str, role: Role = Role.MEMBER, clearance: Sensitivity | None = None
) -> Person:
    """Add somebody. Conflict when the address is taken; InvalidArgument for a guest above public."""
    _check_guest(role, clearance)
    person = Person(new_id(), check_email(email), check_name(name), role, clearance)

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        if roster.find_person(person.email) is not None:
            raise Conflict(f"Somebody with the address {person.email} is here already.")
        transaction.write_person(person)
        return Outcome(person.id, {"role": role.value})

    carry_out(core, principal, "person.add", admins, write)
    return person


def change_person(
    core: Core, principal: Principal, person_id: str, expected: Person, *, name: str, role: Role, clearance: Sensitivity | None
) -> Person:
    """Change a person's name, role and clearance, as long as they are still as `expected`.

    Conflict when somebody else was faster, when it would lower the last administrator, or the caller's own role.
    """
    after = replace(expected, name=check_name(name), role=role, clearance=clearance)

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        _as_expected(roster, person_id, expected)
        check_rights(roster, principal, person_id, role, clearance)
        transaction.write_person(after)
        return Outcome(person_id, {"role": role.value, "clearance": None if clearance is None else clearance.label})

    carry_out(core, principal, "person.change", admins, write)
    return after


def check_rights(roster: Roster, principal: Principal, person_id: str, role: Role, clearance: Sensitivity | None) -> None:
    """Refuse a role and clearance that somebody cannot be given: InvalidArgument, or Conflict where the role must stay."""
    _check_guest(role, clearance)
    if roster.people[person_id].role is Role.ADMIN and role is not Role.ADMIN:
        if person_id == principal.person:
            raise Conflict("Nobody lowers their own role; another administrator can.")
        _keep_an_admin(roster, person_id)


@dataclass(frozen=True, slots=True)
class Ended:
    """What of somebody's ways in ends when they are disabled, sessions of the console apart."""

    tokens: int
    grants: int
    """OAuth grants."""
    others: int
    """The built-in connection of the server's own machine."""


def ways_in(core: Core, organization: str, person_id: str) -> Ended:
    """What disabling somebody would end now."""
    with core.storage.begin(Operator("list connections", organization)) as transaction:
        return _counted(transaction.connections(person_id))


def _counted(connections: Iterable[Connection]) -> Ended:
    kinds = Counter(connection.kind for connection in connections if connection.revoked_at is None)
    return Ended(kinds[ConnectionKind.TOKEN], kinds[ConnectionKind.OAUTH], kinds[ConnectionKind.STDIO])


def set_active(core: Core, tokens: Tokens, principal: Principal, person_id: str, active: bool) -> Ended:
    """Disable or enable somebody; returns what a disabling ended. Enabling brings nothing of it back.

    Conflict for oneself and for the last administrator.
    """
    live: list[Connection] = []

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        if person_id not in roster.people:
            raise NotFound
        person = roster.people[person_id]
        if not active:
            if person_id == principal.person:
                raise Conflict("Nobody disables themselves; another administrator can.")
            if person.role is Role.ADMIN:
                _keep_an_admin(roster, person_id)
            live[:] = [connection for connection in transaction.connections(person_id) if connection.revoked_at is None]
            for connection in live:
                transaction.write_connection(replace(connection, revoked_at=transaction.now))
        transaction.write_person(replace(person, active=active))
        return Outcome(person_id, {"connections_ended": len(live)})

    carry_out(core, principal, "person.enable" if active else "person.disable", admins, write)
    if not active:
        withdraw(core, principal.organization, person_id)
    for connection in live:
        tokens.drop_token(principal.organization, connection.id)
    return _counted(live)


def named(roster: Roster, text: str, most: int = 10) -> tuple[Person, ...]:
    """The people whom a text may mean: the one with this id or address, else those whose name or address holds it, by name."""
    if (exact := roster.find_person(text)) is not None:
        return (exact,)
    folded = text.strip().casefold()
    found = [person for person in roster.people.values() if folded and (folded in person.name.casefold() or folded in person.email)]
    return tuple(sorted(found, key=lambda person: person.name.casefold())[:most])


def _check_guest(role: Role, clearance: Sensitivity | None) -> None:
    if role is Role.GUEST and clearance not in (None, Sensitivity.PUBLIC):
        raise InvalidArgument("clearance", "A guest never gets above public.")


def _as_expected(roster: Roster, person_id: str, expected: Person) -> None:
    if person_id not in roster.people:
        raise NotFound
    if roster.people[person_id] != expected:
        raise Conflict("Somebody else changed this person meanwhile. Look at them again.")


def _keep_an_admin(roster: Roster, person_id: str) -> None:
    others = [person for person in roster.people.values() if person.role is Role.ADMIN and person.active and person.id != person_id]
    if not others:
        raise Conflict("This is the last administrator; make somebody else one first.")
