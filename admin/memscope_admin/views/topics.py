"""Sensitive topics and the teams that guard them: a bench to try texts on, and what a draft would mean before it is saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from memscope.errors import Conflict, InvalidArgument, SecretRejected
from memscope.memories.bench_texts import MAX, Result, drop_text, keep_text, kept, run_bench
from memscope.memories.phrases import PhraseHits, phrase_hits, refuse_wide
from memscope.memories.trial import Trial, try_text
from memscope.model.audience import Sensitivity
from memscope.model.ids import new_id
from memscope.model.memory import CONTENT_MAX
from memscope.model.organization import Group, GroupKind, Topic
from memscope.organizations.topics import checked_topic, empty_teams, refuse_taken, remove_topic, save_topic, with_draft
from memscope.upkeep import reclassify_jobs, topic_preview
from memscope.upkeep.reclassify_jobs import Job
from memscope.upkeep.topic_preview import Preview
from memscope_admin import partial
from memscope_admin.forms.fields import blame, choose, lines
from memscope_admin.forms.topics import TopicForm
from memscope_admin.navigation import admins_only
from memscope_admin.sessions import core, principal, visitor
from memscope_admin.stale import stale, stamp
from memscope_admin.texts import several

pages = Blueprint("topics", __name__, url_prefix="/topics")
pages.before_request(admins_only)
Answer = str | tuple[str, int] | Response
NEW = "new"
"""Stands for the key in the addresses of a topic that is not saved yet."""
PORTION_S = 1.2
"""How long one request goes on judging: script asks for the next portion at once."""
PORTION_BY_HAND_S = 5.0
"""The same where somebody has to press a button for the next portion."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What came of the text on the bench, and of those that are kept."""

    now: Trial | None = None
    draft: Trial | None = None
    kept: tuple[Result, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What an editor's page shows beside the form."""

    bench: Bench | None = None
    hits: PhraseHits | None = None
    preview: Preview | None = None
    problem: str | None = None
    empty: tuple[Group, ...] = ()
    failing: int = 0
    status: int = 200


@pages.get("")
def listed() -> str:
    """All topics."""
    roster = visitor().roster
    return render_template("topics/list.html", topics=sorted(roster.topics.values(), key=lambda topic: topic.name), roster=roster)


@pages.route("/new", methods=["GET", "POST"])
def add() -> Answer:
    """A new topic."""
    return _edit(_form(None), None)


@pages.route("/<key>", methods=["GET", "POST"])
def show(key: str) -> Answer:
    """One topic: what it is about, who guards it, and what a draft of it would make of texts and of what is stored."""
    topic = _topic(key)
    return _edit(_form(topic), topic)


@pages.post("/<key>/bench")
def bench(key: str) -> str:
    """The bench for a draft as it is being typed: a part of the page."""
    topic, form, draft = _typed(key)
    found = Bench(problem=_problems(form)) if draft is None else _bench(topic, draft)
    return render_template("topics/_bench.html", bench=found, key=key)


@pages.post("/<key>/hits")
def hits(key: str) -> str:
    """How often the phrases that stand in the form stand in memories: a part of the page."""
    _, form, draft = _typed(key)
    if draft is None:
        return render_template("topics/_hits.html", hits=None, problem=_problems(form))
    return render_template("topics/_hits.html", hits=phrase_hits(core(), principal(), draft.phrases), problem=None)


@pages.post("/<key>/preview")
def preview(key: str) -> str:
    """What a draft would mean for what is stored, some more of it at each request: a part of the page."""
    _, form, draft = _typed(key)
    if draft is None:
        return render_template("topics/_preview.html", preview=None, problem=_problems(form), key=key, name="")
    found = topic_preview.go_on(core(), principal(), draft, PORTION_S)
    return render_template("topics/_preview.html", preview=found, problem=None, key=key, name=draft.name)


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


@pages.get("/<key>/jobs/<job_id>")
def job(key: str, job_id: str) -> str:
    """How far judging again is, and what came of it."""
    topic = _topic(key)
    return _job_page(topic, _job(topic, job_id))


@pages.post("/<key>/jobs/<job_id>")
def turn(key: str, job_id: str) -> Answer:
    """Pause a job, let it go on, or undo what it did."""
    topic = _topic(key)
    found = _job(topic, job_id)
    match request.form.get("act"):
        case "pause":
            reclassify_jobs.pause(core(), principal(), found)
        case "resume":
            reclassify_jobs.resume(core(), principal(), found)
        case "undo":
            seconds = PORTION_S if partial.asked() else PORTION_BY_HAND_S
            found, restored = reclassify_jobs.undo(core(), principal(), found, seconds)
            if partial.asked():
                return _job_page(topic, found)
            flash(f"Put back as they were: {several(restored, 'memory', 'memories')}.")
        case _:
            abort(422)
    return redirect(url_for("topics.job", key=key, job_id=job_id))


# -- the editor ------------------------------------------------------------------------------------------------------------


def _edit(form: Any, topic: Topic | None) -> Answer:
    if request.method == "GET":
        return _page(form, topic, Shown())
    act, _, argument = request.form.get("act", "save").partition(":")
    draft = _draft(form, topic)
    if draft is None:
        return _page(form, topic, Shown(status=422))
    match act:
        case "bench":
            found = _bench(topic, draft)
            return _page(form, topic, Shown(found, problem=found.problem, status=422 if found.problem else 200))
        case "hits":
            return _page(form, topic, Shown(_bench(topic, draft), phrase_hits(core(), principal(), draft.phrases)))
        case "preview":
            return _page(form, topic, Shown(_bench(topic, draft), preview=_by_hand(draft)))
        case "keep" if topic is not None:
            return _page(form, topic, _keep(topic, draft))
        case "drop" if topic is not None:
            drop_text(core(), principal(), topic, argument)
            return _page(form, topic, Shown(_bench(topic, draft)))
        case "edit":
            return _page(form, topic, Shown(_bench(topic, draft)), seen=stamp(topic) if topic else None)
    if act not in ("save", "save_stored"):
        abort(422)
    return _save(form, topic, draft, judge_again=act == "save_stored")


def _save(form: Any, topic: Topic | None, draft: Topic, *, judge_again: bool) -> Answer:
    if topic is not None and stale(topic):
        return _conflict(form, topic, draft)
    roster = visitor().roster
    kept_texts = _bench(topic, draft)
    try:
        refuse_wide(phrase_hits(core(), principal(), draft.phrases))
    except InvalidArgument as error:
        blame(form, error)
        return _page(form, topic, Shown(kept_texts, status=422))
    empty = empty_teams(roster, draft) if not request.form.get("empty_ok") else ()
    failing = sum(not result.passed for result in kept_texts.kept) if not request.form.get("failing_ok") else 0
    # Whoever changes at once who reads what is stored sees first whom it hits.
    seen = topic_preview.seen(core(), principal(), draft)
    unseen = (judge_again or (topic is not None and topic.teams != draft.teams)) and not seen
    if empty or failing or unseen:
        problem = None if empty or failing else "Nothing is saved yet: look at who gains and loses, then save once more."
        found = _by_hand(draft) if unseen or seen else None
        return _page(form, topic, Shown(kept_texts, preview=found, problem=problem, empty=empty, failing=failing, status=422))
    try:
        save_topic(core(), principal(), topic, draft)
    except InvalidArgument as error:
        blame(form, error)
        return _page(form, topic, Shown(kept_texts, status=422))
    except Conflict:
        return _conflict(form, _topic(draft.key), draft)
    if judge_again:
        started = reclassify_jobs.start(core(), principal(), draft)
        flash("Saved. What is stored is being judged again.")
        return redirect(url_for("topics.job", key=draft.key, job_id=started.id))
    flash("Saved: it holds for what is saved from now on.")
    return redirect(url_for("topics.show", key=draft.key))


def _page(form: Any, topic: Topic | None, shown: Shown, seen: str | None = None) -> Answer:
    found = seen or request.form.get("seen") or (stamp(topic) if topic is not None else None)
    earlier = reclassify_jobs.jobs(core(), principal().organization, topic.id)[:5] if topic is not None else []
    page = render_template(
        "topics/topic.html",
        form=form,
        topic=topic,
        key=topic.key if topic is not None else NEW,
        shown=shown,
        bench=shown.bench,
        kept=kept(core(), principal(), topic) if topic is not None else 0,
        text=request.form.get("bench", ""),
        expect=request.form.get("expect", "on"),
        expect_level=request.form.get("expect_level", ""),
        levels=[level.label for level in Sensitivity],
        seen=found,
        jobs=earlier,
        most=MAX,
        longest=CONTENT_MAX,
    )
    return (page, shown.status) if shown.status != 200 else page


def _conflict(form: Any, theirs: Topic, mine: Topic) -> tuple[str, int]:
    """Somebody else saved meanwhile: both versions side by side."""
    roster = visitor().roster

    def told(topic: Topic) -> list[tuple[str, str]]:
        teams = sorted(roster.groups[team].name for team in topic.teams if team in roster.groups)
        return [
            ("Name", topic.name),
            ("Other names", "\n".join(topic.aliases)),
            ("What it is about", topic.description),
            ("Phrases", "\n".join(topic.phrases)),
            ("At least", topic.sensitivity.label.replace("_", " ")),
            ("Guard teams", "\n".join(teams)),
        ]

    rows = [(label, saved, typed) for (label, saved), (_, typed) in zip(told(theirs), told(mine), strict=True)]
    fields = [(name, value) for name, value in request.form.items(multi=True) if name not in ("csrf_token", "seen", "act")]
    return render_template("topics/conflict.html", topic=theirs, rows=rows, fields=fields, seen=stamp(theirs)), 409


def _keep(topic: Topic, draft: Topic) -> Shown:
    level = request.form.get("expect_level", "")
    problem = None
    try:
        redacted = keep_text(
            core(),
            principal(),
            topic,
            request.form.get("bench", ""),
            on_topic=request.form.get("expect", "on") == "on",
            level=Sensitivity.parse(level) if level in [one.label for one in Sensitivity] else None,
        )
        flash("Kept, with its credential replaced." if redacted else "Kept: later drafts are held against it.")
    except (InvalidArgument, Conflict, SecretRejected) as error:
        problem = error.message
    return Shown(_bench(topic, draft), problem=problem, status=422 if problem else 200)


def _bench(topic: Topic | None, draft: Topic) -> Bench:
    text = request.form.get("bench", "")
    texts = _kept(topic, draft)
    if len(text) > CONTENT_MAX:
        return Bench(kept=texts.kept, problem=f"The text has {len(text):,} characters; at most {CONTENT_MAX:,} are taken.")
    if not text.strip():
        return texts
    roster = visitor().roster
    try:
        now = try_text(core(), roster, principal(), text)
        return Bench(now, try_text(core(), with_draft(roster, draft), principal(), text), texts.kept)
    except InvalidArgument as error:
        return Bench(kept=texts.kept, problem=error.message)


def _kept(topic: Topic | None, draft: Topic) -> Bench:
    return Bench(kept=() if topic is None else run_bench(core(), principal(), with_draft(visitor().roster, draft), draft))


def _by_hand(draft: Topic) -> Preview:
    return topic_preview.go_on(core(), principal(), draft, PORTION_BY_HAND_S)


# -- forms -----------------------------------------------------------------------------------------------------------------


def _topic(key: str) -> Topic:
    found = next((topic for topic in core().rosters.current(principal().organization).topics.values() if topic.key == key), None)
    if found is None:
        abort(404)
    return found


def _form(topic: Topic | None) -> TopicForm:
    shown: dict[str, Any] = {"sensitivity": "restricted"}
    if topic is not None:
        shown = {
            "key": topic.key,
            "name": topic.name,
            "aliases": "\n".join(topic.aliases),
            "description": topic.description,
            "phrases": "\n".join(topic.phrases),
            "sensitivity": topic.sensitivity.label,
            "teams": sorted(topic.teams),
        }
    form = TopicForm(data=shown)
    if topic is not None:
        form.key.render_kw = {"readonly": True}
    teams = [group for group in visitor().roster.groups.values() if group.kind is GroupKind.TEAM]
    choose(form.teams, sorted(((team.id, team.name) for team in teams), key=lambda choice: choice[1].casefold()))
    return form


def _typed(key: str) -> tuple[Topic | None, Any, Topic | None]:
    """The topic that an address means, the form that was sent, and the draft in it; None where it will not do."""
    topic = None if key == NEW else _topic(key)
    form = _form(topic)
    return topic, form, _draft(form, topic)


def _draft(form: Any, topic: Topic | None) -> Topic | None:
    """What was typed, as a topic; None, with the form's fields saying why, where it will not do."""
    if not form.validate():
        return None
    try:
        draft = checked_topic(
            topic or Topic(new_id(), form.key.data, ""),
            name=form.name.data,
            aliases=lines(form.aliases.data),
            description=form.description.data or "",
            phrases=lines(form.phrases.data),
            sensitivity=Sensitivity.parse(form.sensitivity.data),
            teams=frozenset(form.teams.data or ()),
        )
        if draft.key == NEW:
            raise InvalidArgument("key", "This key is an address of the console. Choose another.")
        refuse_taken(visitor().roster, draft)
    except InvalidArgument as error:
        blame(form, error)
        return None
    return draft


def _problems(form: Any) -> str:
    return " ".join(f"{field.label.text}: {' '.join(map(str, field.errors))}" for field in form if field.errors)


# -- jobs ------------------------------------------------------------------------------------------------------------------


def _job(topic: Topic, job_id: str) -> Job:
    found = reclassify_jobs.job(core(), principal().organization, job_id)
    if found is None or found.topic != topic.id:
        abort(404)
    return found


def _job_page(topic: Topic, found: Job) -> str:
    people = visitor().roster.people
    summary = reclassify_jobs.summary(core(), principal(), found) if found.state.value != "running" else None
    gains = sorted(people[person].name for person in summary.gains) if summary is not None else []
    by = people[found.person].name if found.person in people else "somebody"
    template = "topics/_job.html" if partial.asked() else "topics/job.html"
    return render_template(template, topic=topic, job=found, summary=summary, gains=gains, by=by)
