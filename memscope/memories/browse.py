"""Looking around: lists, one memory with its history, groups and topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memscope.contracts.storage import Browse, Listing, Transaction
from memscope.core import Core
from memscope.errors import InvalidArgument
from memscope.memories import noting
from memscope.memories.open import open_memory
from memscope.memories.view import ClientName, MemoryAnswer, Named, named, show, withheld
from memscope.model.audience import Permission, Reach, Scope
from memscope.model.memory import Kind, Memory, Version
from memscope.model.organization import Group, GroupKind, GroupRole, Roster
from memscope.model.principal import Principal
from memscope.policy.permissions import may, may_read_version
from memscope.text.normalise import preview, safe
from memscope.work import read

FILTERS = ("mine", "needs_review", "team", "project", "forgotten")


@dataclass(frozen=True, slots=True)
class ListMemories:
    """The arguments of `list_memories`."""

    filter: str | None = None
    limit: int = 20
    cursor: str | None = None
    kind: Kind | None = None
    agent: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One memory in a list."""

    id: str
    number: int
    preview: str | None
    kind: str | None
    scope: str
    team: str | None
    project: str | None
    sensitivity: str
    topics: tuple[str, ...]
    review_state: str
    review_kind: str | None
    author: Named
    client: ClientName | None
    agent: str | None
    run_id: str | None
    version: int
    created_at: datetime
    updated_at: datetime
    valid_until: datetime | None
    expired: bool
    superseded: bool
    superseded_by: str | None
    forgotten_at: datetime | None
    held: bool
    flagged: bool
    withheld: bool
    console_url: str | None


@dataclass(frozen=True, slots=True)
class Listed:
    """The answer of `list_memories`."""

    memories: tuple[Line, ...]
    next_cursor: str | None


def list_memories(core: Core, principal: Principal, wanted: ListMemories) -> Listed:
    """A page of the memories that the person may read, newest first. InvalidArgument for a cursor of another list."""
    listing = {"mine": Listing.MINE, "needs_review": Listing.REVIEW, "forgotten": Listing.FORGOTTEN}.get(wanted.filter or "", Listing.ALL)
    permission = Permission.RESTORE if listing is Listing.FORGOTTEN else Permission.READ
    sealed_to = [principal.person, wanted.filter, wanted.kind.value if wanted.kind else None, wanted.agent, wanted.run_id]
    after = open_cursor(core, wanted.cursor, sealed_to) if wanted.cursor is not None else None

    def use(transaction: Transaction, roster: Roster, _: Reach) -> Listed:
        within = None
        if wanted.filter in ("team", "project"):
            scope = Scope(wanted.filter)
            within = frozenset(audience for audience in roster.audiences if audience.place.scope is scope)
        page = Browse(listing, wanted.limit + 1, core.clock(), wanted.kind, wanted.agent, wanted.run_id, after, within)
        found = transaction.browse(page)
        reader = roster.readers[principal.person]
        memories = [
            memory
            for memory in found[: wanted.limit]
            if may(reader, permission, memory, by_id=listing is Listing.REVIEW) and labels_match(memory, page, principal)
        ]
        cursor = None
        if len(found) > wanted.limit:
            cursor = seal_cursor(core, page.position(found[wanted.limit - 1]), sealed_to)
        return Listed(tuple(line(answer) for answer in show(core, transaction, roster, principal, memories)), cursor)

    return read(core, principal, use, permission)


def labels_match(memory: Memory, page: Browse, principal: Principal) -> bool:
    """Labels that are shown to nobody but their author cannot be searched by others either."""
    return not (memory.provenance.doubtful and memory.author != principal.person and (page.agent or page.run_id))


def seal_cursor(core: Core, position: tuple[datetime, str], sealed_to: Sequence[str | None]) -> str:
    """A cursor that goes on after a position (`Browse.position`), for whom and which list `sealed_to` says."""
    return core.keys.seal("cursor", [*sealed_to, position[0].isoformat(), position[1]])


def open_cursor(core: Core, cursor: str, sealed_to: Sequence[str | None]) -> tuple[datetime, str]:
    """The position that a cursor of this very list means. InvalidArgument."""
    try:
        *found, moment, last = core.keys.unseal("cursor", cursor)
        if found == list(sealed_to):
            return datetime.fromisoformat(moment), last
    except (ValueError, TypeError):
        pass
    raise InvalidArgument(
        "cursor",
        "This cursor is not from this list.",
        hint="Use next_cursor of the page before with the same filters, or start without a cursor.",
    )


def line(memory: MemoryAnswer) -> Line:
    """A memory as lists show it."""
    return Line(
        id=memory.id,
        number=memory.number,
        preview=None if memory.content is None else preview(memory.content),
        kind=memory.kind,
        scope=memory.scope,
        team=memory.team,
        project=memory.project,
        sensitivity=memory.sensitivity,
        topics=memory.topics,
        review_state=memory.review_state,
        review_kind=memory.review_kind,
        author=memory.author,
        client=memory.client,
        agent=memory.agent,
        run_id=memory.run_id,
        version=memory.version,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        valid_until=memory.valid_until,
        expired=memory.expired,
        superseded=memory.superseded,
        superseded_by=memory.superseded_by,
        forgotten_at=memory.forgotten_at,
        held=memory.held,
        flagged=memory.flagged,
        withheld=memory.withheld,
        console_url=memory.console_url,
    )


@dataclass(frozen=True, slots=True)
class VersionAnswer:
    """One text that a memory has had."""

    version: int
    content: str | None
    author: Named
    changed_at: datetime
    reason: str | None
    agent: str | None
    run_id: str | None
    client: ClientName | None


@dataclass(frozen=True, slots=True)
class GotMemory:
    """The answer of `get_memory`."""

    memory: MemoryAnswer
    versions: tuple[VersionAnswer, ...]


def get_memory(core: Core, principal: Principal, memory_id: str) -> GotMemory:
    """One memory and those of its texts that the person may read, newest first. NotFound."""

    def use(transaction: Transaction, roster: Roster, _: Reach) -> GotMemory:
        memory = open_memory(core, transaction, principal, roster, memory_id)
        reader = roster.readers[principal.person]
        hidden = withheld(memory, principal, roster)
        versions = [version for version in transaction.versions(memory.id) if may_read_version(reader, memory, version)]
        return GotMemory(
            show(core, transaction, roster, principal, [memory], raw=True)[0],
            tuple(version_answer(version, principal, roster, hidden) for version in versions),
        )

    found = read(core, principal, use)
    noting.opened(core, principal, found.memory.id)
    return found


def version_answer(version: Version, principal: Principal, roster: Roster, hidden: bool) -> VersionAnswer:
    """One text that a memory has had; `hidden` leaves the text out."""
    made = version.provenance
    told = made.person == principal.person or not made.doubtful
    return VersionAnswer(
        version=version.number,
        content=None if hidden else safe(version.open_text)[0],
        author=named(made.person, roster),
        changed_at=version.changed_at,
        reason=safe(version.reason)[0] if version.reason and told and not hidden else None,
        agent=made.agent if told else None,
        run_id=made.run_id if told else None,
        client=ClientName(made.client, made.client_version) if made.client else None,
    )


@dataclass(frozen=True, slots=True)
class GroupAnswer:
    """A team or project, and what the person is in it."""

    id: str
    slug: str
    name: str
    aliases: tuple[str, ...]
    member: bool
    owner: bool


@dataclass(frozen=True, slots=True)
class GroupsAnswer:
    """The answer of `list_teams`."""

    teams: tuple[GroupAnswer, ...]
    projects: tuple[GroupAnswer, ...]


def list_teams(core: Core, principal: Principal, kind: str = "all") -> GroupsAnswer:
    """The teams and projects of the person's organization; `kind` is teams, projects or all."""
    roster = core.rosters.current(principal.organization)

    def of(group_kind: GroupKind) -> tuple[GroupAnswer, ...]:
        groups = sorted((group for group in roster.groups.values() if group.kind is group_kind), key=lambda group: group.slug)
        return tuple(_group(group, roster, principal.person) for group in groups)

    return GroupsAnswer(
        teams=of(GroupKind.TEAM) if kind in ("all", "teams") else (),
        projects=of(GroupKind.PROJECT) if kind in ("all", "projects") else (),
    )


def _group(group: Group, roster: Roster, person: str) -> GroupAnswer:
    role = roster.memberships.get(group.id, {}).get(person)
    return GroupAnswer(group.id, group.slug, group.name, group.aliases, role is not None, role is GroupRole.OWNER)


@dataclass(frozen=True, slots=True)
class TopicAnswer:
    """A sensitive topic."""

    id: str
    key: str
    name: str
    aliases: tuple[str, ...]
    description: str
    sensitivity: str
    mapped: bool
    teams: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicsAnswer:
    """The answer of `list_topics`."""

    topics: tuple[TopicAnswer, ...]


def list_topics(core: Core, principal: Principal) -> TopicsAnswer:
    """The sensitive topics of the person's organization, with the slugs of the teams that guard them."""
    roster = core.rosters.current(principal.organization)
    slug: Callable[[str], str] = lambda team: roster.groups[team].slug  # noqa: E731
    return TopicsAnswer(
        tuple(
            TopicAnswer(
                topic.id,
                topic.key,
                topic.name,
                topic.aliases,
                topic.description,
                topic.sensitivity.label,
                bool(topic.teams),
                tuple(sorted(slug(team) for team in topic.teams)),
            )
            for topic in sorted(roster.topics.values(), key=lambda topic: topic.key)
        )
    )
