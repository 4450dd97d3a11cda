"""The review queue: one memory at a time, its evidence in sight, each button with its consequence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.approvals.consent import Consent
from memscope.errors import Conflict, Forbidden, InvalidArgument, MemScopeError, NotFound
from memscope.memories.consequence import Consequence, preview
from memscope.memories.item import Item, open_item
from memscope.memories.review import Queue, ReviewMemory, review_memory, review_queue
from memscope.memories.undo import kept, undo_review
from memscope.model.audience import Permission, Scope, Sensitivity
from memscope_admin.navigation import signed_in
from memscope_admin.places import Choice, choices, resolved
from memscope_admin.sessions import RECORDS, core, principal, visitor
from memscope_admin.texts import several

pages = Blueprint("review", __name__, url_prefix="/review")
pages.before_request(signed_in)
SHOWN = 100
KINDS = {
    "instructions": "Reads like orders to an AI",
    "audience": "Is this for these readers?",
    "setup_gap": "No team guards its topic yet",
    "fyi": "Saved as asked; the judgement was unsure",
}
LAST = 10
ASK_ABOVE = 20
UNDO_WITHIN = timedelta(minutes=15)
DONE = {"approve": "Approved", "reroute": "Rerouted", "tighten": "Tightened"}


@dataclass(frozen=True, slots=True)
class Button:
    """A decision and what it would do; why it cannot be taken, if it cannot."""

    consequence: Consequence | None
    refused: str | None = None


@pages.get("")
def queue() -> str | tuple[str, int]:
    """The queue and one item of it: the one that `memory` names, else the oldest."""
    waiting = review_queue(core(), principal(), SHOWN)
    kind = request.args.get("kind", "")
    items = tuple(item for item in waiting.items if kind in ("", item.review_kind))
    chosen = request.args.get("memory") or (str(items[0].memory.number) if items else None)
    if chosen is None:
        return render_template("review/queue.html", queue=waiting, items=items, item=None, kinds=KINDS, kind=kind, **_strip())
    return _page(waiting, chosen)


@pages.get("/bulk")
def several_at_once() -> str | tuple[str, int]:
    """What approving several of one kind would do, each with who gains."""
    items = [_reviewable(memory) for memory in dict.fromkeys(request.args.getlist("memory"))]
    return _bulk_page(items)


@pages.post("/bulk")
def approve_several() -> Response | str | tuple[str, int]:
    """Approve several of one kind: each as it was shown, those changed meanwhile left as they are."""
    wanted = dict(pair.partition(":")[::2] for pair in request.form.getlist("memory"))
    items = [_reviewable(memory) for memory in wanted]
    if problem := _bulk_problem(items):
        return _bulk_page(items, problem)
    if len(items) > ASK_ABOVE and request.form.get("count", "").strip() != str(len(items)):
        return _bulk_page(items, f"Type {len(items)}, the number of memories, to approve so many at once.")
    done, changed = 0, 0
    for memory, version in wanted.items():
        try:
            review_memory(core(), principal(), ReviewMemory(memory, "approve", expected_version=int(version or 0)), Consent())
            done += 1
        except Conflict:
            changed += 1
    left = f" {several(changed, 'was', 'were')} changed meanwhile and left as {'it is' if changed == 1 else 'they are'}." if changed else ""
    flash(f"Approved: {several(done, 'memory', 'memories')}.{left}")
    return redirect(url_for("review.queue", kind=request.args.get("kind") or None))


def _bulk_problem(items: list[Item]) -> str | None:
    kinds = {item.memory.review_kind for item in items}
    if not items:
        return "Tick the memories first."
    if len(kinds) > 1:
        return "Only memories that wait for the same reason are approved at once."
    if "instructions" in kinds:
        return "What reads like orders to an AI is looked at one by one."
    return None


def _bulk_page(items: list[Item], problem: str | None = None) -> str | tuple[str, int]:
    problem = problem or _bulk_problem(items)
    shown = [(item, _button(item, "approve")) for item in items]
    page = render_template("review/bulk.html", shown=shown, problem=problem, ask=len(items) > ASK_ABOVE, kinds=KINDS)
    return (page, 422) if problem else page


@pages.post("/<memory>")
def decide(memory: str) -> Response | str | tuple[str, int]:
    """Approve, reroute or tighten, and go on to the next."""
    action = request.form.get("action", "")
    if action not in DONE:
        abort(422)
    item = _reviewable(memory)
    try:
        wanted = _wanted(item, action)
        if item.memory.review_kind == "instructions" and action != "tighten" and not request.form.get("sure"):
            shown = preview(principal(), lambda consent: review_memory(core(), principal(), wanted, consent))
            return render_template("review/sure.html", item=item, action=action, consequence=shown, form=request.form)
        shown = preview(principal(), lambda consent: review_memory(core(), principal(), wanted, consent))
        done = review_memory(core(), principal(), wanted, Consent())
    except (InvalidArgument, Forbidden) as error:
        return _page(review_queue(core(), principal(), SHOWN), memory, error=error.message), 422
    except Conflict as error:
        flash(f"Somebody was faster, or the memory changed: {error.message}")
        return redirect(url_for("review.queue"))
    readers = done.readers.after
    flash(f"{DONE[action]}: memory {item.memory.number}, {readers} {'reader' if readers == 1 else 'readers'} now.")
    _remember(item.memory.number, DONE[action], kept(shown.before, shown.after) if _still_mine(memory) else None)
    return redirect(url_for("review.queue", kind=request.args.get("kind") or None))


@pages.post("/undo")
def undo() -> Response:
    """Take the last decision back."""
    here = principal()
    last = _decided()
    if not last or not _undoable(last[0]):
        flash("There is nothing to take back.")
        return redirect(url_for("review.queue"))
    number = last[0]["memory"]
    try:
        undo_review(core(), here, str(number), last[0]["before"])
    except Conflict:
        flash(f"Memory {number} was changed since: it stays as it is.")
    except (NotFound, Forbidden):
        flash(f"You may no longer change memory {number}: it stays as it is.")
    else:
        core().storage.records(RECORDS).put(here.organization, _key(), {"decided": last[1:]})
        flash(f"Taken back: memory {number} waits again.")
        return redirect(url_for("review.queue", memory=number))
    return redirect(url_for("review.queue"))


def _still_mine(memory: str) -> bool:
    """Whether the decision left the person a right to move the memory: who no longer reads it cannot take anything back."""
    try:
        return Permission.MOVE in open_item(core(), principal(), memory).may
    except NotFound:
        return False


def _remember(number: int, done: str, before: dict[str, Any] | None) -> None:
    """Keep one's last ten decisions, so that the last can be taken back."""
    decision = {"memory": number, "done": done, "at": core().clock().isoformat(), "before": before}
    records = core().storage.records(RECORDS)
    records.change(principal().organization, _key(), lambda known: {"decided": [decision, *(known or {"decided": []})["decided"]][:LAST]})


def _decided() -> list[dict[str, Any]]:
    record = core().storage.records(RECORDS).get(principal().organization, _key())
    return list(record["decided"]) if record else []


def _undoable(decision: dict[str, Any]) -> bool:
    return decision["before"] is not None and core().clock() - datetime.fromisoformat(decision["at"]) < UNDO_WITHIN


def _key() -> str:
    return f"decided/{principal().person}"


def _page(waiting: Queue, memory: str, error: str | None = None) -> str:
    item = _reviewable(memory)
    places = choices(item.reroutes_to, visitor().roster)
    kind = request.args.get("kind", "")
    suggested = _suggested(item, places)
    place = request.values.get("place") or suggested or ""
    higher = [one.label for one in Sensitivity if one > Sensitivity.parse(item.memory.sensitivity)]
    level = request.values.get("level", "")
    buttons = {
        "approve": _button(item, "approve"),
        "reroute": _button(item, "reroute", place) if place else Button(None),
        "tighten": _button(item, "tighten"),
        "raise": _button(item, "tighten", level=level) if level in higher else Button(None),
    }
    items = tuple(one for one in waiting.items if kind in ("", one.review_kind))
    numbers = [one.memory.number for one in items]
    at = numbers.index(item.memory.number) if item.memory.number in numbers else -1
    after = numbers[at + 1] if 0 <= at < len(numbers) - 1 else None
    before = numbers[at - 1] if at > 0 else None
    return render_template(
        "review/queue.html",
        queue=waiting,
        items=items,
        item=item,
        kinds=KINDS,
        kind=kind,
        places=places,
        place=place,
        suggested=suggested,
        higher=higher,
        raised=level,
        buttons=buttons,
        after=after,
        before=before,
        error=error,
        **_strip(),
    )


def _strip() -> dict[str, Any]:
    decided = _decided()
    return {"decided": decided, "undoable": bool(decided) and _undoable(decided[0])}


def _reviewable(memory: str) -> Item:
    item = open_item(core(), principal(), memory)
    if Permission.REVIEW not in item.may or not item.reviews:
        raise NotFound
    return item


def _wanted(item: Item, action: str) -> ReviewMemory:
    """The decision that a form asks for; InvalidArgument."""
    given = request.form
    version = given.get("version", type=int)
    level = given.get("sensitivity", "") if action == "tighten" else ""
    if level and level not in [one.label for one in Sensitivity]:
        raise InvalidArgument("sensitivity", "Choose a level from the list.")
    return replace(
        _decision(item, action, given.get("place", "") if action == "reroute" else None, level or None),
        expected_version=item.memory.version if version is None else version,
        reason=given.get("reason") or None,
    )


def _button(item: Item, action: str, place: str | None = None, level: str | None = None) -> Button:
    try:
        wanted = _decision(item, action, place, level)
        return Button(preview(principal(), lambda consent: review_memory(core(), principal(), wanted, consent)))
    except MemScopeError as error:
        return Button(None, error.message)


def _decision(item: Item, action: str, place: str | None, level: str | None) -> ReviewMemory:
    scope, team, project = resolved(place) if place is not None else (None, None, None)
    sensitivity = Sensitivity.parse(level) if level is not None else None
    return ReviewMemory(str(item.memory.number), action, scope, team, project, sensitivity, expected_version=item.memory.version)


def _suggested(item: Item, places: list[Choice]) -> str | None:
    if item.suggested is None or item.suggested.scope in (None, Scope.PERSONAL.value):
        return None
    slug = item.suggested.team or item.suggested.project
    value = f"{item.suggested.scope}:{slug}" if slug else item.suggested.scope
    return value if any(choice.value == value for choice in places) else None
