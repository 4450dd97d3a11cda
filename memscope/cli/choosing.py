"""What names on the command line mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memscope.cli.context import CommandError

if TYPE_CHECKING:
    from memscope.core import Core
    from memscope.model.organization import Organization, Person, Roster


def organizations(core: Core, slug: str | None) -> list[Organization]:
    """The organization with this slug, or all of them. StartError when there is none."""
    from memscope.organizations.signing_in import choose_organization

    return [choose_organization(core.storage, slug)] if slug is not None else list(core.storage.organizations())


def person(roster: Roster, email: str) -> Person:
    """The person with this e-mail address or id; CommandError when there is none."""
    found = roster.find_person(email)
    if found is None:
        raise CommandError(f"Nobody in {roster.organization.slug} has the address {email}. `memscope org export` lists the people.")
    return found
