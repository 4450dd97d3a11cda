"""Finding memories in the console: a list by filters that the storage applies within the reach, or as recall does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta

from memscope.contracts.storage import Browse, Listing, Transaction
from memscope.core import Core
from memscope.errors import InvalidArgument
from memscope.memories.browse import Line, labels_match, line, open_cursor, seal_cursor
from memscope.memories.names import person_called
from memscope.memories.recall import Recall, Recalled, recall
from memscope.memories.times import parse_moment
from memscope.memories.view import show
from memscope.model.audience import Audience, Permission, Reach, Scope, Sensitivity
from memscope.model.memory import CONTENT_MAX, LABEL_MAX, Kind
from memscope.model.organization import GroupKind, Roster
from memscope.model.principal import Principal
from memscope.policy.permissions import may
from memscope.text.analyse import query_terms
from memscope.work import read

STATES = ("current", "held", "flagged", "review", "superseded", "expired", "expiring", "forgotten")
SCOPES = {"private": Scope.PERSONAL, "shared": Scope.ORGANIZATION, **{scope.value: scope for scope in Scope}}
ORDERS = ("-saved", "saved", "-changed", "changed")
"""Newest first with a minus."""
EXPIRING = timedelta(days=30)
"""`state:expiring` is what expires within this."""
_NOT_OF_RECALL = ("scope", "sensitivity", "agent", "state")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Filters as a person writes them; None: any."""

    text: str | None = None
    """Words, all of which the memory holds."""
    scope: str | None = None
    team: str | None = None
    project: str | None = None
    topic: str | None = None
    sensitivity: str | None = None
    kind: str | None = None
    author: str | None = None
    """Somebody as `person_called` takes them, or `me`."""
    agent: str | None = None
    run: str | None = None
    state: str | None = None
    before: str | None = None
    """Saved before this day or time."""
    after: str | None = None
    """Saved on this day or later."""


KEYS = tuple(field.name for field in fields(Wanted))


@dataclass(frozen=True, slots=True)
class Problem:
    """A filter that could not be applied and was left out."""

    key: str
    value: str
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """A page of memories."""

    lines: tuple[Line, ...]
    next_cursor: str | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class FoundByRecall:
    """What recall finds for the text."""

    recalled: Recalled | None
    """None when there is no text to search for."""
    problems: tuple[Problem, ...]


def find_memories(
    core: Core, principal: Principal, wanted: Wanted, *, order: str = "-saved", cursor: str | None = None, limit: int = 50
) -> Found:
    """A page of what the person may read. InvalidArgument for a cursor of another list and an unknown order.

    Filters that cannot be applied are left out and named.
    """
    if order not in ORDERS:
        raise InvalidArgument("sort", f"There is no order {order}. There are: {', '.join(ORDERS)}.")
    sealed_to = [principal.person, order, *(getattr(wanted, key) for key in KEYS)]
    after = open_cursor(core, cursor, sealed_to) if cursor is not None else None
    forgotten = wanted.state == "forgotten"
    permission = Permission.RESTORE if forgotten else Permission.READ

    def use(transaction: Transaction, roster: Roster, _: Reach) -> Found:
        page, problems = _page(core, principal, roster, wanted)
        page = replace(page, limit=limit + 1, after=after, oldest_first=not order.startswith("-"), by_change=order.endswith("changed"))
        found = transaction.browse(page)
        reader = roster.readers[principal.person]
        reviewing = page.listing is Listing.REVIEW
        shown = [
            memory for memory in found[:limit] if may(reader, permission, memory, by_id=reviewing) and labels_match(memory, page, principal)
        ]
        following = None
        if len(found) > limit:
            following = seal_cursor(core, page.position(found[limit - 1]), sealed_to)
        return Found(tuple(line(answer) for answer in show(core, transaction, roster, principal, shown)), following, problems)

    return read(core, principal, use, permission)


def find_by_recall(core: Core, principal: Principal, wanted: Wanted, *, limit: int = 50) -> FoundByRecall:
    """What an agent of the person would be given for the text, with score and reason; filters that recall lacks are left out."""
    problems = [
        Problem(key, getattr(wanted, key), f"{key}: is left out: recall has no such filter.")
        for key in _NOT_OF_RECALL
        if getattr(wanted, key) is not None
    ]
    roster = core.rosters.current(principal.organization)
    page, wrong = _page(core, principal, roster, replace(wanted, scope=None, sensitivity=None, agent=None, state=None))
    problems += wrong
    bad = {problem.key for problem in wrong}
    if wanted.text is None or "text" in bad:
        return FoundByRecall(None, tuple(problems))
    good = replace(wanted, **dict.fromkeys(bad, None))
    asked = Recall(
        wanted.text,
        limit=limit,
        detail="brief",
        kind=page.kind,
        run_id=good.run,
        project=good.project,
        teams=(good.team,) if good.team else None,
        topics=(good.topic,) if good.topic else None,
        author=page.author,
        since=good.after,
        until=page.until.isoformat() if page.until else None,
    )
    found = recall(core, principal, asked)
    if good.project:
        problems.append(Problem("project", good.project, "project: lifts what lies in it; recall has no filter by project."))
    problems += [Problem(left.filter, left.value, f"{left.filter}: {left.value}: {left.reason}") for left in found.filters.unapplied]
    return FoundByRecall(found, tuple(problems))


def _page(core: Core, principal: Principal, roster: Roster, wanted: Wanted) -> tuple[Browse, tuple[Problem, ...]]:
    """The filters as storage takes them, and those that cannot be applied."""
    now = core.clock()
    problems: list[Problem] = []
    page = Browse(Listing.ALL, 1, now)
    audiences: frozenset[Audience] | None = None
    for key in KEYS:
        value = getattr(wanted, key)
        if value is None:
            continue
        try:
            if key in _PLACES:
                kept = _PLACES[key](roster, value)
                audiences = kept if audiences is None else audiences & kept
            elif key == "state":
                page, kept_or_all = _state(page, roster, value, now)
                if kept_or_all is not None:
                    audiences = kept_or_all if audiences is None else audiences & kept_or_all
            else:
                page = _plain(page, principal, roster, key, value)
        except InvalidArgument as error:
            problems.append(Problem(key, value, error.message))
    if page.terms and page.listing is Listing.FORGOTTEN:
        problems.append(Problem("text", wanted.text or "", "text: is left out: the trash is not searched by words."))
        page = replace(page, terms=())
    if page.since is not None and page.until is not None and page.since >= page.until:
        problems.append(Problem("before", wanted.before or "", "before: must come after after:; both are left out."))
        page = replace(page, since=None, until=None)
    return replace(page, within=audiences), tuple(problems)


def _plain(page: Browse, principal: Principal, roster: Roster, key: str, value: str) -> Browse:
    match key:
        case "text":
            terms = tuple(query_terms(value[:CONTENT_MAX]))
            if not terms:
                raise InvalidArgument("text", f"text: “{value}” says nothing to search for; it is left out.")
            return replace(page, terms=terms)
        case "kind":
            if value not in [kind.value for kind in Kind]:
                raise InvalidArgument("kind", f"kind: there is no kind {value}. There are: {', '.join(kind.value for kind in Kind)}.")
            return replace(page, kind=Kind(value))
        case "author":
            author = roster.people.get(principal.person) if value == "me" else person_called(roster, value)
            if author is None:
                raise InvalidArgument("author", f"author: nobody is called {value}, or several are. Write the e-mail address.")
            return replace(page, author=author.id)
        case "agent" | "run":
            if len(value) > LABEL_MAX:
                raise InvalidArgument(key, f"{key}: has at most {LABEL_MAX} characters.")
            return replace(page, agent=value) if key == "agent" else replace(page, run_id=value)
    moment = parse_moment(key, value, roster.organization.timezone, end_of_day=False)
    return replace(page, until=moment) if key == "before" else replace(page, since=moment)


def _state(page: Browse, roster: Roster, value: str, now: datetime) -> tuple[Browse, frozenset[Audience] | None]:
    def held(is_held: bool) -> frozenset[Audience]:
        return frozenset(audience for audience in roster.audiences if audience.held is is_held)

    match value:
        case "current":
            return replace(page, superseded=False, expired=False), held(False)
        case "held":
            return page, held(True)
        case "flagged":
            return replace(page, flagged=True), None
        case "review":
            return replace(page, listing=Listing.REVIEW), None
        case "superseded":
            return replace(page, superseded=True), None
        case "expired":
            return replace(page, expired=True), None
        case "expiring":
            return replace(page, expired=False, expires_before=now + EXPIRING), None
        case "forgotten":
            return replace(page, listing=Listing.FORGOTTEN), None
    raise InvalidArgument("state", f"state: there is no state {value}. There are: {', '.join(STATES)}.")


def _by_scope(roster: Roster, value: str) -> frozenset[Audience]:
    if value not in SCOPES:
        raise InvalidArgument("scope", f"scope: there is no scope {value}. There are: {', '.join(scope.value for scope in Scope)}.")
    return frozenset(audience for audience in roster.audiences if audience.place.scope is SCOPES[value])


def _by_group(kind: GroupKind) -> Callable[[Roster, str], frozenset[Audience]]:
    def among(roster: Roster, value: str) -> frozenset[Audience]:
        group = roster.find_group(value, kind)
        if group is None:
            raise InvalidArgument(kind.value, f"{kind.value}: there is no {kind.value} {value}.")
        return frozenset(audience for audience in roster.audiences if audience.place.group == group.id)

    return among


def _by_topic(roster: Roster, value: str) -> frozenset[Audience]:
    topic = roster.find_topic(value)
    if topic is None:
        raise InvalidArgument("topic", f"topic: there is no topic {value}.")
    return frozenset(audience for audience in roster.audiences if topic.id in audience.topics)


def _by_sensitivity(roster: Roster, value: str) -> frozenset[Audience]:
    try:
        level = Sensitivity.parse(value)
    except ValueError:
        levels = ", ".join(level.label for level in Sensitivity)
        raise InvalidArgument("sensitivity", f"sensitivity: there is no level {value}. There are: {levels}.") from None
    return frozenset(audience for audience in roster.audiences if audience.sensitivity is level)


_PLACES: dict[str, Callable[[Roster, str], frozenset[Audience]]] = {
    "scope": _by_scope,
    "team": _by_group(GroupKind.TEAM),
    "project": _by_group(GroupKind.PROJECT),
    "topic": _by_topic,
    "sensitivity": _by_sensitivity,
}
"""Filters that leave some audiences of the reach."""
