"""Importing an organization file in the console: as `memscope org apply`, within what an administrator there may do."""

from __future__ import annotations

from memscope.contracts.identity import Passwords
from memscope.core import Core
from memscope.errors import Forbidden, InvalidArgument
from memscope.model.organization import ConnectionKind, Role
from memscope.model.principal import Principal
from memscope.organizations.apply import Applied, apply
from memscope.organizations.file import FileError, OrganizationFile, parse


def import_file(core: Core, passwords: Passwords, principal: Principal, text: str, *, dry_run: bool) -> Applied:
    """Make the principal's organization as a file says, or with `dry_run` say what would change.

    Forbidden for all but administrators in the console; InvalidArgument names the line of what is wrong, or what a file may not do here:
    be of another organization, give passwords, or lower the administrator's own role.
    """
    roster = core.rosters.current(principal.organization)
    me = roster.people[principal.person]
    if me.role is not Role.ADMIN or not me.active or principal.kind is not ConnectionKind.CONSOLE:
        raise Forbidden("An organization file is imported by an administrator in the console.")
    try:
        file = parse(text)
        _refuse(file, roster.organization.slug, me.email)
        return apply(core, passwords, file, dry_run=dry_run, actor=principal.person)
    except FileError as error:
        raise InvalidArgument("text", str(error)) from None


def _refuse(file: OrganizationFile, slug: str, me: str) -> None:
    if file.organization["slug"] != slug:
        line = file.line("organization", 0, "slug")
        raise FileError(f"Line {line}: this file is of another organization. Its slug must be {slug}; a short name is changed above.")
    for index, entry in enumerate(file.people):
        if "password" in entry:
            line = file.line("people", index, "password")
            raise FileError(f"Line {line}: passwords are not taken here. Leave it out, and send {entry['email']} a link under People.")
        if entry["email"] == me and (entry.values.get("role", Role.ADMIN) is not Role.ADMIN or not entry.values.get("active", True)):
            raise FileError(f"Line {file.line('people', index)}: it would take your own role from you. Let another administrator do that.")
