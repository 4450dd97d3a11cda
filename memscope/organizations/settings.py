"""The organization's own settings, changed in the console."""

from __future__ import annotations

from dataclasses import replace

from memscope.contracts.storage import Operator, Transaction
from memscope.core import Core
from memscope.errors import Conflict, InvalidArgument
from memscope.model.audit import Act
from memscope.model.organization import Organization, Roster
from memscope.model.principal import Principal
from memscope.organizations.changes import Outcome, admins, carry_out


def change_organization(core: Core, principal: Principal, expected: Organization, after: Organization) -> Organization:
    """Change the organization, as long as it is still as `expected`. `after` holds checked values.

    Conflict when somebody else was faster, or another organization of the server has the slug; InvalidArgument for a value that the
    server's settings fix to another.
    """
    for key, value in core.settings.organization.values().items():
        if getattr(after, key) != value:
            raise InvalidArgument(key, f"{key} is fixed by {core.settings.fixed_by('organization', key)}.")
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


def keep_fixed(core: Core) -> None:
    """Give every organization the values that the server's settings fix, where it has others."""
    values = core.settings.organization.values()
    if not values:
        return
    for known in core.storage.organizations():
        after = replace(known, **values)
        if after != known:
            act = Act("organization.change", target=known.id, detail={"fixed_by_settings": ",".join(values)})
            with core.storage.begin(Operator("settings", known.id), act) as transaction:
                transaction.write_organization(after)
