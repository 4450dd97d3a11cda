"""The overview: what needs the person."""

from __future__ import annotations

from flask import Blueprint, render_template

from memscope.approvals.tickets import pending
from memscope.memories.browse import ListMemories, list_memories
from memscope.memories.review import review_queue
from memscope.model.organization import GroupKind
from memscope_admin.navigation import signed_in
from memscope_admin.sessions import core, principal, visitor

pages = Blueprint("dashboard", __name__)
pages.before_request(signed_in)


@pages.get("/")
def show() -> str:
    """Tiles, the newest memories, and for administrators what the set-up left open."""
    here = visitor()
    queue = review_queue(core(), principal(), 1)
    tickets = pending(core(), here.principal.organization, here.person.id)
    newest = list_memories(core(), principal(), ListMemories(limit=5)).memories
    unmapped = [topic for topic in here.roster.topics.values() if not topic.teams] if here.admin else []
    unwell = [info for info in core().hooks.report if info.state == "failed"] if here.admin else []
    teams = any(group.kind is GroupKind.TEAM for group in here.roster.groups.values())
    return render_template(
        "dashboard.html",
        waiting=queue.total,
        oldest=queue.items[0].opened_at if queue.items else None,
        tickets=len(tickets),
        newest=newest,
        unmapped=sorted(topic.name for topic in unmapped),
        unwell=unwell,
        alone=here.admin and len(here.roster.people) == 1,
        teamless=here.admin and not teams,
    )
