"""The overview: what needs the person, whether all is well, what happened."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from flask import Blueprint, render_template, request, url_for

from memscope.approvals.tickets import pending
from memscope.memories.audit_log import AuditFilter, audit_page
from memscope.memories.browse import ListMemories, list_memories
from memscope.memories.overview import gaps, unused, use_by_day, waiting
from memscope.model.organization import GroupKind
from memscope.organizations.client_lines import CLIENTS, PLACEHOLDER, lines
from memscope.organizations.plugins import unwell
from memscope_admin.charts import Chart, Series
from memscope_admin.navigation import signed_in
from memscope_admin.sessions import core, principal, visitor
from memscope_admin.texts import listing, several

pages = Blueprint("dashboard", __name__)
pages.before_request(signed_in)
log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tile:
    """A number that leads to its page; `number` None: it could not be counted."""

    name: str
    url: str
    number: int | None
    text: str
    hint: str = ""
    since: object = None
    unwell: bool = False
    more: str = ""
    """What part of the number is, with a page of its own."""
    more_url: str = ""


@pages.get("/")
def show() -> str:
    """Tiles; for administrators also the use of memory, what was done last, and what the set-up left open."""
    here = visitor()
    newest = _alone(lambda: list_memories(core(), principal(), ListMemories(limit=5)).memories)
    client = request.args.get("client", "claude-code")
    client = client if client in CLIENTS else "generic"
    address = core().settings.server.public_url or request.host_url.rstrip("/")
    return render_template(
        "dashboard.html",
        tiles=[tile for tile in _tiles() if tile is not None],
        newest=newest,
        todo=_todo() if here.admin else [],
        used=_alone(_use) if here.admin else None,
        acts=_alone(lambda: audit_page(core(), principal(), AuditFilter(), limit=10).entries) if here.admin else None,
        names={person.id: person.name for person in here.roster.people.values()} if here.admin else {},
        clients=CLIENTS,
        client=client,
        lines="\n".join(lines(client, address, PLACEHOLDER)) if newest is not None and not newest else "",
    )


def _alone(count: Callable[[], T]) -> T | None:
    """What a part of the page shows; None when it fails, which takes no other part with it."""
    try:
        return count()
    except Exception as error:
        log.error("a part of the overview failed: %s", type(error).__name__, exc_info=error)
        return None


def _tiles() -> list[Tile]:
    made = [
        _tile("review", url_for("review.queue"), "reviews", _reviews),
        _tile("approvals", url_for("confirmations.listed"), "approvals", _approvals),
    ]
    if not visitor().admin:
        return [
            *made,
            _tile(
                "unused", url_for("connections.listed", stale="yes"), "your unused connections", lambda name, url: _unused(name, url, False)
            ),
        ]
    return [
        *made,
        _tile("gaps", url_for("topics.listed"), "set-up gaps", _gaps),
        _tile("plugins", url_for("plugins.listed"), "plugins", _plugins),
        _tile(
            "unused",
            url_for("connections.listed", stale="yes", all="yes"),
            "unused connections",
            lambda name, url: _unused(name, url, True),
        ),
    ]


def _tile(name: str, url: str, what: str, count: Callable[[str, str], Tile]) -> Tile:
    return _alone(lambda: count(name, url)) or Tile(name, url, None, f"{what} could not be counted; try again in a moment", unwell=True)


def _reviews(name: str, url: str) -> Tile:
    found = waiting(core(), principal())
    return Tile(
        name,
        url,
        found.total,
        f"{'memory waits' if found.total == 1 else 'memories wait'} for your review",
        since=found.oldest,
        more=f"{found.mine} saved by you" if found.mine else "",
        more_url=url_for("review.queue", mine="yes"),
    )


def _approvals(name: str, url: str) -> Tile:
    count = len(pending(core(), principal().organization, principal().person))
    return Tile(name, url, count, f"{'agent asks' if count == 1 else 'agents ask'} for your approval")


def _gaps(name: str, url: str) -> Tile:
    found = gaps(core(), principal())
    return Tile(
        name,
        url,
        len(found),
        f"sensitive {'topic that no team guards' if len(found) == 1 else 'topics that no team guards'}",
        listing(found),
    )


def _plugins(name: str, url: str) -> Tile:
    found = unwell(core())
    hint = "; ".join(f"{plugin}: {trouble}" for plugin, trouble in found[:3])
    return Tile(name, url, len(found), f"{'plugin is' if len(found) == 1 else 'plugins are'} unwell", hint, unwell=bool(found))


def _unused(name: str, url: str, everybody: bool) -> Tile:
    count = unused(core(), principal(), everybody=everybody)
    whose = "connection" if everybody else "connection of yours"
    return Tile(
        name, url, count, f"{several(count, whose, whose.replace('connection', 'connections')).partition(' ')[2]} unused for 30 days"
    )


def _use() -> Chart:
    found = use_by_day(core(), principal())
    saved, recalled = sum(found.saved), sum(found.recalled)
    return Chart(
        "use",
        "Saved and recalled",
        "By day, in the last 30 days.",
        [day.isoformat() for day in found.days],
        [Series("saved", found.saved), Series("recalled", found.recalled)],
        kind="line",
        figure=f"{saved:,} saved, {recalled:,} recalled",
        total=saved + recalled,
    )


def _todo() -> list[tuple[str, str, str]]:
    """(address, what to do, why) of what the set-up left open."""
    here = visitor()
    found = []
    if len(here.roster.people) == 1:
        found.append((url_for("setup.people"), "Add people", "you are alone here"))
    elif not any(group.kind is GroupKind.TEAM for group in here.roster.groups.values()):
        found.append((url_for("setup.people"), "Add teams", "memories can then be for a team"))
    unmapped = _alone(lambda: gaps(core(), principal()))
    if unmapped:
        found.append((url_for("setup.topics"), f"Map {listing(unmapped)} to a guard team", "until then texts on them are held"))
    if core().usage.first_day(principal().organization) is None:
        found.append((url_for("setup.connect"), "Connect an agent", "none has called yet"))
    return found
