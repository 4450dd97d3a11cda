"""The one door for changing the organization: rights first, then the state at one epoch, then the write, with its audit row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from memscope.contracts.events import Event
from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.errors import Forbidden
from memscope.model.audience import Permission
from memscope.model.audit import Act, ApprovedVia
from memscope.model.organization import ConnectionKind, Reader, Role, Roster
from memscope.model.principal import Principal
from memscope.work import at_current_epoch

T = TypeVar("T")
Allowed = Callable[[Roster, Reader], bool]
Detail = Mapping[str, str | int | bool | None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a change said of itself: the target's id and labels for the audit row."""

    target: str | None
    detail: Detail = field(default_factory=dict)


def admins(roster: Roster, reader: Reader) -> bool:
    """Administrators."""
    return reader.role is Role.ADMIN


def owners_of(group: str) -> Allowed:
    """Administrators and the owners of a group."""
    return lambda roster, reader: reader.role is Role.ADMIN or group in reader.owns


def carry_out(core: Core, principal: Principal, action: str, allowed: Allowed, write: Callable[[Transaction, Roster], Outcome]) -> Roster:
    """Change the organization in one transaction; returns the roster as it is afterwards.

    Only people in the console change it. Raises Forbidden before anything is looked at, and whatever `write` raises.
    """
    if principal.kind is not ConnectionKind.CONSOLE:
        raise Forbidden("The organization is changed in the console, or with `memscope org apply` on the server's machine.")

    def attempt(roster: Roster) -> Outcome:
        reader = roster.readers[principal.person]
        if not reader.active or not allowed(roster, reader):
            raise Forbidden("Only an administrator, or an owner of the group, can change this.")
        act = Act(action, principal.person, principal.connection, approved_via=ApprovedVia.PERSON)
        with core.storage.begin(core.rosters.reach(principal, roster, Permission.READ), act) as transaction:
            outcome = write(transaction, roster)
            transaction.describe(replace(act, target=outcome.target, detail=outcome.detail))
            return outcome

    outcome = at_current_epoch(core, principal, attempt)
    core.hooks.event(Event(action, principal.organization, core.clock(), principal.person, outcome.target, outcome.detail))
    return core.rosters.current(principal.organization)
