"""The audit log as people read it: newest first, filtered by the storage, and silent about memories that the viewer may not read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta

from memscope.contracts.storage import AuditSearch, Operator, Transaction
from memscope.core import Core
from memscope.errors import Forbidden, InvalidArgument, NotFound
from memscope.memories.find import Problem
from memscope.memories.names import person_called
from memscope.memories.open import open_memory
from memscope.memories.times import parse_moment
from memscope.model.audience import Permission, Reach
from memscope.model.audit import Act, ApprovedVia, AuditRow
from memscope.model.organization import Role, Roster
from memscope.model.principal import Principal
from memscope.work import read

BATCH = 500
LOOKED_AT = 2_000
"""Rows that one page looks through at most for those that the viewer may be shown."""
EXPORT_MAX = 100_000
"""Rows that are exported at once; more are written by the server first (`memscope.upkeep.audit_exports`)."""
RANGE_MAX = timedelta(days=2 * 366)
RESULTS = tuple(via.value for via in ApprovedVia)
_OF_MEMORIES = ("memory.", "review.")
_OPEN = frozenset({"actor", "action", "before", "after"})
"""Filters on what everybody sees of a row. By any other, rows of memories that the viewer may not read are never found."""


class TooMany(InvalidArgument):
    """More rows than are exported at once."""


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which rows, as a person writes it; None: any."""

    actor: str | None = None
    """Somebody as `person_called` takes them or `me`."""
    action: str | None = None
    """The action, or its beginning with a `*` at the end."""
    target: str | None = None
    """An id, or the number of a memory."""
    connection: str | None = None
    agent: str | None = None
    run: str | None = None
    result: str | None = None
    """How it was approved."""
    before: str | None = None
    """Before this day or time."""
    after: str | None = None
    """On this day or later."""
    request: str | None = None
    """Everything that one request wrote."""


KEYS = tuple(field.name for field in fields(AuditFilter))


@dataclass(frozen=True, slots=True)
class Entry:
    """A row as the viewer may see it."""

    row: AuditRow
    """Without all but actor, action and time when `hidden`."""
    hidden: bool
    memory: int | None
    """Number of the memory that it is about, when the viewer may read it."""

    @property
    def changes(self) -> tuple[tuple[str, object, object], ...]:
        """(label, before, after) of what changed, as far as the row says so."""
        detail = self.row.act.detail
        return tuple(
            (name.removesuffix("_before"), before, detail.get(name.removesuffix("_before")))
            for name, before in detail.items()
            if name.endswith("_before")
        )

    @property
    def labels(self) -> Mapping[str, object]:
        """What else the row says."""
        changed = {label for label, _, _ in self.changes}
        return {name: value for name, value in self.row.act.detail.items() if not name.endswith("_before") and name not in changed}


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Rows, newest first."""

    entries: tuple[Entry, ...]
    before: int | None
    """Give this to read on; None: there are no older ones."""
    problems: tuple[Problem, ...]
    """Filters that could not be applied. They were left out; where the range is too long nothing was looked for."""


def audit_page(core: Core, principal: Principal, where: AuditFilter, *, before: int | None = None, limit: int = 50) -> AuditPage:
    """A page of the log. Forbidden for all but administrators.

    Of what was done to a memory that they may not read they learn who, what and when.
    """
    roster = for_administrators(core, principal)
    search, problems = resolved(core, principal, roster, where)
    return _page(core, principal, search, problems, before, limit, telling(where))


def own_activity(core: Core, principal: Principal, *, before: int | None = None, limit: int = 50) -> AuditPage:
    """A page of what the person did themselves, through whatever connection."""
    return _page(core, principal, AuditSearch(limit, actor=principal.person), (), before, limit, False)


def audit_export(core: Core, principal: Principal, where: AuditFilter) -> tuple[int, Iterator[Entry]]:
    """How many rows may be shown of those that the filter finds, and these, newest first, read as they are asked for.

    Forbidden for all but administrators. InvalidArgument for a filter that cannot be applied, TooMany for more than `EXPORT_MAX` rows.
    """
    roster = for_administrators(core, principal)
    search, problems = resolved(core, principal, roster, where)
    if problems:
        raise InvalidArgument(problems[0].key, " ".join(problem.text for problem in problems))
    with core.storage.begin(Operator("audit log", principal.organization)) as transaction:
        count = transaction.count_audit(replace(search, limit=EXPORT_MAX + 1))
        newest = transaction.find_audit(AuditSearch(1))
    if count > EXPORT_MAX:
        raise TooMany("before", f"These are more than {EXPORT_MAX:,} rows.")
    # Rows that come in meanwhile are not part of it.
    upto, silent = newest[0].position + 1 if newest else 1, telling(where)

    def batches() -> Iterator[Batch]:
        return rows_in_batches(core, principal, search, upto, silent, BATCH)

    if silent:
        # The log says of an export how many rows it had: those that were left out are not counted either.
        count = sum(len(batch.entries) for batch in batches())
    return count, (entry for batch in batches() for entry in batch.entries)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that were looked at together."""

    entries: tuple[Entry, ...]
    looked: int
    """How many rows there were."""
    last: int
    """Position of the oldest row looked at."""


def _page(
    core: Core, principal: Principal, search: AuditSearch, problems: tuple[Problem, ...], before: int | None, limit: int, telling: bool
) -> AuditPage:
    found: list[Entry] = []
    looked = 0
    following: int | None = None
    if not any(problem.key == "range" for problem in problems):
        for batch in rows_in_batches(core, principal, search, before, telling, limit + 1):
            found += batch.entries
            looked += batch.looked
            if len(found) > limit:
                following = found[limit - 1].row.position
                break
            if looked >= LOOKED_AT:
                following = batch.last
                break
    return AuditPage(tuple(found[:limit]), following, problems)


def rows_in_batches(core: Core, principal: Principal, search: AuditSearch, before: int | None, telling: bool, size: int) -> Iterator[Batch]:
    """The rows in batches, newest first; with `telling`, rows that are not shown whole are left out."""
    while True:
        with core.storage.begin(Operator("audit log", principal.organization)) as transaction:
            rows = transaction.find_audit(replace(search, limit=size, before=before))
        if not rows:
            return
        shown = _shown(core, principal, rows)
        yield Batch(tuple(entry for entry in shown if not (telling and entry.hidden)), len(rows), rows[-1].position)
        if len(rows) < size:
            return
        before, size = rows[-1].position, BATCH


def _shown(core: Core, principal: Principal, rows: Sequence[AuditRow]) -> list[Entry]:
    targets = sorted({row.act.target for row in rows if row.act.target and row.act.action.startswith(_OF_MEMORIES)})

    def use(transaction: Transaction, roster: Roster, _: Reach) -> dict[str, int]:
        return {memory.id: memory.number for memory in transaction.memories(targets).values()}

    numbers: dict[str, int] = {}
    if targets:
        numbers = read(core, principal, use)
        if len(numbers) < len(targets):
            # Who may restore a forgotten memory finds it in the trash.
            numbers |= read(core, principal, use, Permission.RESTORE)
    entries = []
    for row in rows:
        hidden = row.act.action.startswith(_OF_MEMORIES) and row.act.target not in numbers
        bare = replace(row, act=Act(row.act.action, row.act.actor), previous="", digest="") if hidden else row
        entries.append(Entry(bare, hidden, numbers.get(row.act.target or "")))
    return entries


def telling(where: AuditFilter) -> bool:
    """Whether the filter asks for what is not shown of rows about hidden memories: finding such a row would tell it."""
    return any(getattr(where, key) is not None for key in KEYS if key not in _OPEN)


def for_administrators(core: Core, principal: Principal) -> Roster:
    """The organization as it is. Forbidden for all but administrators."""
    roster = core.rosters.current(principal.organization)
    if roster.people[principal.person].role is not Role.ADMIN:
        raise Forbidden("The audit log is for administrators.")
    return roster


def resolved(core: Core, principal: Principal, roster: Roster, where: AuditFilter) -> tuple[AuditSearch, tuple[Problem, ...]]:
    """What a filter means, with what of it cannot be applied and is left out."""
    search = AuditSearch(1, action=where.action, connection=where.connection, agent=where.agent, run_id=where.run, request=where.request)
    problems: list[Problem] = []

    def refuse(key: str, value: str, text: str) -> None:
        problems.append(Problem(key, value, f"{key}: {text}"))

    if where.actor is not None:
        person = roster.people.get(principal.person) if where.actor == "me" else person_called(roster, where.actor)
        if person is None:
            refuse("actor", where.actor, f"nobody is called {where.actor}, or several are. Write the e-mail address.")
        else:
            search = replace(search, actor=person.id)
    if where.result is not None:
        if where.result in RESULTS:
            search = replace(search, result=where.result)
        else:
            refuse("result", where.result, f"there is no result {where.result}. There are: {', '.join(RESULTS)}.")
    if where.action is not None and "*" in where.action[:-1]:
        refuse("action", where.action, "takes one * at its end, as in memory.*")
        search = replace(search, action=None)
    if where.target is not None:
        search = replace(search, target=_target(core, principal, where.target))
    moments: dict[str, datetime] = {}
    for key in ("after", "before"):
        value = getattr(where, key)
        if value is not None:
            try:
                moments[key] = parse_moment(key, value, roster.organization.timezone, end_of_day=False)
            except InvalidArgument as error:
                refuse(key, value, error.message.removeprefix(f"{key} "))
    since, until = moments.get("after"), moments.get("before")
    if since is not None and until is not None and since >= until:
        refuse("before", where.before or "", "must come after after:; both are left out.")
        since = until = None
    if since is not None and (until or core.clock()) - since > RANGE_MAX:
        problems.append(Problem("range", "", "From after: to before: there are at most two years. Choose a shorter time."))
    return replace(search, since=since, until=until), tuple(problems)


def _target(core: Core, principal: Principal, written: str) -> str:
    """The id that is meant; what is no number of a readable memory is taken as it is."""
    if not written.isdigit():
        return written

    for permission in (Permission.READ, Permission.RESTORE):

        def use(transaction: Transaction, roster: Roster, _: Reach, wanted: Permission = permission) -> str:
            return open_memory(core, transaction, principal, roster, written, wanted).id

        with suppress(NotFound, Forbidden):
            return read(core, principal, use, permission)
    return written
