"""The menu: what somebody of a role finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flask import abort, current_app, request, url_for
from flask_login import current_user
from werkzeug.wrappers import Response

from memscope_admin.errors import to_sign_in
from memscope_admin.sessions import Visitor, visitor


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


def _everybody(_: Visitor) -> bool:
    return True


def _admins(one: Visitor) -> bool:
    return one.admin


def _owners(one: Visitor) -> bool:
    return one.admin or one.owner


ENTRIES = (
    Entry("dashboard.show", "Overview", "d", _everybody),
    Entry("review.queue", "Review", "r", _everybody),
    Entry("memories.listed", "Memories", "m", _everybody),
    Entry("access.why", "Who can read", "w", _everybody),
    Entry("confirmations.listed", "Approvals", "y", _everybody),
    Entry("topics.listed", "Topics", "t", _admins),
    Entry("people.listed", "People", "p", _admins),
    Entry("groups.listed", "Teams and projects", "e", _owners),
    Entry("connections.listed", "Connections", "c", _everybody),
    Entry("audit.listed", "Audit log", "a", _admins),
    Entry("plugins.listed", "Plugins", "u", _admins),
    Entry("settings.edit", "Settings", "s", _admins),
    Entry("me.show", "You", "i", _everybody),
)


def menu(one: Visitor) -> list[Link]:
    """The lines for somebody."""
    here = (request.endpoint or "").partition(".")[0]
    return [
        Link(url_for(entry.endpoint), entry.title, entry.key, entry.endpoint.partition(".")[0] == here)
        for entry in ENTRIES
        if entry.endpoint in current_app.view_functions and entry.shown(one)
    ]


def signed_in() -> Response | None:
    """A `before_request` of pages for everybody who is signed in."""
    return None if current_user.is_authenticated else to_sign_in()


def admins_only() -> Response | None:
    """A `before_request` of pages for administrators: to others they do not exist."""
    found = signed_in()
    if found is None and not visitor().admin:
        abort(404)
    return found


def owners_only() -> Response | None:
    """A `before_request` of pages for administrators and owners of a group."""
    found = signed_in()
    if found is None and not (visitor().admin or visitor().owner):
        abort(404)
    return found
