"""The review queue: one memory at a time, its evidence in sight, each button with its consequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

from flask import Blueprint, Response, abort, flash, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as Answer

from memscope.approvals.consent import Consent
from memscope.errors import Conflict, Forbidden, InvalidArgument, MemScopeError, NotFound, RateLimited, Unavailable
from memscope.memories.consequence import Consequence, People, preview
from memscope.memories.decided import Settled, last_change, similar_decisions
from memscope.memories.dismiss import judged_harmless, not_sensitive, teach, unteach
from memscope.memories.gaps import gaps, waiting_for
from memscope.memories.item import Item, open_item
from memscope.memories.review import Queue, QueueItem, ReviewMemory, review_memory, review_queue
from memscope.memories.review_pages import Neighbour, Page, Wanted, review_page
from memscope.memories.together import gaining_any
from memscope.memories.undo import kept, undo_review
from memscope.memories.view import MemoryAnswer
from memscope.model.audience import Permission, Scope, Sensitivity
from memscope.model.organization import GroupKind, Topic
from memscope.upkeep.gap_closing import close_gap
from memscope_admin import decisions, evidence, partial, texts
from memscope_admin.navigation import admins_only, signed_in
from memscope_admin.places import Choice, choices, resolved
from memscope_admin.sessions import core, principal, visitor

pages = Blueprint("review", __name__, url_prefix="/review")
pages.before_request(signed_in)
KINDS = {
    "instructions": ("⚠", "Reads like orders to an AI"),
    "audience": ("◉", "Is this for these readers?"),
    "setup_gap": ("◌", "No team guards its topic yet"),
    "fyi": ("≈", "Saved as asked; the judgement was unsure"),
}
SORTS = {"age": "longest waiting", "demand": "most recalled"}
ASK_ABOVE = 20
ACTIONS = ("approve", "reroute", "tighten", "not_sensitive")
BULK = {"approve": ("Approve", "Approved"), "tighten": ("Tighten", "Tightened")}
_DONE = {
    "review.approve": "approved",
    "review.reroute": "rerouted",
    "review.tighten": "tightened",
    "memory.change_scope": "moved",
    "memory.change_sensitivity": "changed its level",
    "memory.forget": "forgot it",
}


@dataclass(frozen=True, slots=True)
class Button:
    """A decision and what it would do; why it cannot be taken, if it cannot."""

    consequence: Consequence | None
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """The queue as the person chose to see it, one page of it."""

    page: Page
    kind: str
    mine: bool
    sort: str
    cursor: str | None

    @property
    def queue(self) -> Queue:
        """What is on the page, and how much waits in all."""
        return self.page.queue

    @property
    def items(self) -> Sequence[QueueItem]:
        """What is on the page."""
        return self.queue.items

    @property
    def met(self) -> Mapping[str, int]:
        """Memory id -> how often recalls returned it."""
        return self.page.met

    @property
    def numbers(self) -> list[int]:
        """The numbers of the memories in order."""
        return [item.memory.number for item in self.items]

    @property
    def chosen(self) -> dict[str, Any]:
        """Filters and order, as addresses say them."""
        return {"kind": self.kind or None, "mine": "yes" if self.mine else None, "sort": self.sort if self.sort != "age" else None}

    @property
    def kept(self) -> dict[str, Any]:
        """What addresses of the queue repeat."""
        # Where nothing comes before the page any more it is the first.
        return {**self.chosen, "cursor": self.cursor if self.page.before else None}

    def beside(self, number: int, step: int) -> dict[str, Any] | None:
        """The address of the memory before (-1) or after (1) one of the page, round and round; None where there is no other."""
        if number not in self.numbers:
            return None
        at = self.numbers.index(number) + step
        if 0 <= at < len(self.numbers):
            return {**self.kept, "memory": self.numbers[at]}
        other = self.page.after if step > 0 else self.page.before
        if other is not None:
            return {**self.chosen, "cursor": other.cursor, "memory": other.number}
        if self.page.before is None and self.page.after is None:
            return {**self.kept, "memory": self.numbers[at % len(self.numbers)]} if len(self.numbers) > 1 else None
        return self.chosen if step > 0 else None


# What is shown


@pages.get("")
def queue() -> Answer | str:
    """The queue and one item of it: the one that `memory` names, else the first."""
    chosen = request.args.get("memory")
    try:
        return _page(_listed(), chosen)
    except NotFound:
        if chosen is None:
            raise
        # Readable, but nothing waits any more: say so. Else it is not there.
        item = open_item(core(), principal(), chosen)
        flash(f"Memory {item.memory.number} waits no more. {_who_was_faster(item.memory.id)}".strip())
        return _go_on(_listed(), None)


@pages.get("/<memory>/similar")
def similar(memory: str) -> str | Response:
    """What was decided about memories like it."""
    try:
        item = _reviewable(memory)
    except NotFound:
        if partial.asked():
            # Decided before this was fetched: its place on the page is gone, and nothing is to be put anywhere.
            return Response(status=204)
        raise
    found = similar_decisions(core(), principal(), memory)
    shown = [(one, _of(one.decided) if one.decided else None) for one in found]
    template = "review/similar_list.html" if partial.asked() else "review/similar.html"
    return render_template(template, item=item, found=shown, readable=core().embedding.ready, part=partial.asked())


def _listed() -> Listed:
    kind, sort, mine = request.args.get("kind", ""), request.args.get("sort", "age"), request.args.get("mine") == "yes"
    kind, sort = kind if kind in KINDS else "", sort if sort in SORTS else "age"
    cursor = request.args.get("cursor") or None
    wanted = Wanted(kind or None, mine, sort == "demand")
    try:
        page = review_page(core(), principal(), wanted, cursor)
    except InvalidArgument:
        # A cursor of another list, or of somebody else's: from the start.
        page = review_page(core(), principal(), wanted)
    return Listed(page, kind, mine, sort, cursor)


def _page(listed: Listed, memory: str | None, error: str | None = None, field: str | None = None) -> str:
    """The queue with a memory of it (a number or id; None: the first), as a page or as the part that htmx asked for."""
    shared: dict[str, Any] = {
        "queue": listed.queue,
        "listed": listed,
        "kinds": KINDS,
        "sorts": SORTS,
        "decided": decisions.decided(),
        "cleared": decisions.last_cleared(),
        "part": partial.asked(),
    }
    template = "review/part.html" if partial.asked() else "review/queue.html"
    if memory is None:
        if not listed.items:
            return render_template(template, item=None, **shared)
        memory = str(listed.numbers[0])
    item = _reviewable(memory)
    roster = visitor().roster
    suggested, places = _suggested(item, choices(item.reroutes_to, roster))
    asked_place = request.values.get("place")
    place = suggested or "" if asked_place is None else asked_place
    higher = [one.label for one in Sensitivity if one > Sensitivity.parse(item.memory.sensitivity)]
    level = request.values.get("level", "")
    buttons = {
        "approve": _button(item, "approve"),
        "reroute": _button(item, "reroute", place) if place else Button(None),
        "tighten": _button(item, "tighten"),
        "raise": _button(item, "tighten", level=level) if level in higher else Button(None),
    }
    stored = next((button.consequence.before for button in buttons.values() if button.consequence), None)
    if stored is not None and judged_harmless(stored, roster):
        buttons["not_sensitive"] = _button(item, "not_sensitive")
    found = evidence.pieces(item, roster)
    corrected = len(item.versions) > 1 and item.versions[0].content != item.versions[1].content
    return render_template(
        template,
        item=item,
        evidence=found,
        text=evidence.marked(item, found),
        changes=texts.compared(item.versions[1].content or "", item.versions[0].content or "") if corrected else None,
        correction=item.versions[0] if corrected else None,
        places=places,
        place=place,
        place_title=next((choice.title for choice in places if choice.value == place), None),
        suggested=suggested,
        higher=higher,
        raised=level,
        buttons=buttons,
        to_map=gaps(stored, roster) if stored is not None and visitor().admin else (),
        after=listed.beside(item.memory.number, 1),
        before=listed.beside(item.memory.number, -1),
        seen=decisions.seen(item.memory.number, item.memory.id),
        error=error,
        field=field,
        # Looking at another consequence moves no focus; another memory does.
        focus=partial.asked() and asked_place is None and not level and error is None,
        **shared,
    )


# Deciding


@pages.post("/<memory>")
def decide(memory: str) -> Answer | str | tuple[str, int]:
    """Approve, reroute, tighten or say that it is not sensitive, and go on to the next."""
    action = request.form.get("action", "")
    if action not in ACTIONS:
        abort(422)
    listed = _listed()
    try:
        item = _reviewable(memory)
    except NotFound:
        return _too_late(listed, memory)
    try:
        use = _use(item, action)
        shown = preview(principal(), use)
        if _ask_again(item, action, shown):
            return _ask(item, action, shown)
        done = use(Consent())
    except Conflict as error:
        flash(f"{_who_was_faster(item.memory.id)} {error.message}".strip())
        return _go_on(listed, item.memory.number)
    except (RateLimited, Unavailable):
        raise
    except MemScopeError as error:
        return _refused(listed, memory, error, action)
    after: MemoryAnswer = done if isinstance(done, MemoryAnswer) else done.memory
    told = _told(action, after, shown.readers)
    if action == "not_sensitive" and (taught := teach(core(), principal(), shown.before, shown.after)):
        told += f"; kept as a counterexample for {texts.listing(taught)}"
    decision = decisions.remember(after.number, after.id, told, kept(shown.before, shown.after) if _still_mine(memory) else None)
    _offer_undo(f"{told}.", decision)
    return _go_on(listed, _next(listed, after.number))


def _ask_again(item: Item, action: str, shown: Consequence) -> bool:
    """Whether a decision takes a second press: letting orders to an AI through, or a place whose readers were not shown."""
    if action not in ("approve", "reroute") or request.form.get("sure"):
        return False
    return item.memory.review_kind == "instructions" or (action == "reroute" and request.form.get("place") != request.form.get("shown"))


def _ask(item: Item, action: str, shown: Consequence) -> Answer | str:
    given = {name: request.form[name] for name in ("action", "version", "place", "reason", "seen") if request.form.get(name)}
    context: dict[str, Any] = {"item": item, "action": action, "consequence": shown, "given": given, "kept": _listed().kept}
    if partial.asked():
        return _in_dialog(render_template("review/ask.html", **context))
    return render_template("review/sure.html", **context)


def _in_dialog(html: str) -> Response:
    answer = make_response(html)
    answer.headers.update({"HX-Retarget": "#ask", "HX-Reswap": "innerHTML"})
    return answer


def _refused(listed: Listed, memory: str, error: MemScopeError, action: str) -> tuple[str, int]:
    """The item again, with what would not do; a place that is not there and one that is not permitted sound alike."""
    if action == "reroute":
        return _page(listed, memory, "Choose a place from the list: there is none of that name to which you may send it.", "place"), 422
    return _page(listed, memory, error.message), 422


def _too_late(listed: Listed, memory: str) -> Answer | str:
    """Somebody decided it meanwhile: say who, to people who had it before them; to others it is not there."""
    memory_id = decisions.was_shown(memory, request.form.get("seen", ""))
    if memory_id is None:
        raise NotFound
    flash(_who_was_faster(memory_id))
    return _go_on(listed, None)


def _go_on(listed: Listed, number: int | None) -> Answer | str:
    """To a memory of the queue, or to its first; the queue is read anew."""
    if partial.asked():
        now = _listed()
        if not now.queue.total:
            decisions.note_cleared()
        chosen = number if number in now.numbers else None
        answer = make_response(_page(now, None if chosen is None else str(chosen)))
        # Whatever part was asked for, another memory takes the whole.
        answer.headers.update({"HX-Retarget": "#review", "HX-Reselect": "#review", "HX-Reswap": "outerHTML"})
        answer.headers["HX-Replace-Url"] = url_for("review.queue", memory=chosen, **now.kept)
        return answer
    if not review_queue(core(), principal(), 1).total:
        decisions.note_cleared()
    return redirect(url_for("review.queue", memory=number, **listed.kept))


def _next(listed: Listed, number: int) -> int | None:
    """What comes after a memory in the order that the person sees: the one below it, else the one above."""
    numbers = listed.numbers
    if number not in numbers:
        return None
    at = numbers.index(number)
    if at + 1 < len(numbers):
        return numbers[at + 1]
    # The next page's first moves up onto this one, once the memory is gone from it.
    following: Neighbour | None = listed.page.after
    if following is not None:
        return following.number
    return numbers[at - 1] if at else None


@pages.get("/bulk")
def several_at_once() -> Answer | str | tuple[str, int]:
    """What deciding several of one kind alike would do."""
    return _bulk_page([_reviewable(memory) for memory in dict.fromkeys(request.args.getlist("memory"))])


@pages.post("/bulk")
def approve_several() -> Answer | str | tuple[str, int]:
    """Approve or tighten several of one kind: each as it was shown, those changed meanwhile left as they are."""
    action = _bulk_action()
    wanted = dict(pair.partition(":")[::2] for pair in request.form.getlist("memory"))
    items, gone = [], 0
    for memory in wanted:
        try:
            items.append(_reviewable(memory))
        except NotFound:
            gone += 1
    if problem := _bulk_problem(items):
        return _bulk_page(items, problem)
    if len(items) > ASK_ABOVE and request.form.get("count", "").strip() != str(len(items)):
        return _bulk_page(items, f"Type {len(items)}, the number of memories, to decide so many at once.")
    listed, done = _listed(), 0
    for item in items:
        number = str(item.memory.number)
        decision = ReviewMemory(number, action, expected_version=int(wanted.get(number) or wanted.get(item.memory.id) or 0))
        use = _reviewing(decision)
        try:
            shown = preview(principal(), use)
            after = review_memory(core(), principal(), decision, Consent()).memory
        except MemScopeError:
            gone += 1
            continue
        done += 1
        before = kept(shown.before, shown.after) if _still_mine(number) else None
        decisions.remember(after.number, after.id, _told(action, after, shown.readers), before)
    left = f" {texts.several(gone, 'was', 'were')} changed meanwhile and left as {'it is' if gone == 1 else 'they are'}." if gone else ""
    flash(f"{BULK[action][1]}: {texts.several(done, 'memory', 'memories')}.{left}")
    return _go_on(listed, None)


def _bulk_action() -> str:
    action = request.values.get("action", "approve")
    if action not in BULK:
        abort(422)
    return action


def _bulk_problem(items: list[Item]) -> str | None:
    kinds = {item.memory.review_kind for item in items}
    if not items:
        return "Tick the memories first."
    if len(kinds) > 1:
        return "Only memories that wait for the same reason are decided at once."
    if "instructions" in kinds:
        return "What reads like orders to an AI is looked at one by one."
    return None


def _bulk_page(items: list[Item], problem: str | None = None) -> Answer | str | tuple[str, int]:
    action = _bulk_action()
    problem = problem or _bulk_problem(items)
    shown = [(item, _button(item, action)) for item in items]
    consequences = [button.consequence for _, button in shown if button.consequence is not None]
    context: dict[str, Any] = {
        "shown": shown,
        "problem": problem,
        "ask": len(items) > ASK_ABOVE,
        "gains": gaining_any(consequences, visitor().roster),
        "action": action,
        "title": BULK[action][0],
        "kept": _listed().kept,
    }
    if partial.asked():
        return _in_dialog(render_template("review/bulk_form.html", **context))
    page = render_template("review/bulk.html", **context)
    return (page, 422) if problem else page


# Taking back


@pages.post("/undo")
def undo() -> Answer | str:
    """Take a decision back: the one that `decision` names, else the very last."""
    here, listed = principal(), _listed()
    wanted = request.values.get("decision")
    one = next((found for found in decisions.decided() if wanted in (None, "", found.id)), None)
    if one is None or one.before is None or not one.undoable:
        flash("There is nothing to take back.")
        return _go_on(listed, None)
    try:
        restored = undo_review(core(), here, str(one.memory), one.before)
        unteach(core(), here, restored.content or "")
    except Conflict:
        flash(f"Memory {one.memory} was changed since: it stays as it is.")
    except (NotFound, Forbidden):
        flash(f"You may no longer change memory {one.memory}: it stays as it is.")
    else:
        decisions.forget(one.id)
        met = decisions.met(one.memory_id) - one.met
        recalled = f"Recalled {texts.several(met, 'time')} in between." if met > 0 else "Nobody recalled it in between."
        flash(f"Taken back: memory {one.memory} waits again. {recalled}")
        return _go_on(listed, one.memory)
    return _go_on(listed, None)


def _offer_undo(text: str, decision: str) -> None:
    found = next((one for one in decisions.decided() if one.id == decision), None)
    flash(text, url_for("review.undo", decision=decision) if found is not None and found.undoable else "message")


def _still_mine(memory: str) -> bool:
    """Whether the decision left the person a right to move the memory: who no longer reads it cannot take anything back."""
    try:
        return Permission.MOVE in open_item(core(), principal(), memory).may
    except NotFound:
        return False


# A team for a topic


@pages.route("/map/<key>", methods=["GET", "POST"])
def map_topic(key: str) -> Answer | str | tuple[str, int]:
    """Let a team guard a topic, and let go on what waited for that."""
    if (refused := admins_only()) is not None:
        return refused
    topic = _topic(key)
    roster = visitor().roster
    teams = sorted((group for group in roster.groups.values() if group.kind is GroupKind.TEAM), key=lambda team: team.name.casefold())
    chosen = next((team for team in teams if team.slug == request.values.get("team")), None)
    problem = "Choose a team from the list." if request.method == "POST" and chosen is None else None
    if request.method == "POST" and chosen is not None:
        shown = [pair.partition(":")[::2] for pair in request.form.getlist("memory")]
        pairs = [(int(number), int(version)) for number, version in shown if number.isdecimal() and version.isdecimal()]
        try:
            closed = close_gap(core(), principal(), topic, chosen.id, pairs)
        except (Conflict, InvalidArgument) as error:
            problem = error.message
        else:
            left = f" {texts.several(closed.left, 'memory waits', 'memories wait')} on." if closed.left else ""
            flash(f"{chosen.name} guards {topic.name}. {texts.several(closed.settled, 'memory', 'memories')} let go on.{left}")
            if not review_queue(core(), principal(), 1).total:
                decisions.note_cleared()
            return redirect(url_for("review.queue"))
    waiting = waiting_for(core(), principal(), topic, chosen.id if chosen else None)
    page = render_template("review/map.html", topic=topic, teams=teams, chosen=chosen, waiting=waiting, problem=problem)
    return (page, 422) if problem else page


def _topic(key: str) -> Topic:
    found = next((topic for topic in visitor().roster.topics.values() if topic.key == key), None)
    if found is None:
        raise NotFound
    return found


# Parts of the above


def _reviewable(memory: str) -> Item:
    item = open_item(core(), principal(), memory)
    if Permission.REVIEW not in item.may or not item.reviews:
        raise NotFound
    return item


def _use(item: Item, action: str) -> Any:
    """The decision that a form asks for, as a use of a consent; InvalidArgument."""
    given = request.form
    version = given.get("version", type=int)
    expected = item.memory.version if version is None else version
    if action == "not_sensitive":
        return lambda consent: not_sensitive(core(), principal(), str(item.memory.number), expected, consent)
    level = given.get("sensitivity", "") if action == "tighten" else ""
    if level and level not in [one.label for one in Sensitivity]:
        raise InvalidArgument("sensitivity", "Choose a level from the list.")
    decision = _decision(item, action, given.get("place", "") if action == "reroute" else None, level or None)
    return _reviewing(replace(decision, expected_version=expected, reason=given.get("reason") or None))


def _reviewing(decision: ReviewMemory) -> Any:
    return lambda consent: review_memory(core(), principal(), decision, consent)


def _button(item: Item, action: str, place: str | None = None, level: str | None = None) -> Button:
    try:
        if action == "not_sensitive":
            number, version = str(item.memory.number), item.memory.version
            return Button(preview(principal(), lambda consent: not_sensitive(core(), principal(), number, version, consent)))
        return Button(preview(principal(), _reviewing(_decision(item, action, place, level))))
    except MemScopeError as error:
        return Button(None, error.message)


def _decision(item: Item, action: str, place: str | None, level: str | None) -> ReviewMemory:
    scope, team, project = resolved(place) if place is not None else (None, None, None)
    sensitivity = Sensitivity.parse(level) if level is not None else None
    return ReviewMemory(str(item.memory.number), action, scope, team, project, sensitivity, expected_version=item.memory.version)


def _suggested(item: Item, places: list[Choice]) -> tuple[str | None, list[Choice]]:
    """The suggested place, if it may be chosen, and the places with that first."""
    if item.suggested is None or item.suggested.scope in (None, Scope.PERSONAL.value):
        return None, places
    slug = item.suggested.team or item.suggested.project
    value = f"{item.suggested.scope}:{slug}" if slug else item.suggested.scope
    if not any(choice.value == value for choice in places):
        return None, places
    return value, sorted(places, key=lambda choice: choice.value != value)


def _told(action: str, after: MemoryAnswer, readers: People) -> str:
    """What a decision did, in a few words without any of the text."""
    people = f"{'' if readers.exact else 'at most '}{texts.several(readers.count, 'person', 'people')}"
    where = _where(after)
    if action != "tighten" and after.flagged:
        return f"Approved; memory {after.number} waits on: {KINDS[after.review_kind or 'fyi'][1].lower()}"
    match action:
        case "reroute":
            return f"Moved to {where} ({people})"
        case "tighten" if after.scope == Scope.PERSONAL.value:
            return "Kept to its author" + (", and it waits on" if after.flagged else "")
        case "tighten":
            return f"Tightened to {texts.words(after.sensitivity)} ({people})"
        case "not_sensitive":
            return f"Not sensitive: shared with {where} ({people})"
    return f"Shared with {where} ({people})" if after.scope != Scope.PERSONAL.value else "Approved for its author"


def _where(memory: MemoryAnswer) -> str:
    if memory.scope == Scope.ORGANIZATION.value:
        return "everybody"
    if memory.scope == Scope.PERSONAL.value:
        return "its author"
    kind = GroupKind.TEAM if memory.team else GroupKind.PROJECT
    group = visitor().roster.find_group(memory.team or memory.project or "", kind)
    return group.name if group is not None else f"a {kind.value} that is gone"


def _who_was_faster(memory_id: str) -> str:
    found = last_change(core(), principal().organization, memory_id)
    return "Somebody was faster." if found is None else f"{found.who} was faster: {_of(found)}."


def _of(settled: Settled) -> str:
    """What was done and when, in the organization's zone: `tightened at 09:13`."""
    zone = ZoneInfo(visitor().organization.timezone)
    at, today = settled.at.astimezone(zone), core().clock().astimezone(zone).date()
    clock = f"{at:%H:%M}" if at.date() == today else f"{at:%H:%M} on {at:%Y-%m-%d}"
    return f"{_DONE.get(settled.action, 'changed it')} at {clock}"
