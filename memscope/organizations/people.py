"""People: added, given a role and clearance, disabled and enabled. Never deleted."""

from __future__ import annotations

from dataclasses import replace

from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.errors import Conflict, InvalidArgument, NotFound
from memscope.model.audience import Sensitivity
from memscope.model.ids import new_id
from memscope.model.organization import Person, Role, Roster
from memscope.model.principal import Principal
from memscope.organizations.changes import Outcome, admins, carry_out
from memscope.organizations.file import check_email, check_name


def add_person(core: Core, principal: Principal, email: str, name: str, role: Role = Role.MEMBER) -> Person:
    """Add somebody. Conflict when the address is taken."""
    person = Person(new_id(), check_email(email), check_name(name), role)

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
    if role is Role.GUEST and clearance not in (None, Sensitivity.PUBLIC):
        raise InvalidArgument("clearance", "A guest never gets above public.")
    after = replace(expected, name=check_name(name), role=role, clearance=clearance)

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        _as_expected(roster, person_id, expected)
        if expected.role is Role.ADMIN and role is not Role.ADMIN:
            if person_id == principal.person:
                raise Conflict("Nobody lowers their own role; another administrator can.")
            _keep_an_admin(roster, person_id)
        transaction.write_person(after)
        return Outcome(person_id, {"role": role.value, "clearance": None if clearance is None else clearance.label})

    carry_out(core, principal, "person.change", admins, write)
    return after


def set_active(core: Core, principal: Principal, person_id: str, active: bool) -> int:
    """Disable or enable somebody; returns how many connections a disabling ended. Enabling brings none back."""
    ended = 0

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        nonlocal ended
        if person_id not in roster.people:
            raise NotFound
        person = roster.people[person_id]
        if not active:
            if person_id == principal.person:
                raise Conflict("Nobody disables themselves; another administrator can.")
            if person.role is Role.ADMIN:
                _keep_an_admin(roster, person_id)
            live = [connection for connection in transaction.connections(person_id) if connection.revoked_at is None]
            for connection in live:
                transaction.write_connection(replace(connection, revoked_at=transaction.now))
            ended = len(live)
        transaction.write_person(replace(person, active=active))
        return Outcome(person_id, {"connections_ended": ended})

    carry_out(core, principal, "person.enable" if active else "person.disable", admins, write)
    return ended


def _as_expected(roster: Roster, person_id: str, expected: Person) -> None:
    if person_id not in roster.people:
        raise NotFound
    if roster.people[person_id] != expected:
        raise Conflict("Somebody else changed this person meanwhile. Look at them again.")


def _keep_an_admin(roster: Roster, person_id: str) -> None:
    others = [person for person in roster.people.values() if person.role is Role.ADMIN and person.active and person.id != person_id]
    if not others:
        raise Conflict("This is the last administrator; make somebody else one first.")
