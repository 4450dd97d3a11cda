"""The unit of work: one transaction with a reach that is current, begun anew whenever the organization changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from memscope.contracts.storage import Revoked, Stale, Transaction, UnknownAudience
from memscope.core import Core
from memscope.errors import Forbidden, Unavailable
from memscope.model.audience import Permission, Reach
from memscope.model.organization import Roster
from memscope.model.principal import Principal

T = TypeVar("T")
ATTEMPTS = 12
"""How often a transaction begins anew because the organization changed meanwhile."""


def at_current_epoch(core: Core, principal: Principal, attempt: Callable[[Roster], T]) -> T:
    """Run an attempt with the roster as last seen, and anew with the current one whenever storage says it has changed.

    An attempt is one transaction and leaves nothing behind when it fails.
    """
    organization = principal.organization
    roster = core.rosters.known(organization)
    for _ in range(ATTEMPTS):
        try:
            return attempt(roster)
        except Stale:
            pass
        except UnknownAudience as unknown:
            core.storage.intern(organization, unknown.audience)
        except Revoked:
            raise Forbidden("This connection was revoked, or its person disabled, while the call ran. Nothing was saved.") from None
        roster = core.rosters.current(organization)
    raise Unavailable("The organization is being changed too fast. Nothing was saved; try again in a moment.")


def read(core: Core, principal: Principal, use: Callable[[Transaction, Roster, Reach], T], permission: Permission = Permission.READ) -> T:
    """One reading transaction within the principal's reach."""

    def attempt(roster: Roster) -> T:
        reach = core.rosters.reach(principal, roster, permission)
        with core.storage.begin(reach) as transaction:
            return use(transaction, roster, reach)

    return at_current_epoch(core, principal, attempt)
