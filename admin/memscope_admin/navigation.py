"""The menu: what somebody of a role finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from flask import abort, current_app, request, url_for
from flask_login import current_user
from werkzeug.wrappers import Response

from memscope_admin.errors import to_sign_in
from memscope_admin.sessions import Visitor, note, visitor


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the menu."""

    endpoint: str
    title: str
    key: str
    """Pressed after `g`."""
    shown: Callable[[Visitor], bool]


@dataclass(frozen=True, slots=True)
class Link:
    """A line of the menu for somebody."""

    url: str
    title: str
    key: str
    here: bool


def everybody(_: Visitor) -> bool:
    """Whoever is signed in."""
    return True


def admins(one: Visitor) -> bool:
    """Administrators."""
    return one.admin


def owners(one: Visitor) -> bool:
    """Administrators and owners of a group."""
    return one.admin or one.owner


ENTRIES = (
    Entry("dashboard.show", "Overview", "d", everybody),
    Entry("review.queue", "Review", "r", everybody),
    Entry("memories.listed", "Memories", "m", everybody),
    Entry("access.why", "Who can read", "w", everybody),
    Entry("confirmations.listed", "Approvals", "y", everybody),
    Entry("topics.listed", "Topics", "t", admins),
    Entry("people.listed", "People", "p", admins),
    Entry("groups.listed", "Teams and projects", "e", owners),
    Entry("connections.listed", "Connections", "c", everybody),
    Entry("audit.listed", "Audit log", "a", admins),
    Entry("plugins.listed", "Plugins", "u", admins),
    Entry("insights.show", "Insights", "n", admins),
    Entry("settings.edit", "Settings", "s", admins),
    Entry("me.show", "You", "i", everybody),
)

OWN = frozenset({"security", "mine", "trash", "activity"})
"""Blueprints whose pages stand under You."""
EXTRA = "memscope_pages"
"""Where the application keeps the entries of pages that plugins add."""


def menu(one: Visitor) -> list[Link]:
    """The lines for somebody."""
    here = (request.endpoint or "").partition(".")[0]
    here = "me" if here in OWN else here
    return [
        Link(url_for(entry.endpoint), entry.title, entry.key, entry.endpoint.partition(".")[0] == here)
        for entry in (*ENTRIES, *current_app.extensions.get(EXTRA, ()))
        if entry.endpoint in current_app.view_functions and entry.shown(one)
    ]


def signed_in() -> Response | None:
    """A `before_request` of pages for everybody who is signed in."""
    return None if current_user.is_authenticated else to_sign_in()


def admins_only() -> Response | None:
    """A `before_request` of pages for administrators: to others they do not exist."""
    found = signed_in()
    if found is None and not visitor().admin:
        _refuse()
    return found


def owners_only() -> Response | None:
    """A `before_request` of pages for administrators and owners of a group."""
    found = signed_in()
    if found is None and not (visitor().admin or visitor().owner):
        _refuse()
    return found


def _refuse() -> NoReturn:
    """Somebody asks for a page that is not for them: it does not exist, and the audit log says that they tried."""
    here = visitor()
    note(here.principal.organization, "refused", here.person.id, page=request.endpoint, method=request.method, address=request.remote_addr)
    abort(404)
