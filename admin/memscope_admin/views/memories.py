"""Memories: found, read, corrected, moved, reclassified, forgotten, restored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Blueprint, flash, redirect, render_template, request, url_for
from markupsafe import Markup
from werkzeug.wrappers import Response

from memscope.approvals.consent import Consent
from memscope.errors import Conflict, Forbidden, InvalidArgument, MemScopeError, NotFound
from memscope.memories.browse import VersionAnswer
from memscope.memories.consequence import Consequence, preview
from memscope.memories.correct import Correct, correct_memory
from memscope.memories.find import KEYS, ORDERS, STATES, Wanted, find_by_recall, find_memories
from memscope.memories.item import Item, open_item, related_to
from memscope.memories.reveal import revealed
from memscope.memories.scope import ChangeScope, change_scope
from memscope.memories.sensitivity import ChangeSensitivity, change_sensitivity
from memscope.memories.supersede import Supersede, supersede_memory
from memscope.memories.trash import Forget, Restore, forget_memory, restore_memory
from memscope.model.audience import Permission, Scope, Sensitivity
from memscope.model.memory import Kind
from memscope.model.organization import GroupKind, Roster
from memscope_admin.filterline import Pick, asked
from memscope_admin.forms.fields import blame, choose
from memscope_admin.forms.memories import CorrectForm, LevelForm, MoveForm, ReasonForm, SupersedeForm
from memscope_admin.navigation import signed_in
from memscope_admin.places import choices, resolved
from memscope_admin.sessions import core, principal, visitor
from memscope_admin.texts import compared

pages = Blueprint("memories", __name__, url_prefix="/memories")
pages.before_request(signed_in)
MOST_OPTIONS = 200
"""A longer list is no list to pick from: its filter is a text field then."""
Answer = str | tuple[str, int] | Response


@pages.get("")
def listed() -> Answer:
    """A page of the list, or what recall finds for the text."""
    if "q" in request.args:
        return redirect(url_for("memories.listed", recall="yes", text=request.args["q"] or None))
    line = asked(KEYS, bare="text", kept=("recall", "sort"), passing=("cursor",))
    if isinstance(line, Response):
        return line
    wanted = Wanted(**line.values)
    page: dict[str, Any] = {"asked": line, "picks": picks(visitor().roster)}
    if line.kept.get("recall"):
        answer = find_by_recall(core(), principal(), wanted)
        problems = [*line.problems, *(problem.text for problem in answer.problems)]
        html = render_template("memories/found.html", found=answer.recalled, problems=problems, **page)
        return html, 200 if answer.recalled or not line.values else 422
    order = line.kept.get("sort", ORDERS[0])
    try:
        found = find_memories(core(), principal(), wanted, order=order, cursor=request.args.get("cursor") or None)
    except InvalidArgument as error:
        return render_template("memories/list.html", found=None, order=ORDERS[0], problems=[*line.problems, error.message], **page), 422
    problems = [*line.problems, *(problem.text for problem in found.problems)]
    html = render_template("memories/list.html", found=found, order=order, problems=problems, **page)
    return html, 422 if found.problems else 200


def picks(roster: Roster) -> list[Pick]:
    """The filters to pick from."""

    def groups(kind: GroupKind) -> list[tuple[str, str]]:
        found = sorted((group for group in roster.groups.values() if group.kind is kind), key=lambda group: group.name.casefold())
        return [(group.slug, group.name) for group in found] if len(found) <= MOST_OPTIONS else []

    def words(labels: Any) -> list[tuple[str, str]]:
        return [(label, label.replace("_", " ")) for label in labels]

    topics = sorted(roster.topics.values(), key=lambda topic: topic.name.casefold())
    return [
        Pick("text", "Words"),
        Pick("scope", "Scope", words(scope.value for scope in Scope)),
        Pick("team", "Team", groups(GroupKind.TEAM)),
        Pick("project", "Project", groups(GroupKind.PROJECT)),
        Pick("topic", "Topic", [(topic.key, topic.name) for topic in topics]),
        Pick("sensitivity", "Sensitivity", words(level.label for level in Sensitivity)),
        Pick("kind", "Kind", words(kind.value for kind in Kind)),
        Pick("author", "Author", hint="me, a name or an e-mail address"),
        Pick("agent", "Agent"),
        Pick("run", "Run"),
        Pick("state", "State", words(STATES)),
        Pick("after", "Saved from", kind="date"),
        Pick("before", "Saved before", kind="date"),
    ]


@pages.get("/<memory>")
def show(memory: str) -> Answer:
    """One memory, its history, who reads it, and what may be done with it."""
    try:
        item = open_item(core(), principal(), memory)
    except NotFound:
        return render_template("memories/revealed.html", opened=revealed(core(), principal(), memory))
    older, newer = _compared(item.versions)
    related = related_to(core(), principal(), memory) if request.args.get("related") else None
    return render_template(
        "memories/item.html",
        item=item,
        older=older,
        newer=newer,
        diff=compared(older.content or "", newer.content or "") if older and newer else None,
        allowed={one.value for one in item.may},
        related=related,
        looked="related" in request.args,
    )


def _compared(versions: tuple[VersionAnswer, ...]) -> tuple[VersionAnswer | None, VersionAnswer | None]:
    """The two texts to compare: those chosen, or the newest with the one before."""
    if len(versions) < 2:
        return None, None
    by_number = {version.version: version for version in versions}
    one = by_number.get(request.args.get("from", versions[1].version, type=int), versions[1])
    other = by_number.get(request.args.get("to", versions[0].version, type=int), versions[0])
    return (one, other) if one.version <= other.version else (other, one)


@pages.route("/<memory>/correct", methods=["GET", "POST"])
def correct(memory: str) -> Answer:
    """A new text."""
    item = _open(memory, Permission.CORRECT)
    form = CorrectForm(data={"new_content": item.text})
    if request.method == "POST" and form.validate():
        wanted = Correct(memory, form.new_content.data, form.reason.data or None, expected_version=_version())
        try:
            done = correct_memory(core(), principal(), wanted)
        except InvalidArgument as error:
            blame(form, error)
        except Conflict:
            newer = open_item(core(), principal(), memory)
            diff = compared(newer.text, form.new_content.data)
            return render_template("memories/correct.html", item=newer, form=form, conflict=diff), 409
        else:
            held = f" It waits for review: {done.review.reason}" if done.review else ""
            flash(f"Corrected; version {done.version}.{held}")
            return redirect(url_for("memories.show", memory=memory))
    return render_template("memories/correct.html", item=item, form=form, conflict=None), 422 if form.errors else 200


@pages.route("/<memory>/move", methods=["GET", "POST"])
def move(memory: str) -> Answer:
    """Another place: chosen, then shown with who gains and who loses, then done."""
    item = _open(memory, Permission.MOVE)
    form = MoveForm(request.values)
    places = choices(item.moves_to, visitor().roster)
    choose(form.place, [(choice.value, choice.title) for choice in places])

    def change(consent: Consent, version: int) -> object:
        if form.place.data not in [choice.value for choice in places]:
            raise InvalidArgument("place", "Choose a place from the list.")
        scope, team, project = resolved(form.place.data or "")
        wanted = ChangeScope(memory, scope, team, project, form.reason.data or None, version)
        return change_scope(core(), principal(), wanted, consent)

    return _change("memories/move.html", item, form, change, "Moved.", chosen="place" in request.values)


@pages.route("/<memory>/sensitivity", methods=["GET", "POST"])
def sensitivity(memory: str) -> Answer:
    """Another level, likewise."""
    item = _open(memory, Permission.RECLASSIFY)
    form = LevelForm(request.values if "sensitivity" in request.values else None, data={"sensitivity": item.memory.sensitivity})

    def change(consent: Consent, version: int) -> object:
        if form.sensitivity.data not in [level.label for level in Sensitivity]:
            raise InvalidArgument("sensitivity", "Choose a level from the list.")
        level = Sensitivity.parse(form.sensitivity.data)
        return change_sensitivity(core(), principal(), ChangeSensitivity(memory, level, form.reason.data or None, version), consent)

    return _change("memories/sensitivity.html", item, form, change, "The sensitivity is changed.", chosen="sensitivity" in request.values)


@pages.route("/<memory>/forget", methods=["GET", "POST"])
def forget(memory: str) -> Answer:
    """Into the trash."""
    item = _open(memory, Permission.FORGET)
    form = ReasonForm(request.values)

    def change(consent: Consent, version: int) -> object:
        return forget_memory(core(), principal(), Forget(memory, form.reason.data or None, version), consent)

    return _change("memories/forget.html", item, form, change, "Forgotten. It is in the trash.", chosen=True, after="trash.listed")


@pages.route("/<memory>/supersede", methods=["GET", "POST"])
def supersede(memory: str) -> Answer:
    """Name the newer memory that replaces this one, or take such a link back."""
    item = _open(memory, Permission.SUPERSEDE)
    linked = item.memory.superseded_by
    form = SupersedeForm(data={"replaced_by": linked or ""})
    if request.method == "POST" and form.validate():
        undo = "undo" in request.form
        wanted = Supersede(memory, form.replaced_by.data.strip(), undo=undo, expected_version=_version())
        try:
            supersede_memory(core(), principal(), wanted)
        except NotFound:
            form.replaced_by.errors = ["There is no such memory, or you may not read it."]
        except (Conflict, Forbidden, InvalidArgument) as error:
            form.replaced_by.errors = [error.message]
        else:
            flash("It counts as current again." if undo else "Recall now gives the newer memory in its place.")
            return redirect(url_for("memories.show", memory=memory))
    return render_template("memories/supersede.html", item=item, form=form, linked=linked), 422 if form.errors else 200


@pages.post("/<memory>/restore")
def restore(memory: str) -> Answer:
    """Out of the trash."""
    done = restore_memory(core(), principal(), Restore(memory))
    flash("Restored.")
    return redirect(url_for("memories.show", memory=done.memory.number))


def _change(
    template: str,
    item: Item,
    form: Any,
    change: Callable[[Consent, int], object],
    done: str,
    *,
    chosen: bool,
    after: str | None = None,
) -> Answer:
    """A change in two steps: what it would do, then doing it. After it, to the memory or to `after`.

    What was changed by somebody else since the page was opened is shown, and asked anew.
    """
    consequence: Consequence | None = None
    faster = None
    status = 200
    if request.method == "POST" or chosen:
        try:
            if request.method == "POST" and not form.validate():
                raise InvalidArgument("reason", "Look at the fields again.")
            if request.method == "POST":
                shown = _version() or item.memory.version
                try:
                    change(Consent(), shown)
                except Conflict:
                    if shown == item.memory.version:
                        raise
                    faster, status = _since(item, shown), 409
                else:
                    flash(done)
                    return redirect(url_for(after)) if after else _to(item)
            consequence = preview(principal(), lambda consent: change(consent, item.memory.version))
        except InvalidArgument as error:
            blame(form, error)
            status = 422
        except Forbidden as error:
            blame(form, InvalidArgument("reason", error.message))
            status = 422
    return render_template(template, item=item, form=form, consequence=consequence, faster=faster), status


def _since(item: Item, shown: int) -> Markup:
    """What became of the text since the version that a page showed."""
    earlier = next((version for version in item.versions if version.version <= shown), None)
    return compared(earlier.content or "", item.memory.content or "") if earlier else Markup("")


def _to(item: Item) -> Response:
    """To the memory; to the list when the change ended the person's own reading of it."""
    try:
        open_item(core(), principal(), item.memory.id)
    except MemScopeError:
        return redirect(url_for("memories.listed"))
    return redirect(url_for("memories.show", memory=item.memory.number))


def _open(memory: str, permission: Permission) -> Item:
    item = open_item(core(), principal(), memory)
    if permission not in item.may:
        raise Forbidden("Only the author, an owner of its group or an administrator can change this memory.")
    return item


def _version() -> int | None:
    """The version that the form being sent showed."""
    return request.form.get("version", type=int)
