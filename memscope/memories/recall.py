"""Recall: search the memories that the person may read, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memscope.contracts.storage import Browse, Hit, Listing, Question, SearchFilter, Transaction
from memscope.core import Core
from memscope.errors import InvalidArgument
from memscope.memories import noting
from memscope.memories.rank import falling, in_order, lifted, one_voice_at_most_half, rank
from memscope.memories.texts import clean
from memscope.memories.times import parse_moment
from memscope.memories.view import ClientName, Named, client_of, group_slugs, named, topic_keys, visible_successors
from memscope.model.audience import Audience, Permission, Place, Reach
from memscope.model.memory import CONTENT_MAX, Kind, Memory
from memscope.model.organization import Group, GroupKind, Roster
from memscope.model.principal import Principal
from memscope.policy.permissions import may
from memscope.text.analyse import query_terms
from memscope.text.normalise import preview, safe
from memscope.work import read

PREVIEW = 200
MAX_CHARS_DEFAULT = 80_000
"""Keeps one answer under what common clients take (about 25,000 tokens)."""
OPENED = 80
"""How many ranked candidates are opened, whatever the limit: enough for 50 results after leaving out repeats."""


@dataclass(frozen=True, slots=True)
class Recall:
    """The arguments of `recall`."""

    query: str
    project: str | None = None
    team: str | None = None
    topics: tuple[str, ...] | None = None
    teams: tuple[str, ...] | None = None
    limit: int = 10
    detail: str | None = None
    max_chars: int | None = None
    kind: Kind | None = None
    include_expired: bool = False
    include_superseded: bool = False
    run_id: str | None = None
    since: str | None = None
    until: str | None = None
    author: str | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """What to quote with a result."""

    date: str
    scope: str
    sensitivity: str


@dataclass(frozen=True, slots=True)
class Result:
    """One memory found."""

    id: str
    number: int
    content: str | None
    preview: str | None
    kind: str | None
    scope: str
    team: str | None
    project: str | None
    sensitivity: str
    topics: tuple[str, ...]
    importance: float
    score: float
    why: str
    citation: Citation
    author: Named
    same_person: bool
    client: ClientName | None
    agent: str | None
    run_id: str | None
    version: int
    created_at: datetime
    valid_until: datetime | None
    expired: bool
    superseded: bool
    superseded_by: str | None
    flagged: bool
    removed_characters: int


@dataclass(frozen=True, slots=True)
class Applied:
    """A filter that acted, with its canonical values."""

    filter: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unapplied:
    """A filter value that could not be applied, and why."""

    filter: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class Filters:
    """What became of the hard filters."""

    applied: tuple[Applied, ...]
    unapplied: tuple[Unapplied, ...]


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer of `recall`."""

    results: tuple[Result, ...]
    filters: Filters
    narrowed_by: tuple[str, ...]
    truncated: bool
    hint: str | None
    search: str
    """`meaning_and_words`, or `words` while the model is not there."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The filters of one call, resolved against one roster."""

    where: SearchFilter
    filters: Filters
    lifted: tuple[Group, ...]

    @property
    def possible(self) -> bool:
        """Whether anything can match at all."""
        return self.where.within is None or bool(self.where.within)


def recall(core: Core, principal: Principal, wanted: Recall) -> Recalled:
    """Search what the person may read. Raises InvalidArgument.

    Slow work (analysing, embedding) comes before the transaction; what the roster said before it decides nothing after.
    """
    board = wanted.kind is Kind.HANDOFF and wanted.run_id is not None
    query = clean("query", wanted.query, CONTENT_MAX, shortest=0 if board else 1)
    if board:
        return _counted(core, principal, wanted, query, _board(core, principal, wanted))
    terms = tuple(dict.fromkeys(query_terms(query)))
    vector = core.embedding.query(query)
    question = Question(terms, vector, core.embedding.model.identity if vector is not None else None)

    def use(transaction: Transaction, roster: Roster, _: Reach) -> Recalled:
        narrowing = narrow(core, principal, roster, wanted)
        hits = transaction.search(question, narrowing.where) if narrowing.possible else []
        return _answer(core, transaction, principal, roster, wanted, narrowing, hits, question)

    return _counted(core, principal, wanted, query, read(core, principal, use))


def _counted(core: Core, principal: Principal, wanted: Recall, query: str, answer: Recalled) -> Recalled:
    teams = [wanted.team, *(wanted.teams or ()), *(result.team for result in answer.results)]
    projects = [wanted.project, *(result.project for result in answer.results)]
    ids = [result.id for result in answer.results]
    noting.recalled(core, principal, query, ids, teams=teams, projects=projects, topics=wanted.topics)
    return answer


def narrow(core: Core, principal: Principal, roster: Roster, wanted: Recall) -> Narrowing:
    """Resolve every filter; what cannot be applied is reported, and a list of which nothing applies leaves nothing."""
    applied: list[Applied] = []
    unapplied: list[Unapplied] = []
    audiences: frozenset[Audience] | None = None
    if wanted.topics is not None:
        topics = {name: roster.find_topic(name) for name in wanted.topics}
        unapplied += [
            Unapplied("topics", _echo(name), "This organization has no such topic; list_topics shows them.")
            for name, topic in topics.items()
            if topic is None
        ]
        ids = frozenset(topic.id for topic in topics.values() if topic is not None)
        applied += _acted("topics", (topic.key for topic in topics.values() if topic is not None))
        audiences = frozenset(audience for audience in roster.audiences if audience.topics & ids)
    if wanted.teams is not None:
        mine = {group.id for group in roster.groups_of(principal.person, GroupKind.TEAM)}
        found = {name: roster.find_group(name, GroupKind.TEAM) for name in wanted.teams}
        good = [group for group in found.values() if group is not None and group.id in mine]
        unapplied += [
            Unapplied("teams", _echo(name), "There is no such team that the signed-in person belongs to; list_teams shows theirs.")
            for name, group in found.items()
            if group is None or group.id not in mine
        ]
        applied += _acted("teams", (group.slug for group in good))
        places = {Place.team(group.id) for group in good}
        matching = frozenset(audience for audience in roster.audiences if audience.place in places)
        audiences = matching if audiences is None else audiences & matching
    lifted = tuple(
        group
        for kind, name in ((GroupKind.TEAM, wanted.team), (GroupKind.PROJECT, wanted.project))
        if name is not None and (group := roster.find_group(name, kind)) is not None
    )
    for name, given in (("topics", wanted.topics), ("teams", wanted.teams)):
        if given == ():
            unapplied.append(Unapplied(name, "", "The list is empty, so nothing can match it."))
    where, more, failed = _where(core, roster, wanted)
    applied += more
    if failed is not None:
        unapplied.append(failed)
        audiences = frozenset()
    return Narrowing(replace(where, within=audiences), Filters(tuple(applied), tuple(unapplied)), lifted)


def _acted(name: str, values: Iterable[str]) -> list[Applied]:
    canonical = tuple(sorted(set(values)))
    return [Applied(name, canonical)] if canonical else []


def _echo(value: str) -> str:
    """A caller's value as it is given back: cleaned and short."""
    return preview(value, 80)


def _where(core: Core, roster: Roster, wanted: Recall) -> tuple[SearchFilter, list[Applied], Unapplied | None]:
    timezone = roster.organization.timezone
    since = parse_moment("since", wanted.since, timezone, end_of_day=False) if wanted.since is not None else None
    until = parse_moment("until", wanted.until, timezone, end_of_day=True) if wanted.until is not None else None
    if since is not None and until is not None and since >= until:
        raise InvalidArgument("until", "until must come after since.")
    author = roster.find_person(wanted.author) if wanted.author is not None else None
    applied: list[Applied] = []
    for name, value in (
        ("kind", wanted.kind.value if wanted.kind else None),
        ("run_id", wanted.run_id),
        ("author", author.email if author else None),
        ("since", since.isoformat().replace("+00:00", "Z") if since else None),
        ("until", until.isoformat().replace("+00:00", "Z") if until else None),
    ):
        if value is not None:
            applied.append(Applied(name, (value,)))
    failed = None
    if wanted.author is not None and author is None:
        failed = Unapplied("author", _echo(wanted.author), "Nobody of this organization has this e-mail address or id.")
    where = SearchFilter(
        now=core.clock(),
        kind=wanted.kind,
        include_expired=wanted.include_expired,
        include_superseded=wanted.include_superseded,
        run_id=wanted.run_id,
        author=author.id if author else None,
        since=since,
        until=until,
    )
    return where, applied, failed


def _answer(
    core: Core,
    transaction: Transaction,
    principal: Principal,
    roster: Roster,
    wanted: Recall,
    narrowing: Narrowing,
    hits: Sequence[Hit],
    question: Question,
) -> Recalled:
    ranked = rank(hits, question)[:OPENED]
    opened = transaction.memories([item.hit.memory for item in ranked])
    groups = {group.id for group in narrowing.lifted}
    by_id = {item.hit.memory: lifted(item, opened[item.hit.memory], groups) for item in ranked if item.hit.memory in opened}
    reader = roster.readers[principal.person]

    def showable(memory: Memory) -> bool:
        # The policy decides again on the very values read: storage's filter is no second telling of a rule.
        if memory.tainted or not may(reader, Permission.READ, memory, by_id=False):
            return False
        # A label that is shown to its person alone finds nothing for others either.
        return wanted.run_id is None or not memory.provenance.doubtful or memory.author == principal.person

    # Looked at only as far down as the answer needs.
    ordered = (opened[item.hit.memory] for item in in_order(tuple(by_id.values())))
    chosen = one_voice_at_most_half(_without_repeats(filter(showable, ordered)), wanted.limit, principal.person)
    scores = falling([by_id[memory.id].score for memory in chosen])
    successors = visible_successors(transaction, roster, principal, chosen)
    results = [
        _result(core, principal, roster, memory, score, _why(by_id[memory.id].hit, memory, narrowing.lifted), successors.get(memory.id))
        for memory, score in zip(chosen, scores, strict=True)
    ]
    answer = Recalled(
        results=(),
        filters=narrowing.filters,
        narrowed_by=tuple(sorted(group.name for group in narrowing.lifted)),
        truncated=False,
        hint=_hint(core, narrowing, bool(results), question),
        search="meaning_and_words" if question.vector is not None else "words",
    )
    return fit(answer, results, wanted.detail or "full", wanted.max_chars)


_NOT_WORDS = re.compile(r"\W+")


def _without_repeats(memories: Iterable[Memory]) -> Iterator[Memory]:
    """The same words told again by one author show once, whatever case and punctuation: the best ranked stands for them."""
    seen: set[tuple[str, str]] = set()
    for memory in memories:
        key = (memory.author, _NOT_WORDS.sub(" ", memory.open_text.casefold()).strip())
        if key not in seen:
            seen.add(key)
            yield memory


def _why(hit: Hit, memory: Memory, lifted: Sequence[Group]) -> str:
    parts = []
    if hit.matched:
        parts.append("holds " + ", ".join(hit.matched[:5]))
    if hit.similarity is not None and hit.similarity >= 0.3:
        parts.append("close in meaning" if hit.similarity >= 0.5 else "related in meaning")
    if memory.place.group in {group.id for group in lifted}:
        parts.append("in the group asked for")
    if memory.importance > 0.5:
        parts.append("marked important")
    why = "; ".join(parts) or "weakly related"
    return why[:1].upper() + why[1:]


def _result(core: Core, principal: Principal, roster: Roster, memory: Memory, score: float, why: str, successor: str | None) -> Result:
    team, project = group_slugs(memory.place, roster)
    content, removed = safe(memory.open_text)
    mine = memory.author == principal.person
    labels = mine or not memory.provenance.doubtful
    return Result(
        id=memory.id,
        number=memory.number,
        content=content,
        preview=None,
        kind=memory.kind.value if memory.kind else None,
        scope=memory.place.scope.value,
        team=team,
        project=project,
        sensitivity=memory.sensitivity.label,
        topics=topic_keys(memory.topics, roster),
        importance=memory.importance,
        score=score,
        why=why,
        citation=Citation(memory.created_at.date().isoformat(), memory.place.scope.value, memory.sensitivity.label),
        author=named(memory.author, roster),
        same_person=mine,
        client=client_of(memory),
        agent=memory.provenance.agent if labels else None,
        run_id=memory.provenance.run_id if labels else None,
        version=memory.version,
        created_at=memory.created_at,
        valid_until=memory.valid_until,
        expired=memory.expired(core.clock()),
        superseded=memory.superseded,
        superseded_by=successor,
        flagged=memory.flagged,
        removed_characters=removed,
    )


def fit(answer: Recalled, results: Sequence[Result], detail: str, max_chars: int | None) -> Recalled:
    """Put in as many whole results as the budget of characters allows; at least the first, cut, when nothing else fits."""
    shown = (
        [replace(result, content=None, preview=preview(result.content or "", PREVIEW)) for result in results]
        if detail == "brief"
        else list(results)
    )
    budget = MAX_CHARS_DEFAULT if max_chars is None else max_chars
    kept: list[Result] = []
    for result in shown:
        size = len(result.content if result.content is not None else result.preview or "")
        if size > budget:
            break
        budget -= size
        kept.append(result)
    if len(kept) == len(shown):
        return replace(answer, results=tuple(kept))
    if not kept:
        # A single memory larger than the whole budget: its beginning is more use than nothing, and is marked as a preview.
        kept = [replace(shown[0], content=None, preview=preview(shown[0].content or shown[0].preview or "", budget))]
    hint = f"{len(shown) - len(kept)} more results did not fit into max_chars. Ask with detail=brief, a smaller limit or narrower filters, or open one with get_memory."
    return replace(answer, results=tuple(kept), truncated=True, hint=hint)


def _hint(core: Core, narrowing: Narrowing, found: bool, question: Question) -> str | None:
    parts = []
    acted = {item.filter for item in narrowing.filters.applied}
    failed = sorted({item.filter for item in narrowing.filters.unapplied} - acted)
    if not found and failed:
        parts.append(f"No value of {', '.join(failed)} could be applied, so nothing can match.")
    elif not found and narrowing.filters.applied:
        names = [item.filter for item in narrowing.filters.applied]
        parts.append(f"Nothing readable matches within {', '.join(names)}. Leave one of them out to see more.")
    elif not found:
        parts.append("Nothing that the signed-in person may read matches. Try other words.")
    if question.vector is None:
        state = "is still loading" if core.embedding.state == "loading" else "could not be used"
        parts.append(f"The language model {state}: this search went by words alone.")
    return " ".join(parts) or None


def _board(core: Core, principal: Principal, wanted: Recall) -> Recalled:
    """The handoff notes of a run, newest first; project is a hard filter here. An unreadable run looks like none."""

    def use(transaction: Transaction, roster: Roster, _: Reach) -> Recalled:
        narrowing = narrow(core, principal, roster, wanted)
        filters, audiences = narrowing.filters, narrowing.where.within
        if wanted.project is not None:
            group = roster.find_group(wanted.project, GroupKind.PROJECT)
            if group is None:
                failed = Unapplied("project", _echo(wanted.project), "This organization has no such project; list_teams shows them.")
                filters = replace(filters, unapplied=(*filters.unapplied, failed))
                audiences = frozenset()
            else:
                filters = replace(filters, applied=(*filters.applied, Applied("project", (group.slug,))))
                matching = frozenset(audience for audience in roster.audiences if audience.place.group == group.id)
                audiences = matching if audiences is None else audiences & matching
        memories: list[Memory] = []
        if audiences is None or audiences:
            memories = _board_page(transaction, replace(narrowing.where, within=audiences), wanted.limit)
        reader = roster.readers[principal.person]
        memories = [memory for memory in memories if not memory.tainted and may(reader, Permission.READ, memory, by_id=False)]
        successors = visible_successors(transaction, roster, principal, memories)
        results = [
            _result(core, principal, roster, memory, 1.0, "On the board of this run", successors.get(memory.id)) for memory in memories
        ]
        hint = None if results else "No note of this run can be read by the signed-in person."
        answer = Recalled((), filters, (), False, hint, "board")
        return fit(answer, results, wanted.detail or "brief", wanted.max_chars)

    return read(core, principal, use)


def _board_page(transaction: Transaction, where: SearchFilter, limit: int) -> list[Memory]:
    kept: list[Memory] = []
    after: tuple[datetime, str] | None = None
    while len(kept) < limit:
        page = transaction.browse(
            Browse(
                Listing.BOARD,
                50,
                where.now,
                Kind.HANDOFF,
                run_id=where.run_id,
                after=after,
                within=where.within,
                include_expired=where.include_expired,
                include_superseded=where.include_superseded,
            )
        )
        kept += [
            memory
            for memory in page
            if (where.author is None or memory.author == where.author)
            and (where.since is None or memory.created_at >= where.since)
            and (where.until is None or memory.created_at < where.until)
        ]
        if len(page) < 50:
            break
        after = (page[-1].created_at, page[-1].id)
    return kept[:limit]
