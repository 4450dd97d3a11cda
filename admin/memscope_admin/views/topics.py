"""Sensitive topics and the teams that guard them, with a bench to try a text on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.errors import Conflict, InvalidArgument
from memscope.memories.trial import Trial, try_text
from memscope.model.audience import Sensitivity
from memscope.model.ids import new_id
from memscope.model.memory import CONTENT_MAX
from memscope.model.organization import GroupKind, Topic
from memscope.organizations.topics import checked_topic, remove_topic, save_topic
from memscope_admin.forms.fields import blame, choose, lines
from memscope_admin.forms.topics import TopicForm
from memscope_admin.navigation import admins_only
from memscope_admin.sessions import core, principal, visitor
from memscope_admin.stale import CHANGED, stale, stamp

pages = Blueprint("topics", __name__, url_prefix="/topics")
pages.before_request(admins_only)
Answer = str | tuple[str, int] | Response


@pages.get("")
def listed() -> str:
    """All topics."""
    roster = visitor().roster
    return render_template("topics/list.html", topics=sorted(roster.topics.values(), key=lambda topic: topic.name), roster=roster)


@pages.route("/new", methods=["GET", "POST"])
def add() -> Answer:
    """A new topic."""
    form = _form({"sensitivity": "restricted"})
    return _edit(form, None, Topic(new_id(), form.key.data or "", ""))


@pages.route("/<key>", methods=["GET", "POST"])
def show(key: str) -> Answer:
    """One topic: what it is about, who guards it, and what today's judgement makes of a text."""
    topic = _topic(key)
    form = _form(
        {
            "key": topic.key,
            "name": topic.name,
            "aliases": "\n".join(topic.aliases),
            "description": topic.description,
            "phrases": "\n".join(topic.phrases),
            "sensitivity": topic.sensitivity.label,
            "teams": sorted(topic.teams),
        }
    )
    form.key.render_kw = {"readonly": True}
    return _edit(form, topic, topic)


@pages.post("/<key>/remove")
def remove(key: str) -> Response:
    """Take an added topic out of the lists."""
    topic = _topic(key)
    try:
        remove_topic(core(), principal(), topic)
    except Conflict as error:
        flash(error.message)
        return redirect(url_for("topics.show", key=key))
    flash(f"{topic.name} is removed. Memories on it stay guarded.")
    return redirect(url_for("topics.listed"))


def _topic(key: str) -> Topic:
    found = next((topic for topic in visitor().roster.topics.values() if topic.key == key), None)
    if found is None:
        abort(404)
    return found


def _form(data: dict[str, Any]) -> TopicForm:
    form = TopicForm(data=data)
    teams = [group for group in visitor().roster.groups.values() if group.kind is GroupKind.TEAM]
    choose(form.teams, sorted(((team.id, team.name) for team in teams), key=lambda choice: choice[1].casefold()))
    return form


def _edit(form: Any, expected: Topic | None, base: Topic) -> Answer:
    tried: tuple[Trial, Trial] | None = None
    text = request.form.get("bench", "")
    problem = None
    if request.method == "POST" and expected is not None and stale(expected):
        form.key.errors = [CHANGED]
    elif request.method == "POST" and form.validate():
        try:
            draft = checked_topic(
                base,
                name=form.name.data,
                aliases=lines(form.aliases.data),
                description=form.description.data or "",
                phrases=lines(form.phrases.data),
                sensitivity=Sensitivity.parse(form.sensitivity.data),
                teams=frozenset(form.teams.data or ()),
            )
            if "try" in request.form:
                if len(text) > CONTENT_MAX:
                    problem = f"The text has {len(text)} characters; at most {CONTENT_MAX} are taken."
                elif text.strip():
                    now = visitor().roster
                    changed = replace(now, topics={**now.topics, draft.id: draft})
                    tried = try_text(core(), now, principal(), text), try_text(core(), changed, principal(), text)
            elif _empty(draft) and not request.form.get("empty_ok"):
                problem = "Nobody is in the guard teams, so nobody but authors would read guarded texts. Save once more if that is meant."
            else:
                save_topic(core(), principal(), expected, draft)
                flash("Saved: it holds for what is saved from now on.")
                return redirect(url_for("topics.show", key=draft.key))
        except InvalidArgument as error:
            blame(form, error)
        except Conflict as error:
            form.key.errors = [error.message]
    status = 409 if CHANGED in form.key.errors else 422 if form.errors or problem else 200
    seen = stamp(expected) if expected is not None else None
    page = render_template("topics/topic.html", form=form, topic=expected, tried=tried, text=text, problem=problem, seen=seen)
    return page, status


def _empty(draft: Topic) -> bool:
    memberships = visitor().roster.memberships
    return bool(draft.teams) and not any(memberships.get(team) for team in draft.teams)
