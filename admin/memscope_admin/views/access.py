"""Why somebody can or cannot read a memory; who reads it at all; what somebody sees. As it is, or in a draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, abort, render_template, request, url_for

from memscope.errors import Forbidden, InvalidArgument
from memscope.memories.browse import ListMemories, list_memories
from memscope.memories.recall import Recall, recall
from memscope.memories.simulate import Asked, Everybody, Fact, Help, SeenPage, ask, everybody, last_change, sees
from memscope.model.ids import parse_reference
from memscope.model.organization import Person
from memscope.organizations.people import named
from memscope.policy.draft import Change, OfPerson
from memscope_admin import drafts
from memscope_admin.navigation import signed_in
from memscope_admin.sessions import core, principal, visitor
from memscope_admin.texts import listing, several

pages = Blueprint("access", __name__, url_prefix="/access")
pages.before_request(signed_in)
MODES = {"": "One person, one memory", "everybody": "One memory, everybody", "list": "What somebody sees"}
TO_CHOOSE = 100
"""People to choose from in a list; where there are more, one types."""
FOUND = 10
Answer = str | tuple[str, int]


@pages.get("")
def why() -> Answer:
    """The answer first, then what it rests on. Nothing is stored: a draft lies in the address."""
    here, given = visitor(), request.args
    mode = given.get("mode", "")
    if mode not in MODES:
        abort(404)
    asks = here.admin or here.owner
    everyone = sorted(here.roster.people.values(), key=lambda one: one.name.casefold()) if asks else [here.person]
    reference, person = given.get("memory", "").strip(), given.get("person", "").strip()
    page: dict[str, Any] = {
        "modes": MODES if asks else {key: title for key, title in MODES.items() if key != "everybody"},
        "mode": mode,
        "people": everyone if len(everyone) <= TO_CHOOSE else (),
        "all": len(everyone),
        "memory": reference,
        "person": person or here.person.id,
        "link": link,
    }
    try:
        about = _about(person)
        draft = drafts.read(given, here.roster)
        page |= {"about": about, "draft": draft, "changes": [_told(change, about) for change in draft]}
        page["of_person"] = any(isinstance(change, OfPerson) for change in draft)
        page |= {"offered": drafts.choices(here.roster, about) if asks else None}
        if mode == "list":
            return _list(page, about, draft) if person else render_template("access/why.html", **page, examples=_examples())
        if not reference:
            return render_template("access/why.html", **page, examples=_examples())
        if parse_reference(reference) is None:
            found = recall(core(), principal(), Recall(reference[:500], limit=FOUND, detail="brief")).results
            return render_template("access/why.html", **page, found=found)
        if mode == "everybody":
            everyone_told = everybody(core(), principal(), reference, about.id, draft)
            return render_template("access/why.html", **page, whole=everyone_told, answer=_reads(everyone_told, draft))
        asked = ask(core(), principal(), reference, about.id, draft)
    except (Forbidden, InvalidArgument) as error:
        return render_template("access/why.html", **(page | {"error": error.message})), 422
    change = last_change(core(), principal().organization, about.id) if asked.explained.rules else None
    told = {
        "asked": asked,
        "answer": _sentence(asked, draft),
        "facts": {rule: [_where(fact) for fact in facts] for rule, facts in asked.facts.items()},
        "helps": [_help(one, asked) for one in asked.helps],
        "change": change,
        "roster": here.roster,
    }
    return render_template("access/why.html", **page, **told)


def link(mode: str | None = None, *, draft: Sequence[Change] | None = None, **more: Any) -> str:
    """The address of the simulator with what is asked now, but for what is given."""
    roster, given = visitor().roster, request.args
    kept: dict[str, Any] = {name: given[name] for name in ("memory", "person") if given.get(name)}
    kept |= drafts.address(drafts.read(given, roster) if draft is None else draft, roster)
    kept["mode"] = (given.get("mode") if mode is None else mode) or None
    return url_for("access.why", **(kept | more))


@dataclass(frozen=True, slots=True)
class Told:
    """A change or fact in words, and where it is really made."""

    text: str
    url: str | None


@dataclass(frozen=True, slots=True)
class Remedy:
    """A remedy in words, with what else it does and its draft."""

    steps: tuple[Told, ...]
    help: Help
    draft: str


def _about(person: str) -> Person:
    here = visitor()
    if not person:
        return here.person
    # Who may ask about others may find them by a part of the name; for the rest that would be a directory.
    found = named(here.roster, person) if here.admin or here.owner else [one for one in [here.roster.find_person(person)] if one]
    if not found:
        raise InvalidArgument("person", "Nobody of this organization has this name, e-mail address or id.")
    if len(found) > 1:
        some = listing([f"{one.name} ({one.email})" for one in found])
        raise InvalidArgument("person", f"Several people match: {some}. Give the e-mail address.")
    return found[0]


def _list(page: Mapping[str, Any], about: Person, draft: Sequence[Change]) -> Answer:
    seen: SeenPage = sees(core(), principal(), about.id, draft, cursor=request.args.get("cursor") or None)
    answer = f"{'In this draft' if draft else 'Now'} {about.name} sees these memories, as far as you may read them too."
    if not seen.memories:
        answer = f"{about.name} sees nothing that you may read too."
    return render_template("access/why.html", **page, seen=seen, answer=answer)


def _sentence(asked: Asked, draft: Sequence[Change]) -> str:
    """The answer in a sentence, with the reason that decided."""
    told, name, number = asked.explained, asked.about.name, asked.memory.number
    failed = next((rule.text for rule in told.rules if not rule.passed), "")
    because = f", because {failed[:1].lower()}{failed[1:]}" if failed else "."
    start = "In this draft " if draft else ""
    if not told.visible:
        return f"{start}{name} cannot read #{number}{because}"
    if told.in_default_recall is None:
        return f"{start}{name} can read #{number}."
    if told.in_default_recall:
        return f"{start}{name} can read #{number}, and recall finds it."
    return f"{start}{name} can read #{number}, but recall does not bring it up by itself{because}"


def _reads(whole: Everybody, draft: Sequence[Change]) -> str:
    names = [one.name for heap in whole.read for one in heap.people]
    start = "In this draft " if draft else ""
    told = (
        f"{several(len(names), 'person', 'people')} whom you may ask about {'reads' if len(names) == 1 else 'read'} #{whole.memory.number}"
    )
    return (
        f"{start}{told}: {listing(sorted(names, key=str.casefold))}."
        if names
        else f"{start}nobody whom you may ask about reads #{whole.memory.number}."
    )


def _told(change: Change, about: Person, number: int | None = None) -> Told:
    roster = visitor().roster
    return Told(drafts.told(change, roster), drafts.done_at(change, roster, about, number, visitor()))


def _help(one: Help, asked: Asked) -> Remedy:
    steps = tuple(_told(change, asked.about, asked.memory.number) for change in one.steps)
    return Remedy(steps, one, link("", draft=one.steps, person=asked.about.id))


def _where(fact: Fact) -> Told:
    """A fact with the page where it is changed, if whoever asks finds that page."""
    here, target = visitor(), fact.target
    match fact.kind:
        case "person" if here.admin:
            return Told(fact.text, url_for("people.show", person_id=target))
        case "group" if here.admin or target in here.reader.owns:
            return Told(fact.text, url_for("groups.show", group_id=target))
        case "topic" if here.admin:
            return Told(fact.text, url_for("topics.show", key=target))
        case "memory":
            return Told(fact.text, url_for("memories.show", memory=target))
        case "review":
            return Told(fact.text, url_for("review.queue", memory=target))
        case "trash":
            return Told(fact.text, url_for("memories.listed", filter="forgotten"))
    return Told(fact.text, None)


def _examples() -> list[Told]:
    """Three questions to begin with, about what is there."""
    here = visitor()
    newest = list_memories(core(), principal(), ListMemories(limit=1)).memories
    number = newest[0].number if newest else None
    about: dict[str, Any] = {"memory": number} if number else {}
    name = f"#{number}" if number else "a memory"
    if not (here.admin or here.owner):
        return [
            Told(f"Why can I read {name}?", url_for("access.why", **about, person=here.person.id) if number else None),
            Told(f"Does recall bring up {name}?", url_for("access.why", **about, person=here.person.id) if number else None),
            Told("What do I see?", url_for("access.why", mode="list", person=here.person.id)),
        ]
    others = [one for one in here.roster.people.values() if one.id != here.person.id and one.active]
    mine = [one for one in others if here.admin or here.roster.readers[one.id].groups & here.reader.owns]
    other = min(mine, key=lambda one: one.name.casefold(), default=here.person)
    return [
        Told(f"Why can or can't {other.name} read {name}?", url_for("access.why", **about, person=other.id) if number else None),
        Told(f"Who reads {name}, and by which rule?", url_for("access.why", **about, mode="everybody") if number else None),
        Told(f"What does {other.name} see?", url_for("access.why", mode="list", person=other.id)),
    ]
