"""Storage: the only way to data.

No reach, no rows; no act, no writes. Storage sees audience values and turns them into ids of its own; it never decides
a permission. Two implementations keep to this page: `memscope_postgres` and `memscope_inprocess`; the conformance suite
in `memscope.testing` runs against both.

Every method raises `memscope.errors.Unavailable` when the database cannot be reached or is busy; nothing is then written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Protocol

from memscope.contracts.embedding import Vectors
from memscope.model.audience import Audience, Reach
from memscope.model.audit import Act, AuditRow
from memscope.model.memory import Kind, Memory, Version
from memscope.model.organization import Connection, Group, GroupRole, Organization, Person, Roster, Topic


class Stale(Exception):
    """The organization's epoch rose since the reach was worked out: work it out anew and begin again."""


class Revoked(Exception):
    """The connection was revoked or has expired, or its person was disabled: nothing of this transaction stands."""


class UnknownAudience(Exception):
    """A memory would get an audience that storage does not know yet: `Storage.intern` it and begin again."""

    def __init__(self, audience: Audience) -> None:
        super().__init__("unknown audience")
        self.audience = audience


class NumberTaken(Exception):
    """Another memory of the organization has this number: draw another."""


@dataclass(frozen=True, slots=True)
class Operator:
    """A transaction of upkeep or of a command on the server's machine. It sees every row of one organization.

    With `organization` None it sees what belongs to none (the directory of organizations) and may make one.
    """

    reason: str
    """Why, in a few words without content, such as `purge` or `org apply`; kept in the audit row."""
    organization: str | None


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What recall finds a memory by. Made from the masked text."""

    terms: tuple[str, ...]
    """Terms of our own analyser in order, with repeats."""
    model: str | None
    """`EmbeddingModel.identity`; None while there is no vector (the upkeep runner adds it)."""
    vectors: Vectors | None
    """One row per passage, shape (passages, dimensions)."""


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Hard filters beside the reach."""

    now: datetime
    kind: Kind | None = None
    """None: every kind but handoff notes."""
    include_expired: bool = False
    include_superseded: bool = False
    run_id: str | None = None
    author: str | None = None
    """Person id."""
    since: datetime | None = None
    """created_at >= since."""
    until: datetime | None = None
    """created_at < until."""
    within: frozenset[Audience] | None = None
    """Only memories with one of these audiences: what filters by topic, team and place leave of the reach. None: no such filter."""


@dataclass(frozen=True, slots=True)
class Question:
    """What to search for."""

    terms: tuple[str, ...]
    """Distinct terms of the analysed query; may be empty."""
    vector: Vectors | None
    """Shape (dimensions,), or None: words alone."""
    model: str | None
    candidates: int = 120
    """How many of each leg to return."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A candidate of either leg. Scores depend on the question and on memories within the reach alone."""

    memory: str
    """Memory id."""
    author: str
    created_at: datetime
    run_id: str | None
    similarity: float | None
    """Cosine of the best passage, -1..1; None when the vector leg did not return it and it has no vector."""
    words: float
    """0..1: the share of the question that its words cover. The sum of idf over the query terms it holds, divided by the sum
    over all query terms, where idf = ln(1 + (N - df + .5) / (df + .5)), N memories are within the reach and filter, and df
    of them hold the term (none: the term still counts in the divisor, so that an absent subject scores low)."""
    matched: tuple[str, ...]
    """The query terms it holds."""
    neighbours: tuple[str, ...] = ()
    """Ids of the memories saved just before and after it in the same run, when they are within the reach."""


class Listing(Enum):
    """Which memories to browse."""

    ALL = "all"
    MINE = "mine"
    """The reader is the author."""
    REVIEW = "review"
    """A flag is open, and the reader is the author or a reviewer (the reach's `reviewer` set)."""
    FORGOTTEN = "forgotten"
    """Within a reach for RESTORE: those of the `anybody` set, and the reader's own that the reader forgot."""
    BOARD = "board"
    """Handoff notes that recall may show: not tainted or forgotten, nor expired or superseded unless the page includes those."""


@dataclass(frozen=True, slots=True)
class Browse:
    """A page of memories, newest first by (created_at, id); for REVIEW, oldest opened first by (`opened_at` of the earliest open review, id)."""

    listing: Listing
    limit: int
    now: datetime
    kind: Kind | None = None
    agent: str | None = None
    """Any version saved under this label."""
    run_id: str | None = None
    """Any version saved under this label."""
    after: tuple[datetime, str] | None = None
    """Position of the last one of the page before."""
    within: frozenset[Audience] | None = None
    """As in SearchFilter."""
    oldest_first: bool = False
    """Oldest first in the other listings too."""
    include_expired: bool = False
    """On a BOARD: expired notes too."""
    include_superseded: bool = False
    """On a BOARD: replaced notes too."""
    author: str | None = None
    """Person id."""
    since: datetime | None = None
    """created_at >= since."""
    until: datetime | None = None
    """created_at < until."""
    terms: tuple[str, ...] = ()
    """Terms of the analysed text, all of which the memory must hold. Not under FORGOTTEN: what is forgotten is in no index."""
    flagged: bool | None = None
    """Whether a flag must be open, or none."""
    superseded: bool | None = None
    """Whether a newer memory must stand in its place now, or none."""
    expired: bool | None = None
    """Whether it must be past its valid_until, or not."""
    expires_before: datetime | None = None
    """valid_until < this."""
    replaced_by: str | None = None
    """Memory id: only those whose supersede link leads to it."""
    by_change: bool = False
    """Ordered by (updated_at, id), and `after` likewise; not under REVIEW."""
    backwards: bool = False
    """The other way round, and `after` likewise: what stands before a position, nearest first."""

    def position(self, memory: Memory) -> tuple[datetime, str]:
        """Where a memory stands in this order: what the next page's `after` is, for the last one of a page."""
        if self.listing is Listing.REVIEW:
            return min(review.opened_at for review in memory.reviews), memory.id
        return memory.updated_at if self.by_change else memory.created_at, memory.id


@dataclass(frozen=True, slots=True)
class AuditSearch:
    """Which rows of an audit chain, newest first; None: any."""

    limit: int
    before: int | None = None
    """Only rows with a lower position."""
    actor: str | None = None
    """Person id."""
    action: str | None = None
    """The action, or its beginning followed by `*`."""
    target: str | None = None
    connection: str | None = None
    agent: str | None = None
    run_id: str | None = None
    result: str | None = None
    """How it was approved: a value of `ApprovedVia`."""
    request: str | None = None
    """Id of the request in whose course it was written (`memscope.contracts.requests`)."""
    since: datetime | None = None
    """at >= since."""
    until: datetime | None = None
    """at < until."""


@dataclass(frozen=True, slots=True)
class Claim:
    """An idempotency record."""

    memory: str
    """Memory id."""
    digest: str
    fresh: bool
    """Whether this transaction made it."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A one-time approval that a person decides (DESIGN section 4)."""

    id: str
    person: str
    connection: str
    tool: str
    memory: str
    memory_version: int
    digest: str
    """Keyed digest of the canonical resolved arguments."""
    gaining: frozenset[str]
    """Person ids who would gain reading."""
    summary: Mapping[str, Any]
    """What the person is shown: audiences before and after, counts, the agent's own words quoted. No memory text."""
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None = None
    approved: bool | None = None
    used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Unindexed:
    """A memory that lacks vectors of one model."""

    memory: str
    text: str
    """The masked text."""
    author_name: str
    created_at: datetime


class Transaction(Protocol):
    """One unit of work in one organization. Everything read is within the reach; everything commits together."""

    @property
    def now(self) -> datetime:
        """The transaction's time, UTC."""

    def describe(self, act: Act) -> None:
        """Replace the act with one that says what became known inside the transaction."""

    # reading memories
    def memory(self, reference: str | int, *, lock: bool = False) -> Memory | None:
        """By id or number: within the reach, `reviewer` and `revealed` included. Forgotten ones only within a reach for RESTORE.

        `lock` keeps it from changing until the end of the transaction; needs an act.
        """

    def memories(self, ids: Sequence[str]) -> Mapping[str, Memory]:
        """Those of the ids that are within the reach without `reviewer`; missing ones are left out."""

    def versions(self, memory: str) -> tuple[Version, ...]:
        """The texts a memory has had, newest first. The memory must be within the reach."""

    def search(self, question: Question, where: SearchFilter) -> list[Hit]:
        """Candidates of both legs, in no promised order. Never tainted or forgotten memories; flagged ones as the reach says."""

    def nearest(self, vector: Vectors, model: str, limit: int) -> list[tuple[str, float]]:
        """Ids and cosines of the nearest memories within the reach, nearest first: not forgotten; tainted and superseded ones too."""

    def browse(self, page: Browse) -> list[Memory]:
        """A page. Nothing forgotten but under FORGOTTEN."""

    def count_reviews(self, *, mine: bool = False) -> int:
        """How many memories `Listing.REVIEW` would list; with `mine`, those of which the reader is the author."""

    def leads_to(self, start: str, target: str) -> bool:
        """Whether following `superseded_by` from start reaches target, over whatever lies between."""

    def lock_links(self) -> None:
        """Let no other transaction change a supersede link until the end of this one."""

    def claimed(self, key: str) -> Claim | None:
        """The reader's idempotency record of a key, if there is one; takes nothing and waits for nobody."""

    # writing memories (need an act)
    def claim(self, key: str, digest: str, memory: str) -> Claim:
        """Take an idempotency key for the reader, or find who has it; waits for another transaction that is taking it."""

    def insert(self, memory: Memory, version: Version, index: IndexEntry) -> None:
        """Store a new memory with its first version. Raises UnknownAudience or NumberTaken."""

    def update(self, before: Memory, after: Memory, version: Version | None = None, index: IndexEntry | None = None) -> None:
        """Store a change of a memory locked by `memory(..., lock=True)`; reviews are made equal to `after.reviews`.

        `version` is the new text when the content changed; the one before is stamped with the audience it had, and keeps its
        masked text alone: a credential lies in the newest version or nowhere.
        """

    # approvals
    def write_ticket(self, ticket: Ticket) -> None:
        """Insert or update a ticket of the reader."""

    def tickets(self, *, undecided_only: bool = False, expired_too: bool = False) -> list[Ticket]:
        """The reader's tickets that have not expired, newest first; for an operator those of the organization.

        `expired_too`: those that have, as well.
        """

    def take_ticket(self, person: str, connection: str, tool: str, memory: str, memory_version: int, digest: str) -> Ticket | None:
        """An approved, unexpired, unused ticket with just these bindings, marked used in this transaction; None when there is none."""

    # the organization (need an act; each raises the epoch)
    def write_organization(self, organization: Organization) -> None:
        """Insert or update."""

    def write_person(self, person: Person) -> None:
        """Insert or update. Disabling waits for that person's running transactions."""

    def write_group(self, group: Group) -> None:
        """Insert or update."""

    def remove_group(self, group: str) -> None:
        """Remove a group without memories, its memberships and mappings; ValueError, with the count, when it has memories."""

    def write_membership(self, group: str, person: str, role: GroupRole | None) -> None:
        """Set or, with None, end a membership."""

    def write_topic(self, topic: Topic) -> None:
        """Insert or update, guard teams included. A topic that ever had one goes on guarding."""

    def remove_topic(self, topic: str) -> None:
        """Take a topic out of the lists; memories on it keep it, and it goes on guarding them."""

    def write_connection(self, connection: Connection) -> None:
        """Insert or update. Revoking waits for the connection's running transactions."""

    def connections(self, person: str | None = None) -> list[Connection]:
        """The organization's connections, newest first."""

    def erase_forgotten(self, memory: str) -> Mapping[str, str]:
        """As `erase`, within a reach for RESTORE (needs an act): a forgotten memory that this transaction has locked.

        LookupError for any other.
        """

    # upkeep (operators only)
    def unindexed(self, model: str, limit: int) -> list[Unindexed]:
        """Memories, not erased, that lack vectors of a model."""

    def write_vectors(self, memory: str, model: str, vectors: Vectors, text: str) -> None:
        """Add the vectors of one memory's masked `text`; nothing happens when its text is another now, or it is gone."""

    def count_memories(self) -> int:
        """All memories, forgotten ones too."""

    def forgotten_before(self, moment: datetime, limit: int) -> list[str]:
        """Ids of memories forgotten before a moment, oldest first."""

    def erase(self, memory: str) -> Mapping[str, str]:
        """Erase one memory and everything derived from it. Returns what a receipt may hold: counts, and nothing that a text could be guessed from."""

    def all_memories(self, after: str | None, limit: int) -> list[Memory]:
        """Every memory of the organization, by id, forgotten ones too."""

    def audit_rows(self, after: int, limit: int) -> list[AuditRow]:
        """The organization's audit chain from a position on."""

    def find_audit(self, search: AuditSearch) -> list[AuditRow]:
        """Rows of the organization's audit chain, newest first."""

    def count_audit(self, search: AuditSearch) -> int:
        """How many rows a search finds, counted up to its limit."""


class Records(Protocol):
    """Keyed records that storage gives any plugin: small JSON objects under (organization, key)."""

    def get(self, organization: str, key: str) -> Mapping[str, Any] | None:
        """The record, or None."""

    def put(self, organization: str, key: str, value: Mapping[str, Any]) -> None:
        """Insert or replace."""

    def change(
        self, organization: str, key: str, change: Callable[[Mapping[str, Any] | None], Mapping[str, Any] | None]
    ) -> Mapping[str, Any] | None:
        """Read, change and write under a lock; None removes. Returns what stands afterwards."""

    def keys(self, organization: str, prefix: str) -> list[str]:
        """The keys that begin with a prefix, in order."""

    def items(self, organization: str, prefix: str) -> Mapping[str, Mapping[str, Any]]:
        """The records whose keys begin with a prefix, by key, in order: one look instead of many."""


class Storage(Protocol):
    """A provider of `memscope_storage`. Thread-safe."""

    @property
    def name(self) -> str:
        """The name by which `[storage] provider` chooses it."""

    def open(self) -> None:
        """Connect, start what is embedded, migrate. Raises `memscope.errors.StartError` with what to do."""

    def close(self) -> None:
        """Let go of everything; stops what this process alone uses."""

    def check(self) -> None:
        """Raises `memscope.errors.Unavailable` when transactions cannot be served now."""

    def report(self) -> Mapping[str, str]:
        """What `memscope doctor` prints: versions, sizes, missing indexes; values are short texts."""

    def organizations(self) -> Sequence[Organization]:
        """All of them, by slug. For commands and start-up; no request does this."""

    def find_organization(self, slug: str) -> str | None:
        """The id of the organization with exactly this slug."""

    def any_organization(self) -> tuple[str, bool] | None:
        """The id of the first organization by slug, and whether it is the only one; None when there is none. What signing in asks."""

    def roster(self, organization: str, known: Roster | None = None) -> Roster:
        """The organization at its current epoch; `known` itself when its epoch is current. KeyError when there is none."""

    def connection(self, organization: str, connection: str) -> Connection | None:
        """One connection by its exact ids."""

    def note_use(self, organization: str, connection: str, client_version: str | None) -> None:
        """Note that a connection was used now, and which version its client last stated (None leaves it). No audit row."""

    def begin(self, reach: Reach | Operator, act: Act | None = None) -> AbstractContextManager[Transaction]:
        """Begin a transaction; commits at the end of the block, rolls back on an exception.

        Without an act nothing can be written and the reads are one snapshot. With an act, the organization's epoch and
        the reach's connection are share-locked, and the act is the audit row, chained just before commit. Raises Stale
        when `reach.epoch` is no longer current, and Revoked.
        """

    def intern(self, organization: str, audience: Audience) -> None:
        """Store an audience in a transaction of its own; raises the epoch when it is new."""

    def records(self, plugin: str) -> Records:
        """The keyed records of one plugin."""

    def serving_model(self) -> str | None:
        """Identity of the model whose vectors search compares; None before the first memory."""

    def use_model(self, identity: str, dimensions: int) -> None:
        """Prepare for vectors of a model (its index); the first one prepared serves."""

    def switch_model(self, identity: str) -> None:
        """Let this model serve from now on and drop the vectors of all others."""

    def lead(self, task: str) -> AbstractContextManager[bool]:
        """True inside the block in at most one process at a time for one task; never waits."""

    def backup(self, target: str) -> Iterator[str]:
        """Write everything to a new file; yields progress lines."""

    def restore(self, source: str) -> Iterator[str]:
        """Load a backup into an empty database; yields progress lines."""


@dataclass(frozen=True, slots=True)
class StorageHost:
    """What a storage is opened with beside its settings section."""

    data_dir: str
    """The server's data folder, which exists."""
    server_key: bytes = field(repr=False)
