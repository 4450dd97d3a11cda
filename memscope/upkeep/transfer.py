"""Export and import: memories as JSON lines.

An import is judged and routed as if each memory were saved there now, by the author and at the time that the line names.
Every line is checked before the first is written. Each line always becomes the memory of one id, so that importing a
file again only adds what is missing: that is how a stopped import goes on.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memscope.contracts.embedding import Vectors
from memscope.contracts.events import Event
from memscope.contracts.storage import NumberTaken, Operator
from memscope.core import Core
from memscope.errors import MemScopeError, SecretRejected, Unavailable
from memscope.guarding.examine import Examination, Setting, examine
from memscope.guarding.route import Inherited, route
from memscope.memories.changes import labels
from memscope.memories.indexing import index_entry, passage_vectors
from memscope.memories.places import resolve_place
from memscope.memories.related import NEIGHBOURS, inherited, near
from memscope.memories.remember import settled
from memscope.memories.texts import clean, provenance
from memscope.memories.times import HANDOFF_DEFAULT, parse_moment
from memscope.model.audience import Permission, Place, Scope, Sensitivity
from memscope.model.audit import Act
from memscope.model.ids import new_id, new_number
from memscope.model.memory import CONTENT_MAX, LABEL_MAX, Kind, Memory, Provenance, Version
from memscope.model.organization import Connection, ConnectionKind, Roster
from memscope.model.principal import Principal
from memscope.model.review import Flag
from memscope.policy.permissions import may
from memscope.upkeep.progress import Progress
from memscope.work import read

CLIENT = "import"
"""What imported memories show as their client when the line names none."""
BATCH = 32
"""Memories written in one transaction."""
ERRORS_MAX = 20
"""How many wrong lines are told at once."""
ID_MAX = 200
ATTEMPTS = 8


class FileError(Exception):
    """Lines that cannot be imported; nothing was written."""


@dataclass(frozen=True, slots=True)
class Line:
    """One memory of a file, every value checked."""

    number: int
    """Of the line in the file, from 1."""
    key: str
    """What makes it this line and no other; another for each repetition."""
    content: str
    author: str
    """Person id."""
    created_at: datetime | None
    place: Place
    sensitivity: Sensitivity
    topics: frozenset[str]
    kind: Kind | None
    importance: float
    valid_until: datetime | None
    agent: str | None
    run_id: str | None
    client: str
    tainted: bool
    id: str | None
    """What the file calls it."""
    superseded_by: str | None
    """What the file calls its replacement."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a file."""

    saved: int = 0
    present: int = 0
    """Lines that an earlier run had saved."""
    held: int = 0
    flagged: int = 0
    """Held ones included."""
    refused: tuple[tuple[int, str], ...] = ()
    """(line, why) of those that the organization does not store."""


# export


def export(core: Core, organization: str) -> Iterator[str]:
    """Every memory that is not forgotten, oldest first, a JSON object a line; credentials are replaced by their types.

    Personal and held memories are among them: the file is as sensitive as the database.
    """
    roster = core.rosters.current(organization)
    after: str | None = None
    while True:
        with core.storage.begin(Operator("export", organization)) as transaction:
            memories = transaction.all_memories(after, 500)
        if not memories:
            return
        after = memories[-1].id
        for memory in memories:
            if memory.forgotten_at is None:
                yield json.dumps(_exported(memory, roster), ensure_ascii=False)


def _exported(memory: Memory, roster: Roster) -> dict[str, Any]:
    group = roster.groups.get(memory.place.group or "")
    told = memory.provenance
    values = {
        "id": memory.id,
        "content": memory.open_text,
        "author": roster.people[memory.author].email,
        "created_at": memory.created_at.isoformat().replace("+00:00", "Z"),
        "scope": memory.place.scope.value,
        "team": group.slug if group is not None and memory.place.scope is Scope.TEAM else None,
        "project": group.slug if group is not None and memory.place.scope is Scope.PROJECT else None,
        "sensitivity": memory.sensitivity.label,
        "topics": sorted(roster.topics[topic].key for topic in memory.topics if topic in roster.topics),
        "kind": memory.kind.value if memory.kind is not None else None,
        "importance": memory.importance,
        "valid_until": memory.valid_until.isoformat().replace("+00:00", "Z") if memory.valid_until is not None else None,
        # Labels that hold a secret or read like orders are for their author alone.
        "agent": None if told.doubtful else told.agent,
        "run_id": None if told.doubtful else told.run_id,
        "client": told.client,
        "flags": sorted(flag.value for flag in memory.flags),
        "superseded_by": memory.superseded_by,
    }
    return {key: value for key, value in values.items() if value not in (None, [])}


# reading a file


def parse(text: str, roster: Roster, now: datetime) -> list[Line]:
    """The memories of a file. FileError tells the numbers of the lines that are wrong, and what is wrong with each."""
    lines: list[Line] = []
    errors: list[str] = []
    seen: Counter[str] = Counter()
    for number, written in enumerate(text.split("\n"), 1):
        if not written.strip():
            continue
        try:
            line = _line(number, written, roster, now)
        except ValueError as error:
            errors.append(f"Line {number}: {error}")
        except MemScopeError as error:
            errors.append(f"Line {number}: {error.message}")
        else:
            seen[line.key] += 1
            lines.append(line if seen[line.key] == 1 else replace(line, key=f"{line.key} {seen[line.key]}"))
        if len(errors) >= ERRORS_MAX:
            errors.append("There may be more.")
            break
    if errors:
        raise FileError("\n".join([*errors, "Nothing was imported."]))
    return lines


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a text")
    return value


def _label(value: Any) -> str:
    return clean("it", _text(value), LABEL_MAX)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise ValueError("must be a number from 0 to 1")
    return float(value)


def _one_of(values: Mapping[str, Any]) -> Any:
    def check(value: Any) -> Any:
        if not isinstance(value, str) or value not in values:
            raise ValueError(f"must be one of {', '.join(values)}")
        return values[value]

    return check


def _list_of(check: Any) -> Any:
    def checked(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError("must be a list")
        return tuple(check(item) for item in value)

    return checked


_FIELDS: Mapping[str, Any] = {
    "content": lambda value: clean("content", _text(value), CONTENT_MAX),
    "author": _text,
    "created_at": _text,
    "scope": _one_of({scope.value: scope for scope in Scope} | {"shared": Scope.ORGANIZATION, "private": Scope.PERSONAL}),
    "team": _text,
    "project": _text,
    "sensitivity": _one_of({level.label: level for level in Sensitivity}),
    "topics": _list_of(_text),
    "kind": _one_of({kind.value: kind for kind in Kind}),
    "importance": _number,
    "valid_until": _text,
    "agent": _label,
    "run_id": _label,
    "client": _label,
    "flags": _list_of(_one_of({flag.value: flag for flag in Flag})),
    "id": lambda value: clean("id", _text(value), ID_MAX),
    "superseded_by": lambda value: clean("superseded_by", _text(value), ID_MAX),
}
"""Every field of a line and its check. `content` and `author` are needed; null counts as left out."""


def _line(number: int, written: str, roster: Roster, now: datetime) -> Line:
    try:
        raw = json.loads(written)
    except (json.JSONDecodeError, RecursionError):
        raise ValueError("is no valid JSON. Write one JSON object on each line.") from None
    if not isinstance(raw, dict):
        raise ValueError("is no JSON object.")
    values: dict[str, Any] = {}
    for name, value in raw.items():
        if name not in _FIELDS:
            raise ValueError(f"there is no field {name}. Fields: {', '.join(_FIELDS)}.")
        if value is None:
            continue
        try:
            values[name] = _FIELDS[name](value)
        except MemScopeError as error:
            raise ValueError(f"{name}: {error.message}") from None
        except ValueError as error:
            raise ValueError(f"{name} {error}.") from None
    for name in ("content", "author"):
        if name not in values:
            raise ValueError(f"{name} is missing.")
    author = roster.find_person(values["author"])
    if author is None:
        raise ValueError(f"nobody has the address {values['author']}. Add them with `memscope org apply` first.")
    kind, run_id = values.get("kind"), values.get("run_id")
    created_at, valid_until = _times(values, roster, now)
    place = resolve_place(roster, author.id, values.get("scope"), values.get("team"), values.get("project"))
    if kind is Kind.HANDOFF and (run_id is None or place.scope is not Scope.PROJECT):
        raise ValueError("a handoff note needs run_id and a project.")
    # The repetition apart, equal lines are the same memory; with an id of its own a line may be rewritten otherwise.
    key = f"id {values['id']}" if "id" in values else json.dumps(raw, sort_keys=True)
    return Line(
        number=number,
        key=key,
        content=values["content"],
        author=author.id,
        created_at=created_at,
        place=place,
        sensitivity=values.get("sensitivity", Sensitivity.PUBLIC),
        topics=_topics(values.get("topics", ()), roster),
        kind=kind,
        importance=values.get("importance", 0.5),
        valid_until=valid_until,
        agent=values.get("agent"),
        run_id=run_id,
        client=values.get("client", CLIENT),
        tainted=Flag.INSTRUCTIONS in values.get("flags", ()),
        id=values.get("id"),
        superseded_by=values.get("superseded_by"),
    )


def _times(values: Mapping[str, Any], roster: Roster, now: datetime) -> tuple[datetime | None, datetime | None]:
    zone = roster.organization.timezone
    created_at = parse_moment("created_at", values["created_at"], zone, end_of_day=False) if "created_at" in values else None
    if created_at is not None and created_at > now:
        raise ValueError("created_at lies in the future.")
    since = created_at or now
    if "valid_until" in values:
        valid_until = parse_moment("valid_until", values["valid_until"], zone, end_of_day=True)
        if valid_until <= since:
            raise ValueError("valid_until lies before created_at.")
        return created_at, valid_until
    return created_at, since + HANDOFF_DEFAULT if values.get("kind") is Kind.HANDOFF else None


def _topics(names: Sequence[str], roster: Roster) -> frozenset[str]:
    found = set()
    for name in names:
        topic = roster.find_topic(name)
        if topic is None:
            raise ValueError(f"there is no topic {name}. Topics: {', '.join(sorted(topic.key for topic in roster.topics.values()))}.")
        found.add(topic.id)
    return frozenset(found)


# importing


@dataclass(frozen=True, slots=True)
class _Draft:
    """A line judged and embedded; nothing is stored yet."""

    line: Line
    memory_id: str
    provenance: Provenance
    examination: Examination
    vectors: Vectors | None
    inherited: Inherited


@dataclass
class _Importer:
    core: Core
    organization: str
    connections: dict[str, str] = field(default_factory=dict)
    """Person id → the connection that imported memories of theirs lie under."""
    labels: dict[tuple[str, str, str | None, str | None], Provenance] = field(default_factory=dict)

    def id_of(self, key: str, created_at: datetime | None) -> str:
        """The id that a line always gets: a version 7 UUID, keyed so that nobody can work it out from the text."""
        digest = self.core.keys.digest("import", [self.organization, key])
        milliseconds = 0 if created_at is None else max(0, int(created_at.timestamp() * 1000))
        return _uuid7(milliseconds, digest)

    def present(self, ids: Iterable[str]) -> frozenset[str]:
        """Which of the ids are memories already, forgotten ones too."""
        with self.core.storage.begin(Operator("import", self.organization)) as transaction:
            return frozenset(id_ for id_ in ids if transaction.memory(id_) is not None)

    def draft(self, line: Line, memory_id: str) -> _Draft:
        """Judge and embed a line as if its author saved it there now."""
        core = self.core
        roster = core.rosters.current(self.organization)
        person = roster.people[line.author]
        principal = Principal(self.organization, person.id, self._connection(person.id), ConnectionKind.TOKEN, line.client)
        setting = Setting.of(principal, roster, line.place.scope, line.kind, line.agent)
        key = (line.author, line.client, line.agent, line.run_id)
        if key not in self.labels:
            self.labels[key] = provenance(core, roster, principal, setting, line.agent, line.run_id)[0]
        examination = examine(core, roster, line.content, setting)
        vectors = passage_vectors(core, examination.open_text, person.name, line.created_at or core.clock())
        known = Inherited(line.sensitivity, line.topics, line.tainted)
        if person.active:
            known = self._with_repeated(known, principal, roster, examination.open_text, vectors)
        return _Draft(line, memory_id, self.labels[key], examination, vectors, known)

    def _connection(self, person: str) -> str:
        """A connection without a credential, that nobody can use: what `saved through` means for an imported memory."""
        if person not in self.connections:
            storage = self.core.storage
            with storage.begin(Operator("import", self.organization)) as transaction:
                known = [
                    connection.id
                    for connection in transaction.connections(person)
                    if connection.client == CLIENT and connection.revoked_at is None and connection.expires_at is None
                ]
            if not known:
                connection = Connection(new_id(), person, ConnectionKind.TOKEN, CLIENT, self.core.clock())
                act = Act("connection.create", target=connection.id, detail={"kind": CLIENT, "person": person})
                with storage.begin(Operator("import", self.organization), act) as transaction:
                    transaction.write_connection(connection)
                known = [connection.id]
            self.connections[person] = known[0]
        return self.connections[person]

    def _with_repeated(self, known: Inherited, principal: Principal, roster: Roster, text: str, vectors: Vectors | None) -> Inherited:
        """What comes along, too, from nearly equal memories that the author reads.

        Comparing texts is slow, so it is done only where a neighbour has something to give.
        """
        if vectors is None:
            return known
        default, reader = roster.organization.default_sensitivity, roster.readers[principal.person]

        def gives(memory: Memory) -> bool:
            return (memory.sensitivity > default or bool(memory.topics) or memory.tainted) and may(
                reader, Permission.READ, memory, by_id=False
            )

        def neighbours(transaction: Any, *_: object) -> list[Memory]:
            model = self.core.embedding.model.identity
            ids = dict.fromkeys(id_ for vector in vectors[:4] for id_, _ in transaction.nearest(vector, model, NEIGHBOURS))
            return list(transaction.memories(list(ids)).values())

        if not any(gives(memory) for memory in read(self.core, principal, neighbours)):
            return known
        repeated = inherited(near(self.core, principal, text, vectors))
        return Inherited(max(known.sensitivity, repeated.sensitivity), known.topics | repeated.topics, known.tainted or repeated.tainted)

    def write(self, drafts: Sequence[_Draft]) -> tuple[list[Memory], list[tuple[int, str]]]:
        """Store a batch in one transaction, routed by the organization as it is then."""
        core, operator = self.core, Operator("import", self.organization)
        for _ in range(ATTEMPTS):
            roster = core.rosters.current(self.organization)
            memories, refused = self._routed(drafts, roster)
            for audience in {memory.audience for memory, _ in memories} - roster.audiences:
                core.storage.intern(self.organization, audience)
            if not memories:
                return [], refused
            act = Act("memory.import", detail={"memories": len(memories)})
            try:
                with core.storage.begin(operator, act) as transaction:
                    if not roster.same_facts(core.rosters.current(self.organization)):
                        raise _Changed
                    for memory, draft in memories:
                        version = Version(1, memory.content, memory.masked, draft.provenance, memory.created_at, None)
                        transaction.insert(memory, version, index_entry(core, memory, roster, draft.vectors))
            except (_Changed, NumberTaken):
                # Somebody changed the organization, or imports the same file: look again, and write what is still missing.
                there = self.present(draft.memory_id for draft in drafts)
                drafts = [draft for draft in drafts if draft.memory_id not in there]
                continue
            return [memory for memory, _ in memories], refused
        raise Unavailable("The organization is being changed too fast. Run the import again: it goes on where it stopped.")

    def _routed(self, drafts: Sequence[_Draft], roster: Roster) -> tuple[list[tuple[Memory, _Draft]], list[tuple[int, str]]]:
        memories, refused = [], []
        for draft in drafts:
            line, created_at = draft.line, draft.line.created_at or self.core.clock()
            memory = Memory(
                id=draft.memory_id,
                number=new_number(),
                content=line.content,
                place=line.place,
                sensitivity=Sensitivity.PUBLIC,
                topics=frozenset(),
                provenance=draft.provenance,
                created_at=created_at,
                updated_at=created_at,
                kind=line.kind,
                importance=line.importance,
                valid_until=line.valid_until,
            )
            try:
                routed = route(draft.examination, memory, roster, draft.inherited)
            except SecretRejected as error:
                refused.append((line.number, error.message))
                continue
            memories.append((settled(memory, routed, self.core.clock()), draft))
        return memories, refused

    def link(self, older: str, newer: str) -> bool:
        """Let one imported memory supersede another, as in the place that the file comes from."""
        act = Act("memory.supersede", target=older, detail={"replaced_by": newer})
        try:
            with self.core.storage.begin(Operator("import", self.organization), act) as transaction:
                transaction.lock_links()
                before, after = transaction.memory(older, lock=True), transaction.memory(newer)
                if before is None or after is None or before.superseded_by is not None or transaction.leads_to(newer, older):
                    raise _Changed
                transaction.update(before, replace(before, superseded_by=newer, superseded=not after.held))
        except _Changed:
            return False
        return True


class _Changed(Exception):
    """What the batch was planned on is no longer so."""


def _uuid7(milliseconds: int, digest: str) -> str:
    import uuid

    random = int(digest[:19], 16)
    value = (milliseconds & (2**48 - 1)) << 80 | 0x7 << 76 | (random & 0xFFF) << 64 | 0b10 << 62 | (random >> 12) & (2**62 - 1)
    return str(uuid.UUID(int=value))


def import_memories(core: Core, organization: str, lines: Sequence[Line]) -> Generator[Progress, None, Imported]:
    """Save the memories of a file. Loads the embedding model, so that they are found by meaning at once."""
    core.embedding.load()
    importer = _Importer(core, organization)
    result = Imported()
    ids = {line.key: importer.id_of(line.key, line.created_at) for line in lines}
    for start in range(0, len(lines), BATCH):
        batch = lines[start : start + BATCH]
        there = importer.present(ids[line.key] for line in batch)
        drafts = [importer.draft(line, ids[line.key]) for line in batch if ids[line.key] not in there]
        saved, refused = importer.write(drafts)
        for memory in saved:
            core.hooks.event(Event("memory.import", organization, core.clock(), memory.author, memory.id, labels(memory)))
        result = Imported(
            result.saved + len(saved),
            result.present + len(batch) - len(saved) - len(refused),
            result.held + sum(memory.held for memory in saved),
            result.flagged + sum(memory.flagged for memory in saved),
            (*result.refused, *refused),
        )
        yield Progress("Importing: line", start + len(batch), len(lines))
    named = {line.id: ids[line.key] for line in lines if line.id is not None}
    for line in lines:
        if line.superseded_by in named and named[line.superseded_by] != ids[line.key]:
            importer.link(ids[line.key], named[line.superseded_by])
    return result
