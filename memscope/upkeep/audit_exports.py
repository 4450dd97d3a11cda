"""Exports of the audit log that are too long to be sent at once: asked for in the console, written by the server, fetched for a day.

An export is written in parts, each a record of the storage that every worker reaches, compressed. It goes on after a restart.
The rows are those that the filter found when it was asked for; what the person may not read is left out as it is when they
are written, and the whole export goes as soon as the person is no administrator any more.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from memscope.contracts.storage import AuditSearch, Operator, Records
from memscope.core import Core
from memscope.errors import Conflict, InvalidArgument, NotFound
from memscope.memories.audit_files import FORMATS, header, lines
from memscope.memories.audit_log import AuditFilter, for_administrators, resolved, rows_in_batches, telling
from memscope.model.ids import new_id
from memscope.model.organization import ConnectionKind, Role
from memscope.model.principal import Principal
from memscope.organizations.signing_in import note_sign_in
from memscope.upkeep.jobs import run_each

RECORDS = "audit_exports"
PART = 2_000
"""Rows that one part looks at."""
KEPT = timedelta(days=1)
"""How long one can be fetched, and at most takes to be written."""
MOST = 3
"""Exports that one person has at a time; the oldest makes room."""


@dataclass(frozen=True, slots=True)
class Export:
    """An export somebody asked for."""

    id: str
    person: str
    connection: str
    """Through which it was asked for."""
    format: str
    filters: Mapping[str, str]
    """As typed."""
    search: Mapping[str, Any]
    """What they mean: an AuditSearch, its times as RFC 3339."""
    telling: bool
    """Whether rows that are not shown whole are left out."""
    asked_at: str
    """RFC 3339."""
    total: int
    """Rows that were found when it was asked for. Nobody is told: some may be about what they may not read."""
    before: int
    """Rows from this position on are written, or came later."""
    looked_at: int = 0
    rows: int = 0
    """Rows that are in it."""
    parts: int = 0
    done: bool = False

    @property
    def percent(self) -> int | None:
        """How far it is, 0 to 100; 100 only when it is done. None where that would tell of rows that are left out."""
        if self.done:
            return 100
        if self.telling:
            return None
        return min(99, self.looked_at * 100 // self.total) if self.total else 0

    @property
    def asked(self) -> datetime:
        """When it was asked for."""
        return datetime.fromisoformat(self.asked_at)

    @property
    def until(self) -> datetime:
        """When it goes."""
        return self.asked + KEPT


# -- in the console --------------------------------------------------------------------------------------------------------


def start(core: Core, principal: Principal, where: AuditFilter, format: str) -> Export:
    """Have the server write the rows of a filter to a file. Forbidden but for administrators.

    InvalidArgument for a filter that cannot be applied; Conflict while another export of the person is being written.
    """
    roster = for_administrators(core, principal)
    search, problems = resolved(core, principal, roster, where)
    if problems:
        raise InvalidArgument(problems[0].key, " ".join(problem.text for problem in problems))
    if format not in FORMATS:
        raise InvalidArgument("format", f"format is one of: {', '.join(FORMATS)}.")
    known = exports(core, principal)
    if any(not export.done for export in known):
        raise Conflict("An export of yours is still being written. Wait for it, or discard it.")
    with core.storage.begin(Operator("audit log", principal.organization)) as transaction:
        newest = transaction.find_audit(AuditSearch(1))
        upto = newest[0].position + 1 if newest else 1
        total = transaction.count_audit(replace(search, limit=upto))
    filters = {key: value for key, value in asdict(where).items() if value is not None}
    now = core.clock()
    asked = Export(
        new_id(), principal.person, principal.connection, format, filters, _plain(search), telling(where), now.isoformat(), total, upto
    )
    for old in known[MOST - 1 :]:
        _forget(core, principal.organization, old)
    note_sign_in(
        core, principal.organization, "audit_export_started", principal.person, export=asked.id, by=",".join(filters), format=format
    )
    _records(core).put(principal.organization, _key(asked), asdict(asked))
    core.wake_exports.set()
    return asked


def exports(core: Core, principal: Principal) -> list[Export]:
    """The person's own, newest first. Forbidden but for administrators."""
    for_administrators(core, principal)
    found = [Export(**value) for value in _records(core).items(principal.organization, f"export/{principal.person}/").values()]
    return sorted((one for one in found if one.until > core.clock()), key=lambda one: (one.asked_at, one.id), reverse=True)


def export(core: Core, principal: Principal, export_id: str) -> Export:
    """One of the person's own. NotFound, as for anybody else's; Forbidden but for administrators."""
    found = next((one for one in exports(core, principal) if one.id == export_id), None)
    if found is None:
        raise NotFound
    return found


def fetch(core: Core, principal: Principal, export_id: str) -> tuple[Export, Iterator[bytes]]:
    """One that is written, and the file part by part; noted in the audit log. NotFound, Forbidden, and Conflict until it is written."""
    found = export(core, principal, export_id)
    if not found.done:
        raise Conflict("The export is still being written.")
    note_sign_in(
        core,
        principal.organization,
        "audit_exported",
        principal.person,
        export=found.id,
        rows=found.rows,
        by=",".join(found.filters),
        format=found.format,
    )
    return found, _file(core, principal.organization, found)


def discard(core: Core, principal: Principal, export_id: str) -> None:
    """Drop one of the person's own, written or not. NotFound, Forbidden."""
    _forget(core, principal.organization, export(core, principal, export_id))


def _file(core: Core, organization: str, found: Export) -> Iterator[bytes]:
    yield header(found.format).encode()
    for number in range(found.parts):
        part = _records(core).get(organization, _part(found, number))
        if part is None:
            # Cutting the connection is the one way left to say that the file is not whole.
            raise NotFound
        yield zlib.decompress(base64.b64decode(part["rows"]))


# -- in the server ---------------------------------------------------------------------------------------------------------


def run_waiting(core: Core, stopping: Callable[[], bool] = lambda: False) -> None:
    """Write every export that waits, one after the other. The caller leads: `storage.lead("exports")`."""

    def waiting(organization: str) -> list[str]:
        found = [(key, value) for key, value in _records(core).items(organization, "export/").items() if not value["done"]]
        return [key for key, _ in sorted(found, key=lambda one: one[1]["asked_at"])]

    run_each(core, waiting, lambda organization, key: _write(core, organization, key), stopping)


def drop_old(core: Core, organization: str) -> None:
    """Drop what is older than a day."""
    for value in _records(core).items(organization, "export/").values():
        one = Export(**value)
        if one.until <= core.clock():
            _forget(core, organization, one)


def _write(core: Core, organization: str, key: str) -> Iterator[Export]:
    """Write one export part by part; may be stopped after any of them."""
    while (value := _records(core).get(organization, key)) is not None and not value["done"]:
        one = Export(**value)
        person = core.rosters.current(organization).people.get(one.person)
        if person is None or not person.active or person.role is not Role.ADMIN or one.until <= core.clock():
            _forget(core, organization, one)
            return
        yield _next_part(core, organization, one)


def _next_part(core: Core, organization: str, one: Export) -> Export:
    principal = Principal(organization, one.person, one.connection, ConnectionKind.CONSOLE, "console")
    emails = {person: known.email for person, known in core.rosters.current(organization).people.items()}
    batches = rows_in_batches(core, principal, _search(one.search), one.before, one.telling, PART)
    batch = next(batches, None)
    if batch is None:
        after = replace(one, done=True)
    else:
        text = "".join(lines(one.format, batch.entries, emails)).encode()
        rows = base64.b64encode(zlib.compress(text)).decode()
        # Written first: what a stop leaves of a part is written over when it goes on.
        _records(core).put(organization, _part(one, one.parts), {"rows": rows})
        after = replace(
            one,
            before=batch.last,
            looked_at=one.looked_at + batch.looked,
            rows=one.rows + len(batch.entries),
            parts=one.parts + 1,
            done=batch.looked < PART,
        )
    kept = _records(core).change(organization, _key(one), lambda known: None if known is None else asdict(after))
    if kept is None:
        # Discarded meanwhile.
        _forget(core, organization, after)
    return after


# -- records ---------------------------------------------------------------------------------------------------------------


def _forget(core: Core, organization: str, one: Export) -> None:
    records = _records(core)
    # The export first: from then on nobody finds it, and its parts go whenever this is done again.
    records.change(organization, _key(one), lambda _: None)
    for key in records.keys(organization, f"part/{one.id}/"):
        records.change(organization, key, lambda _: None)


def _plain(search: AuditSearch) -> dict[str, Any]:
    plain = asdict(search)
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in plain.items()}


def _search(plain: Mapping[str, Any]) -> AuditSearch:
    times = {name: datetime.fromisoformat(plain[name]) for name in ("since", "until") if plain[name] is not None}
    return AuditSearch(**{**plain, **times})


def _records(core: Core) -> Records:
    return core.storage.records(RECORDS)


def _key(one: Export) -> str:
    return f"export/{one.person}/{one.id}"


def _part(one: Export, number: int) -> str:
    return f"part/{one.id}/{number:08}"
