"""Memories: found, read, corrected, moved, reclassified, forgotten, restored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Blueprint, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.approvals.consent import Consent
from memscope.errors import Conflict, Forbidden, InvalidArgument, MemScopeError, NotFound
from memscope.memories.browse import FILTERS, ListMemories, list_memories
from memscope.memories.consequence import Consequence, preview
from memscope.memories.correct import Correct, correct_memory
from memscope.memories.item import Item, open_item
from memscope.memories.recall import Recall, recall
from memscope.memories.scope import ChangeScope, change_scope
from memscope.memories.sensitivity import ChangeSensitivity, change_sensitivity
from memscope.memories.supersede import Supersede, supersede_memory
from memscope.memories.trash import Forget, Restore, forget_memory, restore_memory
from memscope.model.audience import Permission, Sensitivity
from memscope.model.memory import LABEL_MAX, Kind
from memscope_admin.forms.fields import blame, choose
from memscope_admin.forms.memories import CorrectForm, LevelForm, MoveForm, ReasonForm, SupersedeForm
from memscope_admin.navigation import signed_in
from memscope_admin.places import choices, resolved
from memscope_admin.sessions import core, principal, visitor
from memscope_admin.texts import compared

pages = Blueprint("memories", __name__, url_prefix="/memories")
pages.before_request(signed_in)
A_PAGE = 50
LISTS = {
    "": "All that I may read",
    "mine": "Mine",
    "team": "Of teams",
    "project": "Of projects",
    "needs_review": "To review",
    "forgotten": "Trash",
}
Answer = str | tuple[str, int] | Response


@pages.get("")
def listed() -> Answer:
    """A page of the list, or what recall finds for a question."""
    given = request.args
    question = given.get("q", "").strip()
    chosen = given.get("filter", "")
    problems = [f"There is no list {chosen}." for _ in "x" if chosen and chosen not in FILTERS]
    kind = given.get("kind", "")
    if kind and kind not in [known.value for known in Kind]:
        problems.append(f"There is no kind {kind}.")
        kind = ""
    labels = {name: given.get(name, "").strip()[:LABEL_MAX] or None for name in ("agent", "run_id")}
    page: dict[str, Any] = {"lists": LISTS, "kinds": [known.value for known in Kind], "given": given, "problems": problems, "kind": kind}
    wanted_kind = Kind(kind) if kind else None
    try:
        if question:
            found = recall(core(), principal(), Recall(question, limit=A_PAGE, detail="brief", kind=wanted_kind, run_id=labels["run_id"]))
            return render_template("memories/found.html", found=found, question=question, **page)
        filter_ = chosen if chosen in FILTERS else None
        wanted = ListMemories(filter_, A_PAGE, given.get("cursor") or None, wanted_kind, labels["agent"], labels["run_id"])
        found_page = list_memories(core(), principal(), wanted)
    except InvalidArgument as error:
        return render_template("memories/list.html", found=None, filter=chosen, **(page | {"problems": [*problems, error.message]})), 422
    return render_template("memories/list.html", found=found_page, filter=chosen, **page)


@pages.get("/<memory>")
def show(memory: str) -> Answer:
    """One memory, its history, who reads it, and what may be done with it."""
    item = open_item(core(), principal(), memory)
    versions = []
    for version, older in zip(item.versions, (*item.versions[1:], None), strict=True):
        diff = compared(older.content or "", version.content or "") if older is not None else None
        versions.append((version, diff))
    return render_template("memories/item.html", item=item, versions=versions, allowed={one.value for one in item.may})


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
    choose(form.place, [(choice.value, choice.title) for choice in choices(item.moves_to, visitor().roster)])

    def change(consent: Consent) -> object:
        scope, team, project = resolved(form.place.data or "")
        wanted = ChangeScope(memory, scope, team, project, form.reason.data or None, _version(item))
        return change_scope(core(), principal(), wanted, consent)

    return _change("memories/move.html", item, form, change, "Moved.", chosen="place" in request.values)


@pages.route("/<memory>/sensitivity", methods=["GET", "POST"])
def sensitivity(memory: str) -> Answer:
    """Another level, likewise."""
    item = _open(memory, Permission.RECLASSIFY)
    form = LevelForm(request.values if "sensitivity" in request.values else None, data={"sensitivity": item.memory.sensitivity})

    def change(consent: Consent) -> object:
        level = Sensitivity.parse(form.sensitivity.data)
        return change_sensitivity(core(), principal(), ChangeSensitivity(memory, level, form.reason.data or None, _version(item)), consent)

    return _change("memories/sensitivity.html", item, form, change, "The sensitivity is changed.", chosen="sensitivity" in request.values)


@pages.route("/<memory>/forget", methods=["GET", "POST"])
def forget(memory: str) -> Answer:
    """Into the trash."""
    item = _open(memory, Permission.FORGET)
    form = ReasonForm(request.values)

    def change(consent: Consent) -> object:
        return forget_memory(core(), principal(), Forget(memory, form.reason.data or None, _version(item)), consent)

    return _change("memories/forget.html", item, form, change, "Forgotten. It is in the trash.", chosen=True, after="memories.listed")


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
        except (Conflict, Forbidden) as error:
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
    change: Callable[[Consent], object],
    done: str,
    *,
    chosen: bool,
    after: str = "memories.show",
) -> Answer:
    """A change in two steps: what it would do, then doing it."""
    consequence: Consequence | None = None
    status = 200
    if request.method == "POST" or chosen:
        try:
            if not form.validate() and request.method == "POST":
                raise InvalidArgument("reason", "Look at the fields again.")
            if request.method == "POST":
                change(Consent())
                flash(done)
                if after == "memories.listed":
                    return redirect(url_for(after, filter="forgotten"))
                return _to(item)
            consequence = preview(principal(), change)
        except InvalidArgument as error:
            blame(form, error)
            status = 422
        except Forbidden as error:
            blame(form, InvalidArgument("reason", error.message))
            status = 422
    return render_template(template, item=item, form=form, consequence=consequence), status


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


def _version(item: Item | None = None) -> int | None:
    given = request.form.get("version", type=int)
    return given if given is not None or item is None else item.memory.version
