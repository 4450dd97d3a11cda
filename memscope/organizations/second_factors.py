"""Second factors of others: taken away by an administrator when somebody lost theirs."""

from __future__ import annotations

from memscope.contracts.identity import SecondFactors
from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.errors import Conflict, InvalidArgument, NotFound
from memscope.guarding.examine import Setting, doubtful
from memscope.model.audience import Scope
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.organizations.changes import Outcome, admins, carry_out

REASON_MAX = 200


def remove_second_factor(core: Core, keeper: SecondFactors, principal: Principal, person_id: str, reason: str) -> None:
    """Take all second factors of somebody else away, with a reason for the audit log.

    InvalidArgument without a reason; Conflict for one's own, which one takes away oneself, and where there is none.
    """
    reason = " ".join(reason.split())
    if not 0 < len(reason) <= REASON_MAX:
        raise InvalidArgument("reason", f"Say why, in at most {REASON_MAX} characters.")

    roster = core.rosters.current(principal.organization)
    if doubtful(core, roster, reason, Setting.of(principal, roster, Scope.ORGANIZATION, None, None)):
        raise InvalidArgument("reason", "Say it without a password or key, and not as an instruction: the person is shown it.")

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        if person_id not in roster.people:
            raise NotFound
        if person_id == principal.person:
            raise Conflict("You change your own second factor under You, Security.")
        if not keeper.factors(principal.organization, person_id).any:
            raise Conflict("There is no second factor to take away.")
        return Outcome(person_id, {"reason": reason})

    # The audit row first: no factor goes without one.
    carry_out(core, principal, "person.remove_second_factor", admins, write)
    keeper.drop_factors(principal.organization, person_id)
