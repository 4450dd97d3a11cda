"""Why somebody can or cannot read a memory."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, render_template, request, url_for

from memscope.errors import Forbidden, InvalidArgument, NotFound
from memscope.memories.explain import explain_memory, what_would_help
from memscope.memories.item import open_item
from memscope.policy.remedies import Clear, Join, Settle, Step
from memscope_admin.navigation import signed_in
from memscope_admin.sessions import core, principal, visitor
from memscope_admin.texts import words

pages = Blueprint("access", __name__, url_prefix="/access")
pages.before_request(signed_in)


@pages.get("")
def why() -> str | tuple[str, int]:
    """The answer first, then the rules in order."""
    here = visitor()
    memory, person = request.args.get("memory", "").strip(), request.args.get("person", "").strip()
    people = sorted(here.roster.people.values(), key=lambda one: one.name.casefold()) if here.admin or here.owner else [here.person]
    page = {"people": people, "memory": memory, "person": person or here.person.id, "answer": None, "item": None, "error": None}
    if not memory:
        return render_template("access/why.html", **page)
    try:
        answer = explain_memory(core(), principal(), memory, person or None)
    except NotFound:
        return render_template("access/why.html", **(page | {"error": "There is no such memory, or you may not read it."})), 404
    except (Forbidden, InvalidArgument) as error:
        return render_template("access/why.html", **(page | {"error": error.message})), 422
    about = here.roster.find_person(person) if person else here.person
    try:
        item = open_item(core(), principal(), memory)
    except NotFound:  # in the trash: its rules may be asked about, its text is not shown here
        item = None
    helps = what_would_help(core(), principal(), memory, about.id) if item is not None and about is not None and here.admin else ()
    told = {"answer": answer, "about": about, "item": item, "remedies": [[_told(step) for step in remedy] for remedy in helps]}
    return render_template("access/why.html", **(page | told))


@dataclass(frozen=True, slots=True)
class Told:
    """A step of a remedy in words, and where it is done."""

    text: str
    url: str


def _told(step: Step) -> Told:
    match step:
        case Join(group):
            found = visitor().roster.groups[group]
            return Told(f"put them into the {found.kind.value} {found.name}", url_for("groups.show", group_id=group))
        case Clear(level):
            person = request.args.get("person", "").strip()
            about = visitor().roster.find_person(person) or visitor().person
            return Told(f"clear them up to {words(level.label)}", url_for("people.show", person_id=about.id))
        case Settle():
            return Told("approve the memory's review", url_for("review.queue", memory=request.args["memory"].strip()))
