"""The organization's own settings, changed in the console."""

from __future__ import annotations

from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.errors import Conflict
from memscope.model.organization import Organization, Roster
from memscope.model.principal import Principal
from memscope.organizations.changes import Outcome, admins, carry_out


def change_organization(core: Core, principal: Principal, expected: Organization, after: Organization) -> Organization:
    """Change the organization, as long as it is still as `expected`. `after` holds checked values.

    Conflict when somebody else was faster, or another organization of the server has the slug.
    """
    if after.slug != expected.slug and any(other.slug == after.slug for other in core.storage.organizations()):
        raise Conflict(f"There is another organization {after.slug} on this server; choose another short name.")

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        if roster.organization != expected:
            raise Conflict("Somebody else changed the settings meanwhile. Look at them again.")
        transaction.write_organization(after)
        return Outcome(
            after.id,
            {
                "slug": after.slug,
                "timezone": after.timezone,
                "trash_days": after.trash_days,
                "default_scope": after.default_scope.value,
                "default_sensitivity": after.default_sensitivity.label,
                "confirmation": after.confirmation.value,
                "secrets": after.secrets.value,
            },
        )

    carry_out(core, principal, "organization.change", admins, write)
    return after
