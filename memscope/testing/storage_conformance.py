"""What every storage has to do, as tests.

    @pytest.fixture(scope="module")
    def storage():
        yield from opened(MyStorage(...))

    class TestMyStorage(StorageConformance):
        pass

The storage may be shared by all tests: each makes organizations of its own.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest

from memscope.contracts.embedding import Vectors
from memscope.contracts.requests import REQUEST
from memscope.contracts.storage import (
    AuditSearch,
    Browse,
    Claim,
    Hit,
    IndexEntry,
    Listing,
    NumberTaken,
    Operator,
    Question,
    Revoked,
    SearchFilter,
    Stale,
    Storage,
    Ticket,
    Transaction,
    UnknownAudience,
)
from memscope.model.audience import Audience, Permission, Place, Scope, Sensitivity
from memscope.model.audit import NO_ROW, Act, ApprovedVia
from memscope.model.ids import new_id
from memscope.model.memory import Kind, Memory, Provenance, Version
from memscope.model.organization import ConnectionKind, GroupRole, Role
from memscope.model.review import Finding, Flag, Review, Suggestion
from memscope.policy.permissions import may
from memscope.testing.builders import START, Builder, entry, harbor

MODEL = "conformance@0123456789abcdef"
OTHER_MODEL = "conformance@fedcba9876543210"
DIMENSIONS = 4
WAIT_S = 30.0


def unit(*numbers: float) -> Vectors:
    """A unit vector in the direction of the numbers."""
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.linalg.norm(vector)


def indexed(text: str, *vectors: Vectors) -> IndexEntry:
    """An index entry of a text's words and some vectors."""
    return IndexEntry(tuple(text.lower().split()), MODEL, np.stack(vectors)) if vectors else entry(text)


def state(memory: Memory) -> Memory:
    """A memory apart from what storage derives."""
    return replace(memory, superseded=False)


class StorageConformance:
    """Subclass it and give a fixture `storage`: an open storage."""

    @pytest.fixture
    def org(self, storage: Storage) -> Builder:
        """The organization `harbor`, stored."""
        storage.use_model(MODEL, DIMENSIONS)
        return harbor(f"harbor-{new_id()}").store(storage)

    # -- helpers -----------------------------------------------------------------------------------------------------

    def read(self, storage: Storage, org: Builder, name: str, reference: str | int) -> Memory | None:
        """What a person gets by id or number."""
        with storage.begin(org.reach(storage, name)) as tx:
            return tx.memory(reference)

    def browse(self, storage: Storage, org: Builder, name: str, listing: Listing = Listing.ALL, **more: Any) -> list[str]:
        """Ids that a person lists."""
        permission = Permission.RESTORE if listing is Listing.FORGOTTEN else Permission.READ
        with storage.begin(org.reach(storage, name, permission)) as tx:
            return [memory.id for memory in tx.browse(Browse(listing, more.pop("limit", 50), tx.now, **more))]

    def hits(
        self, storage: Storage, org: Builder, name: str, words: str = "", vector: Vectors | None = None, limit: int = 200, **where: Any
    ) -> dict[str, Hit]:
        """What a person's search finds, by id."""
        with storage.begin(org.reach(storage, name)) as tx:
            question = Question(tuple(words.split()), vector, MODEL if vector is not None else None, limit)
            found = tx.search(question, SearchFilter(**{"now": tx.now} | where))
        assert len({hit.memory for hit in found}) == len(found)
        return {hit.memory: hit for hit in found}

    def settings(self, storage: Storage, org: Builder, change: Callable[[Transaction], None]) -> None:
        """Change the organization as an operator."""
        with storage.begin(org.operator, Act("organization.apply")) as tx:
            change(tx)

    # -- the organization --------------------------------------------------------------------------------------------

    def test_a_roster_holds_what_was_written(self, storage: Storage, org: Builder) -> None:
        """People, groups, topics, memberships and the organization come back as they were."""
        roster, built = storage.roster(org.organization.id), org.roster()
        assert roster.organization == built.organization
        assert dict(roster.people) == dict(built.people)
        assert dict(roster.groups) == dict(built.groups)
        assert dict(roster.topics) == dict(built.topics)
        memberships = {group: dict(members) for group, members in roster.memberships.items() if members}
        assert memberships == {group: dict(members) for group, members in built.memberships.items() if members}
        assert dict(roster.readers) == dict(built.readers)
        known = storage.organizations()
        assert org.organization in known
        assert storage.find_organization(org.organization.slug) == org.organization.id
        assert storage.find_organization(f"{org.organization.slug}-not") is None
        assert storage.any_organization() == (known[0].id, len(known) == 1)

    def test_a_roster_that_is_current_is_handed_back(self, storage: Storage, org: Builder) -> None:
        """And one that is not is replaced."""
        roster = storage.roster(org.organization.id)
        assert storage.roster(org.organization.id, roster) is roster
        audience = Audience(Place.organization(), Sensitivity.PUBLIC)
        storage.intern(org.organization.id, audience)
        newer = storage.roster(org.organization.id, roster)
        assert newer.epoch > roster.epoch
        assert audience in newer.audiences
        assert dict(newer.people) == dict(roster.people)

    def test_an_unknown_organization_is_a_key_error(self, storage: Storage) -> None:
        """No roster of nothing."""
        with pytest.raises(KeyError):
            storage.roster(new_id())

    def test_every_policy_fact_raises_the_epoch(self, storage: Storage, org: Builder) -> None:
        """And so does every new audience; saving and connections do not."""
        bo, team, topic = org.people["Bo"], org.groups["engineering"], org.topics["Legal"]
        changes: list[Callable[[Transaction], None]] = [
            lambda tx: tx.write_organization(replace(org.organization, name="Harbor & Sons")),
            lambda tx: tx.write_person(replace(bo, role=Role.GUEST)),
            lambda tx: tx.write_group(replace(team, name="Engineers")),
            lambda tx: tx.write_membership(team.id, org.people["Ed"].id, GroupRole.OWNER),
            lambda tx: tx.write_membership(team.id, org.people["Ed"].id, None),
            lambda tx: tx.write_topic(replace(topic, teams=frozenset({team.id}))),
            lambda tx: tx.remove_topic(topic.id),
            lambda tx: tx.remove_group(org.groups["apollo"].id),
        ]
        for change in changes:
            before = storage.roster(org.organization.id).epoch
            self.settings(storage, org, change)
            assert storage.roster(org.organization.id).epoch > before
        roster = storage.roster(org.organization.id)
        assert roster.organization.name == "Harbor & Sons"
        assert roster.people[bo.id].role is Role.GUEST
        assert roster.groups[team.id].name == "Engineers"
        assert org.people["Ed"].id not in roster.memberships[team.id]
        assert org.groups["apollo"].id not in roster.groups
        epoch = roster.epoch
        audience = Audience(Place.team(team.id), Sensitivity.PUBLIC)
        storage.intern(org.organization.id, audience)
        interned = storage.roster(org.organization.id).epoch
        assert interned > epoch
        storage.intern(org.organization.id, audience)
        self.settings(storage, org, lambda tx: tx.write_connection(replace(org.connections["Bo"], client="other")))
        org.save(storage, org.memory("Di", "public here", "organization", sensitivity=Sensitivity.INTERNAL))
        storage.intern(org.organization.id, Audience(Place.organization(), Sensitivity.INTERNAL))
        saved = storage.roster(org.organization.id).epoch
        org.save(storage, org.memory("Di", "again", "organization"))
        assert storage.roster(org.organization.id).epoch == saved

    def test_a_group_with_memories_stays(self, storage: Storage, org: Builder) -> None:
        """The error names the count, hidden and forgotten ones included."""
        org.save(storage, org.memory("Bo", "one", "engineering"))
        org.change(storage, org.save(storage, org.memory("Bo", "two", "engineering")), forgotten_at=START, forgotten_by=org.people["Bo"].id)
        with pytest.raises(ValueError, match="2"):
            self.settings(storage, org, lambda tx: tx.remove_group(org.groups["engineering"].id))
        assert org.groups["engineering"].id in storage.roster(org.organization.id).groups

    def test_what_ever_guarded_goes_on_guarding(self, storage: Storage, org: Builder) -> None:
        """Whether the mapping ends, the team goes or the topic goes."""
        hr, legal, team = org.topics["HR"], org.topics["Legal"], org.groups["people-ops"]
        self.settings(storage, org, lambda tx: tx.write_topic(replace(legal, teams=frozenset({team.id}))))
        self.settings(storage, org, lambda tx: tx.write_topic(replace(legal, teams=frozenset(), guarding=False)))
        self.settings(storage, org, lambda tx: tx.remove_group(team.id))
        roster = storage.roster(org.organization.id)
        assert (roster.topics[hr.id].teams, roster.topics[hr.id].guarding) == (frozenset(), True)
        assert (roster.topics[legal.id].teams, roster.topics[legal.id].guarding) == (frozenset(), True)
        assert roster.guards.guarding == {hr.id, legal.id}
        self.settings(storage, org, lambda tx: tx.remove_topic(hr.id))
        self.settings(storage, org, lambda tx: tx.remove_topic(org.topics["Finance"].id))
        roster = storage.roster(org.organization.id)
        assert set(roster.topics) == {legal.id}
        assert roster.removed_topics == {hr.id}
        assert roster.guards.guarding == {hr.id, legal.id}

    def test_a_removed_topics_key_may_be_given_again(self, storage: Storage, org: Builder) -> None:
        """To another topic, which does not guard what the old one guarded."""
        old = org.topics["HR"]
        self.settings(storage, org, lambda tx: tx.remove_topic(old.id))
        new = replace(old, id=new_id(), teams=frozenset(), guarding=False, builtin=False)
        self.settings(storage, org, lambda tx: tx.write_topic(new))
        roster = storage.roster(org.organization.id)
        assert roster.topics[new.id] == new
        assert roster.guards.guarding == {old.id}

    def test_connections_are_kept(self, storage: Storage, org: Builder) -> None:
        """Newest first, by person, by exact id; a use is noted without an audit row."""
        bo = org.people["Bo"].id
        newer = replace(org.connections["Bo"], id=new_id(), kind=ConnectionKind.OAUTH, created_at=START + timedelta(hours=1))
        self.settings(storage, org, lambda tx: tx.write_connection(newer))
        with storage.begin(org.operator) as tx:
            rows = len(tx.audit_rows(0, 100))
            assert [connection.id for connection in tx.connections(bo)] == [newer.id, org.connections["Bo"].id]
            assert {connection.id for connection in tx.connections()} == {newer.id, *(one.id for one in org.connections.values())}
        assert storage.connection(org.organization.id, newer.id) == newer
        assert storage.connection(org.organization.id, new_id()) is None
        storage.note_use(org.organization.id, newer.id, "2.1")
        storage.note_use(org.organization.id, newer.id, None)
        used = storage.connection(org.organization.id, newer.id)
        assert used is not None
        assert used.client_version == "2.1"
        assert used.last_used_at is not None
        with storage.begin(org.operator) as tx:
            assert len(tx.audit_rows(0, 100)) == rows

    # -- beginning and ending ----------------------------------------------------------------------------------------

    def test_a_reach_of_an_earlier_epoch_is_stale(self, storage: Storage, org: Builder) -> None:
        """For reading and for writing."""
        reach = org.reach(storage, "Bo")
        self.settings(storage, org, lambda tx: tx.write_person(replace(org.people["Cy"], active=False)))
        with pytest.raises(Stale), storage.begin(reach):
            pass
        with pytest.raises(Stale), storage.begin(reach, org.act("Bo", "memory.remember")):
            pass

    def test_a_revoked_connection_writes_nothing(self, storage: Storage, org: Builder) -> None:
        """Nor one that has expired, nor that of a disabled person."""
        with storage.begin(org.operator) as tx:
            now = tx.now
        revoked, expired = replace(org.connections["Bo"], revoked_at=now), replace(org.connections["Di"], expires_at=now)
        self.settings(storage, org, lambda tx: tx.write_connection(revoked))
        self.settings(storage, org, lambda tx: tx.write_connection(expired))
        self.settings(storage, org, lambda tx: tx.write_person(replace(org.people["Ed"], active=False)))
        for name in ("Bo", "Di", "Ed"):
            with pytest.raises(Revoked), storage.begin(org.reach(storage, name), org.act(name, "memory.remember")):
                pass

    def test_without_an_act_nothing_is_written(self, storage: Storage, org: Builder) -> None:
        """A RuntimeError says so."""
        memory = org.save(storage, org.memory("Bo", "kept"))
        version = Version(1, "x", None, memory.provenance, START, None)
        writes: list[Callable[[Transaction], object]] = [
            lambda tx: tx.memory(memory.id, lock=True),
            lambda tx: tx.claim("key", "digest", memory.id),
            lambda tx: tx.insert(org.memory("Bo", "new"), version, entry("new")),
            lambda tx: tx.lock_links(),
            lambda tx: tx.write_person(org.people["Bo"]),
            lambda tx: tx.write_connection(org.connections["Bo"]),
        ]
        for write in writes:
            with pytest.raises(RuntimeError), storage.begin(org.reach(storage, "Bo")) as tx:
                write(tx)

    def test_an_exception_undoes_everything(self, storage: Storage, org: Builder) -> None:
        """Memory, claim and audit row alike."""
        memory = org.memory("Bo", "never")
        storage.intern(org.organization.id, memory.audience)
        version = Version(1, "never", None, memory.provenance, START, None)
        with storage.begin(org.operator) as tx:
            rows = len(tx.audit_rows(0, 100))
        with pytest.raises(ZeroDivisionError), storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.remember")) as tx:
            assert tx.claim("key", "digest", memory.id).fresh
            tx.insert(memory, version, entry("never"))
            raise ZeroDivisionError
        assert self.read(storage, org, "Bo", memory.id) is None
        with storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.remember")) as tx:
            assert tx.claim("key", "digest", memory.id).fresh
        with storage.begin(org.operator) as tx:
            assert len(tx.audit_rows(0, 100)) == rows + 1

    def test_reads_are_one_snapshot(self, storage: Storage, org: Builder) -> None:
        """What commits meanwhile does not show."""
        memory = org.save(storage, org.memory("Bo", "first"))
        with storage.begin(org.reach(storage, "Bo")) as tx:
            before = tx.memory(memory.id)
            org.change(storage, memory, content="second")
            assert tx.memory(memory.id) == before
        after = self.read(storage, org, "Bo", memory.id)
        assert after is not None
        assert after.content == "second"

    def test_organizations_are_apart(self, storage: Storage, org: Builder) -> None:
        """Nothing crosses, by id, number, list or operator."""
        other = harbor(f"harbor-{new_id()}").store(storage)
        memory = org.save(storage, org.memory("Ada", "ours alone", "organization"))
        other.save(storage, other.memory("Ada", "theirs", "organization"))
        assert self.read(storage, other, "Ada", memory.id) is None
        assert self.read(storage, other, "Ada", memory.number) is None
        assert memory.id not in self.browse(storage, other, "Ada")
        assert memory.id not in self.hits(storage, other, "Ada", "ours alone")
        with storage.begin(other.operator) as tx:
            assert tx.memory(memory.id) is None
            assert tx.count_memories() == 1
            assert memory.id not in {one.id for one in tx.all_memories(None, 10)}
        assert storage.connection(other.organization.id, org.connections["Bo"].id) is None

    # -- the audit chain ---------------------------------------------------------------------------------------------

    def test_each_writing_transaction_is_one_link(self, storage: Storage, org: Builder) -> None:
        """In order, without gaps, each over the one before; an operator's reason is kept."""
        act = Act(
            "memory.remember",
            org.people["Bo"].id,
            org.connections["Bo"].id,
            new_id(),
            ApprovedVia.PERSON,
            "builder",
            "run 7",
            {"level": "é", "count": 3, "open": True, "nothing": None},
        )
        with storage.begin(org.reach(storage, "Bo"), act):
            pass
        with storage.begin(org.reach(storage, "Bo"), act) as tx:
            tx.describe(replace(act, action="memory.replayed"))
        with storage.begin(org.reach(storage, "Bo")):
            pass
        with storage.begin(org.operator) as tx:
            rows = tx.audit_rows(0, 100)
            assert tx.audit_rows(2, 1) == rows[2:3]
        assert [row.position for row in rows] == list(range(1, len(rows) + 1))
        assert [row.previous for row in rows] == [NO_ROW, *(row.digest for row in rows[:-1])]
        assert all(row.intact for row in rows)
        assert rows[-2].act == act
        assert rows[-1].act == replace(act, action="memory.replayed")
        assert rows[1].act.detail["reason"] == "test"

    def test_writers_at_once_leave_one_chain(self, storage: Storage, org: Builder) -> None:
        """No gap, no fork."""
        with storage.begin(org.operator) as tx:
            before = len(tx.audit_rows(0, 1000))

        def write(number: int) -> None:
            name = ("Ada", "Bo", "Di", "Ed")[number % 4]
            with storage.begin(org.reach(storage, name), org.act(name, "memory.remember", str(number))):
                pass

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(16)))
        with storage.begin(org.operator) as tx:
            rows = tx.audit_rows(0, 1000)
        assert len(rows) == before + 16
        assert [row.position for row in rows] == list(range(1, len(rows) + 1))
        assert [row.previous for row in rows[1:]] == [row.digest for row in rows[:-1]]
        assert all(row.intact for row in rows)

    # -- memories ----------------------------------------------------------------------------------------------------

    def test_a_memory_comes_back_whole(self, storage: Storage, org: Builder) -> None:
        """Every field, by id and by number, and its version."""
        bo = org.people["Bo"].id
        review = Review(
            Flag.AUDIENCE,
            "holds a key",
            START,
            1,
            Suggestion("team", org.groups["engineering"].id, "restricted"),
            (Finding("github_token", "secrets", 0.8, 3, 9, "gh…"),),
        )
        memory = replace(
            org.memory("Bo", "my ghp_123 ’ü🛟", sensitivity=Sensitivity.HIGHLY_RESTRICTED, topics=["Legal", "HR"]),
            masked="my [github_token] ’ü🛟",
            kind=Kind.PROCEDURE,
            importance=0.25,
            valid_until=START + timedelta(days=900),
            reviews=(Review(Flag.INSTRUCTIONS, "orders", START, 1), review),
            review_state="open",
            provenance=Provenance(bo, org.connections["Bo"].id, "test client", "1.2", "planner", "run 9", doubtful=True),
        )
        org.save(storage, memory)
        assert self.read(storage, org, "Bo", memory.id) == memory
        assert self.read(storage, org, "Bo", memory.number) == memory
        with storage.begin(org.reach(storage, "Bo")) as tx:
            assert tx.memories([memory.id, new_id()]) == {memory.id: memory}
            assert tx.versions(memory.id) == (Version(1, memory.content, memory.masked, memory.provenance, memory.created_at, None),)

    def test_what_was_never_given_out_is_none(self, storage: Storage, org: Builder) -> None:
        """By id, by number, and by what is neither."""
        for reference in (new_id(), 123456789, "no id at all", ""):
            assert self.read(storage, org, "Ada", reference) is None

    def test_numbers_are_unique_and_audiences_known(self, storage: Storage, org: Builder) -> None:
        """A taken number and an unknown audience have errors of their own, and leave nothing."""
        first = org.save(storage, org.memory("Bo", "first"))
        second = org.memory("Bo", "second", number=first.number)
        version = Version(1, "second", None, second.provenance, START, None)
        with pytest.raises(NumberTaken), storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.remember")) as tx:
            tx.insert(second, version, entry("second"))
        assert self.read(storage, org, "Bo", second.id) is None
        third = org.memory("Bo", "third", "engineering", sensitivity=Sensitivity.RESTRICTED)
        with pytest.raises(UnknownAudience) as raised, storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.remember")) as tx:
            tx.insert(third, version, entry("third"))
        assert raised.value.audience == third.audience
        with pytest.raises(UnknownAudience), storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.scope")) as tx:
            locked = tx.memory(first.id, lock=True)
            assert locked is not None
            tx.update(locked, replace(first, place=third.place, sensitivity=third.sensitivity))
        assert self.read(storage, org, "Bo", first.id) == first

    def test_a_change_keeps_the_texts_there_were(self, storage: Storage, org: Builder) -> None:
        """Newest first; the one before is stamped with the audience that it was replaced under."""
        first = org.memory("Bo", "six o'clock", "engineering", flags=[Flag.FYI])
        org.save(storage, first, indexed("six o'clock", unit(1, 0, 0, 0)))
        second = replace(
            first, content="seven o'clock", version=2, reviews=(), review_state="approved", updated_at=START + timedelta(days=1), own=False
        )
        text = Version(2, second.content, None, replace(first.provenance, agent="fixer"), second.updated_at, "was wrong")
        storage.intern(org.organization.id, second.audience)
        with storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.correct", first.id)) as tx:
            locked = tx.memory(first.id, lock=True)
            assert locked == first
            tx.update(locked, second, text, indexed("seven o'clock", unit(0, 1, 0, 0)))
            assert tx.memory(first.id) == second
        assert self.read(storage, org, "Bo", first.id) == second
        with storage.begin(org.reach(storage, "Bo")) as tx:
            newest, oldest = tx.versions(first.id)
            assert newest == text
            assert oldest == Version(1, first.content, None, first.provenance, first.created_at, None, replaced_under=first.audience)
        assert first.id in self.hits(storage, org, "Bo", "seven")
        assert first.id not in self.hits(storage, org, "Bo", "six")
        with storage.begin(org.reach(storage, "Di")) as tx:
            assert tx.versions(first.id) == ()

    def test_a_credential_is_kept_in_the_newest_text_alone(self, storage: Storage, org: Builder) -> None:
        """What is replaced keeps its masked text, so that no history holds the raw one."""
        first = org.save(storage, org.memory("Bo", "code 1234", masked="code [pin]"))
        second = org.change(storage, first, content="code 5678", masked="code [pin]")
        org.change(storage, second, content="no code", masked=None)
        with storage.begin(org.reach(storage, "Bo")) as tx:
            texts = [(version.content, version.masked) for version in tx.versions(first.id)]
        assert texts == [("no code", None), ("code [pin]", None), ("code [pin]", None)]

    def test_a_memory_may_leave_the_reach_that_changes_it(self, storage: Storage, org: Builder) -> None:
        """Inside the transaction it stays visible; afterwards the new audience decides."""
        memory = org.save(storage, org.memory("Bo", "for everybody", "organization"))
        moved = replace(memory, place=Place.personal(memory.author), version=2)
        storage.intern(org.organization.id, moved.audience)
        with storage.begin(org.reach(storage, "Ada"), org.act("Ada", "memory.scope", memory.id)) as tx:
            locked = tx.memory(memory.id, lock=True)
            assert locked is not None
            tx.update(locked, moved)
            assert tx.memory(memory.id) == moved
        assert self.read(storage, org, "Ada", memory.id) is None
        assert memory.id not in self.hits(storage, org, "Ada", "everybody")
        assert self.read(storage, org, "Bo", memory.id) == moved
        assert memory.id in self.hits(storage, org, "Bo", "everybody")

    def test_a_locked_memory_waits_for_its_change(self, storage: Storage, org: Builder) -> None:
        """Who locks it next sees what became of it."""
        memory = org.save(storage, org.memory("Bo", "count 1", "organization"))
        started, seen = threading.Event(), list[int]()

        def second() -> None:
            with storage.begin(reach, org.act("Ada", "memory.correct")) as tx:
                started.set()
                found = tx.memory(memory.id, lock=True)
                assert found is not None
                seen.append(found.version)

        reach = org.reach(storage, "Ada")
        thread = threading.Thread(target=second)
        with storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.correct")) as tx:
            locked = tx.memory(memory.id, lock=True)
            assert locked is not None
            thread.start()
            tx.update(locked, replace(locked, version=2))
        assert started.wait(WAIT_S)
        thread.join(WAIT_S)
        assert seen == [2]

    def test_claims_are_a_persons_own(self, storage: Storage, org: Builder) -> None:
        """The first takes the key; later ones learn who has it."""
        first, second = new_id(), new_id()
        with storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.remember")) as tx:
            assert tx.claim("k", "one", first) == Claim(first, "one", fresh=True)
        with storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.remember")) as tx:
            assert tx.claim("k", "two", second) == Claim(first, "one", fresh=False)
        with storage.begin(org.reach(storage, "Di"), org.act("Di", "memory.remember")) as tx:
            assert tx.claimed("k") is None
            assert tx.claim("k", "three", second) == Claim(second, "three", fresh=True)
        with storage.begin(org.reach(storage, "Bo")) as tx:
            assert tx.claimed("k") == Claim(first, "one", fresh=False)
            assert tx.claimed("other") is None

    def test_of_two_claims_at_once_one_is_fresh(self, storage: Storage, org: Builder) -> None:
        """The other waits and finds it."""
        ready = threading.Barrier(2)

        def claim(id_: str) -> Claim:
            reach = org.reach(storage, "Bo")
            ready.wait(WAIT_S)
            with storage.begin(reach, org.act("Bo", "memory.remember")) as tx:
                return tx.claim("same", id_, id_)

        with ThreadPoolExecutor(2) as pool:
            one, two = pool.map(claim, (new_id(), new_id()))
        assert one.fresh != two.fresh
        assert one.memory == two.memory

    # -- within the reach --------------------------------------------------------------------------------------------

    def test_reading_is_what_policy_says(self, storage: Storage, org: Builder) -> None:
        """By id, in lists, in search, among neighbours: for every person and every kind of memory."""
        team, states = org.groups["engineering"].id, []
        for place, sensitivity in (
            ("organization", Sensitivity.PUBLIC),
            ("organization", Sensitivity.INTERNAL),
            ("engineering", Sensitivity.RESTRICTED),
            ("apollo", Sensitivity.HIGHLY_RESTRICTED),
            ("personal", Sensitivity.HIGHLY_RESTRICTED),
        ):
            for author in ("Bo", "Cy", "Ed"):
                for flags in ((), (Flag.FYI,), (Flag.AUDIENCE,)):
                    states.append(org.memory(author, "harbour", place, sensitivity=sensitivity, flags=flags, topics=["HR"]))
                    states.append(org.memory(author, "harbour", place, sensitivity=sensitivity, flags=flags, own=False))
        for memory in states:
            org.save(storage, memory, indexed("harbour", unit(1, 0, 0, 0)), operator=True)
        self.settings(storage, org, lambda tx: tx.write_membership(team, org.people["Di"].id, GroupRole.OWNER))
        roster = storage.roster(org.organization.id)
        for name, person in org.people.items():
            reader = roster.readers[person.id]
            by_id = {memory.id for memory in states if may(reader, Permission.READ, memory)}
            listed = {memory.id for memory in states if may(reader, Permission.READ, memory, by_id=False)}
            with storage.begin(org.reach(storage, name)) as tx:
                assert {memory.id for memory in states if tx.memory(memory.id) is not None} == by_id
                assert {memory.id for memory in states if tx.memory(memory.number) is not None} == by_id
                assert {memory.id for memory in states if tx.versions(memory.id)} == by_id
                assert set(tx.memories([memory.id for memory in states])) == listed
                assert {memory.id for memory in tx.browse(Browse(Listing.ALL, 500, tx.now))} == listed
                assert {id_ for id_, _ in tx.nearest(unit(1, 0, 0, 0), MODEL, 500)} == listed
                waiting = {memory.id for memory in tx.browse(Browse(Listing.REVIEW, 500, tx.now))}
                assert waiting == {memory.id for memory in states if memory.flagged and may(reader, Permission.REVIEW, memory)}
                assert tx.count_reviews() == len(waiting)
            assert set(self.hits(storage, org, name, "harbour")) == listed
            assert set(self.hits(storage, org, name, vector=unit(1, 0, 0, 0))) == listed

    def test_what_is_revealed_is_read_by_id_alone(self, storage: Storage, org: Builder) -> None:
        """Not listed, not found, not under another permission."""
        memory = org.save(storage, org.memory("Bo", "hidden", "engineering"))
        revealed = replace(org.reach(storage, "Ada"), revealed=frozenset({memory.id}))
        with storage.begin(revealed) as tx:
            assert tx.memory(memory.id) == memory
            assert tx.memories([memory.id]) == {}
            assert tx.browse(Browse(Listing.ALL, 10, tx.now)) == []
            assert tx.search(Question(("hidden",), None, None), SearchFilter(tx.now)) == []
        with storage.begin(replace(revealed, permission=Permission.CORRECT)) as tx:
            assert tx.memory(memory.id) is None

    def test_some_audiences_only(self, storage: Storage, org: Builder) -> None:
        """What a filter by topic or team leaves of the reach; it opens nothing."""
        here = org.save(storage, org.memory("Bo", "tide table", "engineering"))
        there = org.save(storage, org.memory("Bo", "tide table", "organization"))
        within = frozenset({here.audience})
        assert set(self.hits(storage, org, "Bo", "tide", within=within)) == {here.id}
        assert self.browse(storage, org, "Bo", within=within) == [here.id]
        assert self.hits(storage, org, "Di", "tide", within=within) == {}
        assert self.browse(storage, org, "Di", within=within) == []
        assert self.browse(storage, org, "Di", within=frozenset()) == []
        assert self.browse(storage, org, "Di", within=frozenset({here.audience, there.audience})) == [there.id]

    def test_forgotten_memories_show_to_those_who_may_restore_them(self, storage: Storage, org: Builder) -> None:
        """Only within a reach for restoring, and what somebody else forgot not to its author."""
        bo, ada = org.people["Bo"].id, org.people["Ada"].id
        own = org.save(storage, org.memory("Bo", "mine", "organization"))
        taken = org.save(storage, org.memory("Bo", "taken", "organization"))
        org.change(storage, own, forgotten_at=START, forgotten_by=bo)
        org.change(storage, taken, forgotten_at=START, forgotten_by=ada)
        for name in ("Bo", "Ada", "Di"):
            assert self.read(storage, org, name, own.id) is None
            assert self.browse(storage, org, name) == []
            assert self.hits(storage, org, name, "mine taken") == {}
            with storage.begin(org.reach(storage, name)) as tx:
                assert tx.memories([own.id, taken.id]) == {}
        assert set(self.browse(storage, org, "Ada", Listing.FORGOTTEN)) == {own.id, taken.id}
        assert self.browse(storage, org, "Bo", Listing.FORGOTTEN) == [own.id]
        assert self.browse(storage, org, "Di", Listing.FORGOTTEN) == []
        with storage.begin(org.reach(storage, "Bo", Permission.RESTORE), org.act("Bo", "memory.restore", own.id)) as tx:
            assert tx.memory(taken.id) is None
            found = tx.memory(own.id, lock=True)
            assert found is not None
            tx.update(found, replace(found, forgotten_at=None, forgotten_by=None, version=found.version + 1))
        assert self.browse(storage, org, "Bo") == [own.id]
        assert set(self.hits(storage, org, "Di", "mine taken")) == {own.id}

    # -- lists -------------------------------------------------------------------------------------------------------

    def test_lists_come_newest_first_in_pages(self, storage: Storage, org: Builder) -> None:
        """Each page goes on where the one before ended, also among memories of one moment."""
        saved = [org.save(storage, org.memory("Bo", f"note {n}", created_at=START + timedelta(minutes=n // 3))) for n in range(8)]
        expected = [memory.id for memory in sorted(saved, key=lambda memory: (memory.created_at, memory.id), reverse=True)]
        assert self.browse(storage, org, "Bo") == expected
        found: list[str] = []
        after = None
        while True:
            page = self.browse(storage, org, "Bo", limit=3, after=after)
            found += page
            if len(page) < 3:
                break
            last = next(memory for memory in saved if memory.id == page[-1])
            after = last.created_at, last.id
        assert found == expected
        assert self.browse(storage, org, "Bo", oldest_first=True) == expected[::-1]
        third = saved[2]
        rest = self.browse(storage, org, "Bo", oldest_first=True, after=(third.created_at, third.id))
        assert rest == expected[::-1][expected[::-1].index(third.id) + 1 :]

    def test_lists_filter(self, storage: Storage, org: Builder) -> None:
        """By kind, by being mine, and by the labels that any version was saved under."""
        first = org.memory("Bo", "one", "organization", kind=Kind.DECISION)
        first = org.save(storage, replace(first, provenance=replace(first.provenance, agent="planner", run_id="r1")))
        second = org.save(storage, org.memory("Di", "two", "organization"))
        with storage.begin(org.operator, Act("memory.correct")) as tx:
            locked = tx.memory(second.id, lock=True)
            assert locked is not None
            text = Version(2, "two b", None, replace(second.provenance, agent="fixer", run_id="r2"), START, None)
            tx.update(locked, replace(second, content="two b", version=2), text, entry("two b"))
        assert self.browse(storage, org, "Bo", kind=Kind.DECISION) == [first.id]
        assert self.browse(storage, org, "Bo", Listing.MINE) == [first.id]
        assert self.browse(storage, org, "Bo", agent="planner") == [first.id]
        assert self.browse(storage, org, "Bo", run_id="r2") == [second.id]
        assert self.browse(storage, org, "Bo", agent="fixer", run_id="r1") == []

    def test_lists_filter_by_author_times_words_and_state(self, storage: Storage, org: Builder) -> None:
        """Each filter leaves what it says, within the reach; those of the order by change too."""
        with storage.begin(org.operator) as tx:
            now = tx.now

        def save(name: str, text: str, **more: Any) -> Memory:
            return org.save(storage, org.memory(name, text, "organization", **more), operator=True)

        first = save("Bo", "blue crane", created_at=START, updated_at=START + timedelta(days=3))
        second = save("Di", "red crane", created_at=START + timedelta(days=1), updated_at=START + timedelta(days=1))
        past = save(
            "Bo",
            "old kettle",
            created_at=START + timedelta(days=2),
            updated_at=START + timedelta(days=2),
            valid_until=now - timedelta(days=1),
        )
        waits = save("Bo", "odd kettle", created_at=START + timedelta(days=4), updated_at=START + timedelta(days=4), flags=[Flag.FYI])
        replaced = save("Bo", "crane", created_at=START + timedelta(days=5), updated_at=START + timedelta(days=5), superseded_by=second.id)
        hidden = org.save(storage, org.memory("Di", "blue crane", "personal"))
        everything = [replaced.id, waits.id, past.id, second.id, first.id]
        assert self.browse(storage, org, "Bo") == everything
        assert self.browse(storage, org, "Bo", author=org.people["Di"].id) == [second.id]
        assert self.browse(storage, org, "Di", author=org.people["Di"].id) == [second.id, hidden.id]
        assert self.browse(storage, org, "Bo", since=START + timedelta(days=1), until=START + timedelta(days=4)) == [past.id, second.id]
        assert self.browse(storage, org, "Bo", terms=("crane",)) == [replaced.id, second.id, first.id]
        assert self.browse(storage, org, "Bo", terms=("crane", "blue")) == [first.id]
        assert self.browse(storage, org, "Bo", terms=("cr%", "' | 'crane")) == []
        assert self.browse(storage, org, "Bo", flagged=True) == [waits.id]
        assert self.browse(storage, org, "Bo", flagged=False) == [id_ for id_ in everything if id_ != waits.id]
        assert self.browse(storage, org, "Bo", superseded=True) == [replaced.id]
        assert self.browse(storage, org, "Bo", superseded=False, expired=False) == [waits.id, second.id, first.id]
        assert self.browse(storage, org, "Bo", expired=True) == [past.id]
        assert self.browse(storage, org, "Bo", expires_before=now) == [past.id]
        assert self.browse(storage, org, "Bo", replaced_by=second.id) == [replaced.id]
        changed = [replaced.id, waits.id, first.id, past.id, second.id]
        assert self.browse(storage, org, "Bo", by_change=True) == changed
        assert self.browse(storage, org, "Bo", by_change=True, oldest_first=True) == changed[::-1]
        assert self.browse(storage, org, "Bo", by_change=True, after=(waits.updated_at, waits.id)) == changed[2:]

    def test_what_is_forgotten_is_not_found_by_words(self, storage: Storage, org: Builder) -> None:
        """It is listed under FORGOTTEN, and filtered by what is not text."""
        bo = org.people["Bo"].id
        memory = org.save(storage, org.memory("Bo", "blue crane", "organization"))
        org.change(storage, memory, forgotten_at=START, forgotten_by=bo)
        assert self.browse(storage, org, "Bo", Listing.FORGOTTEN, author=bo) == [memory.id]
        assert self.browse(storage, org, "Bo", Listing.FORGOTTEN, terms=("crane",)) == []

    def test_the_audit_log_is_searched_backwards(self, storage: Storage, org: Builder) -> None:
        """By each of its columns, in pages, and counted no further than asked."""
        ada, bo = org.people["Ada"].id, org.people["Bo"].id
        target, connection = new_id(), org.connections["Bo"].id
        acts = [
            Act("memory.correct", bo, connection, target, ApprovedVia.NONE, "planner", "r1"),
            Act("memory.forget", ada, None, target, ApprovedVia.PERSON),
            Act("memoryxforget", bo),
            Act("memory.forget", bo, None, new_id(), ApprovedVia.FLAG, None, "r1"),
        ]
        for act in acts:
            with storage.begin(org.operator, act):
                pass
        token = REQUEST.set("request-1")
        try:
            with storage.begin(org.operator, Act("person.disable", ada)):
                pass
        finally:
            REQUEST.reset(token)

        def found(limit: int = 10, **more: Any) -> list[str]:
            with storage.begin(org.operator) as tx:
                rows = tx.find_audit(AuditSearch(limit, **more))
                assert tx.count_audit(AuditSearch(limit, **more)) == len(rows)
                assert all(row.intact for row in rows)
                return [row.act.action for row in rows]

        assert found(3) == ["person.disable", "memory.forget", "memoryxforget"]
        with storage.begin(org.operator) as tx:
            newest = tx.find_audit(AuditSearch(1))[0]
        assert found(1, before=newest.position) == ["memory.forget"]
        assert found(actor=ada, action="memory.*") == ["memory.forget"]
        assert found(action="memory.*", actor=bo) == ["memory.forget", "memory.correct"]
        assert found(action="memory_*") == []
        assert found(action="memory.correct") == ["memory.correct"]
        assert found(target=target) == ["memory.forget", "memory.correct"]
        assert found(connection=connection) == ["memory.correct"]
        assert found(agent="planner") == ["memory.correct"]
        assert found(run_id="r1") == ["memory.forget", "memory.correct"]
        assert found(result="person") == ["memory.forget"]
        assert found(request="request-1") == ["person.disable"]
        assert found(since=newest.at) == ["person.disable"]
        assert "person.disable" not in found(100, until=newest.at)
        with storage.begin(org.reach(storage, "Ada")) as tx, pytest.raises(RuntimeError):
            tx.find_audit(AuditSearch(1))

    def test_doubtful_labels_find_nothing_for_others(self, storage: Storage, org: Builder) -> None:
        """A label that only its person sees is no filter for anybody else."""
        memory = org.memory("Bo", "one", "organization")
        memory = replace(memory, provenance=replace(memory.provenance, agent="odd", run_id="odd run", doubtful=True))
        org.save(storage, memory)
        assert self.browse(storage, org, "Bo", agent="odd", run_id="odd run") == [memory.id]
        assert self.browse(storage, org, "Di", agent="odd") == []
        assert self.browse(storage, org, "Di", run_id="odd run") == []

    def test_the_queue_is_oldest_first(self, storage: Storage, org: Builder) -> None:
        """By when the earliest open review was opened, in pages, for author and reviewers."""
        reviews = [Review(Flag.AUDIENCE, "why", START - timedelta(days=n), 1) for n in range(4)]
        saved = [org.save(storage, org.memory("Bo", "w", "engineering", reviews=(review,)), operator=True) for review in reviews]
        expected = [memory.id for memory in reversed(saved)]
        assert self.browse(storage, org, "Bo", Listing.REVIEW) == expected
        assert self.browse(storage, org, "Bo", Listing.REVIEW, oldest_first=True) == expected
        assert self.browse(storage, org, "Ada", Listing.REVIEW, limit=2) == expected[:2]
        after = reviews[2].opened_at, saved[2].id
        assert self.browse(storage, org, "Ada", Listing.REVIEW, limit=5, after=after) == expected[2:]
        assert self.browse(storage, org, "Ada", Listing.REVIEW, limit=2, backwards=True) == expected[:1:-1]
        assert self.browse(storage, org, "Ada", Listing.REVIEW, limit=5, after=after, backwards=True) == expected[:1]
        assert self.browse(storage, org, "Ada", Listing.REVIEW, author=org.people["Bo"].id) == expected
        assert self.browse(storage, org, "Ada", Listing.REVIEW, author=org.people["Ada"].id) == []
        assert self.browse(storage, org, "Di", Listing.REVIEW) == []
        with storage.begin(org.reach(storage, "Bo")) as tx:
            assert tx.count_reviews(mine=True) == 4
        with storage.begin(org.reach(storage, "Ada")) as tx:
            assert tx.count_reviews() == 4
            assert tx.count_reviews(mine=True) == 0
        with storage.begin(org.reach(storage, "Di")) as tx:
            assert tx.count_reviews() == 0

    def test_the_board_holds_handoff_notes_that_recall_may_show(self, storage: Storage, org: Builder) -> None:
        """Not those that wait, are past, replaced or forgotten."""
        with storage.begin(org.operator) as tx:
            now = tx.now

        def note(**more: Any) -> Memory:
            return org.save(storage, org.memory("Ed", "next steps", "apollo", kind=Kind.HANDOFF, **more), operator=True)

        good = note(valid_until=now + timedelta(days=7))
        past = note(valid_until=now - timedelta(days=1))
        note(flags=[Flag.INSTRUCTIONS])
        replaced = note(superseded_by=good.id)
        note(forgotten_at=now, forgotten_by=org.people["Ed"].id)
        org.save(storage, org.memory("Ed", "no note", "apollo"))
        assert self.browse(storage, org, "Ed", Listing.BOARD) == [good.id]
        assert self.browse(storage, org, "Ed", Listing.BOARD, include_expired=True) == [past.id, good.id]
        assert self.browse(storage, org, "Ed", Listing.BOARD, include_superseded=True) == [replaced.id, good.id]
        assert self.browse(storage, org, "Bo", Listing.BOARD) == []

    # -- search ------------------------------------------------------------------------------------------------------

    def test_words_find_any_of_the_terms(self, storage: Storage, org: Builder) -> None:
        """The weight is the share of the question that is covered, rarer terms counting more; none held, none found."""
        texts = ["crane crane north", "crane", "north pier", "north", "pier pier pier"]
        ids = [org.save(storage, org.memory("Bo", text), indexed(text)).id for text in texts]
        found = self.hits(storage, org, "Bo", "crane north absent")
        assert set(found) == set(ids[:4])
        crane, north, absent = (math.log(1 + (5 - held + 0.5) / (held + 0.5)) for held in (2, 3, 0))
        for id_, covered in zip(ids, (crane + north, crane, north, north), strict=False):
            assert found[id_].words == pytest.approx(covered / (crane + north + absent), rel=1e-6)
        assert self.hits(storage, org, "Bo", "north")[ids[3]].words == pytest.approx(1)
        assert set(found[ids[0]].matched) == {"crane", "north"}
        assert found[ids[2]].matched == ("north",)
        assert all(hit.similarity is None for hit in found.values())
        assert {hit.author for hit in found.values()} == {org.people["Bo"].id}
        assert self.hits(storage, org, "Bo", "nothing") == {}
        assert self.hits(storage, org, "Bo") == {}

    def test_odd_terms_are_only_words(self, storage: Storage, org: Builder) -> None:
        """Quotes, operators, long and strange ones neither fail nor match something else."""
        odd = ["it's", "a&b", "!x", "c:*", "back\\slash", "()", "d|e", "naïve", "漢字", "x" * 3000, "%s", "{}", "tab'\\''"]
        memory = org.memory("Bo", "odd")
        org.save(storage, memory, IndexEntry(tuple(odd), None, None))
        org.save(storage, org.memory("Bo", "plain"), indexed("plain words"))
        for term in odd[:9]:
            assert set(self.hits_of(storage, org, (term,))) == {memory.id}, term
        assert set(self.hits_of(storage, org, tuple(odd))) == {memory.id}

    def hits_of(self, storage: Storage, org: Builder, terms: Sequence[str]) -> list[str]:
        """Ids that Bo finds by terms that may hold spaces."""
        with storage.begin(org.reach(storage, "Bo")) as tx:
            return [hit.memory for hit in tx.search(Question(tuple(terms), None, None), SearchFilter(tx.now))]

    def test_vectors_find_the_nearest(self, storage: Storage, org: Builder) -> None:
        """By the best passage; a memory found by words has its similarity too."""
        far = org.save(storage, org.memory("Bo", "far"), indexed("far", unit(0, 1, 0, 0))).id
        near = org.save(storage, org.memory("Bo", "near"), indexed("near", unit(0, 0, 1, 0), unit(1, 0.1, 0, 0))).id
        bare = org.save(storage, org.memory("Bo", "bare"), indexed("bare")).id
        found = self.hits(storage, org, "Bo", vector=unit(1, 0, 0, 0))
        assert set(found) == {near, far}
        assert found[near].similarity == pytest.approx(float(unit(1, 0.1)[0]), abs=2e-3)
        assert found[far].similarity == pytest.approx(0, abs=2e-3)
        assert set(self.hits(storage, org, "Bo", vector=unit(1, 0, 0, 0), limit=1)) == {near}
        both = self.hits(storage, org, "Bo", "far bare", unit(1, 0, 0, 0), limit=2)
        assert set(both) == {near, far, bare}
        assert both[far].similarity == pytest.approx(0, abs=2e-3)
        assert both[far].words > 0
        assert both[near].words == 0
        assert both[bare].similarity is None

    def test_search_filters(self, storage: Storage, org: Builder) -> None:
        """Each filter leaves out what it should, from either leg."""
        with storage.begin(org.operator) as tx:
            now = tx.now
        day = timedelta(days=1)

        def save(**more: Any) -> Memory:
            memory = org.memory(more.pop("author", "Bo"), "buoy", "organization", **more)
            return org.save(storage, memory, indexed("buoy", unit(1, 0, 0, 0)), operator=True)

        plain = save(created_at=START)
        decision = save(kind=Kind.DECISION)
        handoff = save(kind=Kind.HANDOFF)
        expired = save(valid_until=now - day)
        replaced = save(superseded_by=plain.id)
        other = save(author="Di")
        later = save(created_at=START + 10 * day)
        save(flags=[Flag.INSTRUCTIONS])
        save(forgotten_at=now, forgotten_by=org.people["Bo"].id)
        run = org.memory("Bo", "buoy", "organization")
        run = org.save(storage, replace(run, provenance=replace(run.provenance, run_id="r")), indexed("buoy", unit(1, 0, 0, 0)))
        usual = {memory.id for memory in (plain, decision, other, later, run)}
        for question in ({"words": "buoy"}, {"vector": unit(1, 0, 0, 0)}):

            def found(question: dict[str, Any] = question, **where: Any) -> set[str]:
                return set(self.hits(storage, org, "Bo", **question, **where))

            assert found() == usual
            assert found(kind=Kind.HANDOFF) == {handoff.id}
            assert found(kind=Kind.DECISION) == {decision.id}
            assert found(within=frozenset({plain.audience})) == usual
            assert found(within=frozenset({org.memory("Bo", "x").audience})) == set()
            assert found(include_expired=True) == usual | {expired.id}
            assert found(include_superseded=True) == usual | {replaced.id}
            assert found(run_id="r") == {run.id}
            assert found(author=org.people["Di"].id) == {other.id}
            assert found(since=START + 10 * day) == {later.id}
            assert found(until=START + timedelta(seconds=1)) == {plain.id}
            assert found(now=now - 2 * day) == usual | {expired.id}

    def test_held_memories_are_found_by_their_author_alone(self, storage: Storage, org: Builder) -> None:
        """Reviewers read them by id and in the queue."""
        held = org.save(storage, org.memory("Bo", "shoal", "engineering", flags=[Flag.AUDIENCE]))
        assert set(self.hits(storage, org, "Bo", "shoal")) == {held.id}
        assert self.hits(storage, org, "Ada", "shoal") == {}
        assert self.read(storage, org, "Ada", held.id) == held

    def test_neighbours_are_those_of_the_run_that_one_reads(self, storage: Storage, org: Builder) -> None:
        """Just before and after, over what the reader cannot read."""

        def save(place: str, run_id: str | None, **more: Any) -> str:
            memory = org.memory("Bo", "log", place, **more)
            memory = replace(memory, provenance=replace(memory.provenance, run_id=run_id))
            return org.save(storage, memory, indexed("log"), operator=True).id

        first = save("organization", "r")
        hidden = save("engineering", "r")
        save("organization", "r", flags=[Flag.INSTRUCTIONS])
        save("organization", "other")
        middle = save("organization", "r")
        last = save("organization", "r")
        alone = save("organization", None)
        found = self.hits(storage, org, "Di", "log")
        assert set(found[middle].neighbours) == {first, last}
        assert found[first].neighbours == (middle,)
        assert found[alone].neighbours == ()
        assert set(self.hits(storage, org, "Bo", "log")[middle].neighbours) == {hidden, last}

    def test_what_cannot_be_read_moves_no_score(self, storage: Storage, org: Builder) -> None:
        """Exact search stays the same to the last bit, whatever others keep to themselves."""
        for number in range(12):
            text = f"gull {'pier ' * (number % 3)}n{number}"
            org.save(storage, org.memory("Bo", text, "organization"), indexed(text, unit(1, number, 0, 0)))
        before = self.hits(storage, org, "Di", "gull pier", unit(1, 2, 0, 0))
        for number in range(60):
            text = "gull " * (number % 4) + "pier"
            org.save(storage, org.memory("Bo", text, "engineering"), indexed(text, unit(1, 2, 0, 0)))
        assert self.hits(storage, org, "Di", "gull pier", unit(1, 2, 0, 0)) == before

    def test_the_nearest_are_duplicates_in_any_state(self, storage: Storage, org: Builder) -> None:
        """Waiting and replaced ones too, forgotten ones not; nearest first."""
        one = org.save(storage, org.memory("Bo", "one"), indexed("one", unit(1, 0, 0, 0)))
        two = org.save(storage, org.memory("Bo", "two", flags=[Flag.INSTRUCTIONS]), indexed("two", unit(1, 0.2, 0, 0)))
        three = org.save(storage, org.memory("Bo", "three", superseded_by=one.id), indexed("three", unit(1, 0.5, 0, 0)), operator=True)
        gone = org.save(storage, org.memory("Bo", "gone"), indexed("gone", unit(1, 0, 0, 0)))
        org.change(storage, gone, forgotten_at=START, forgotten_by=gone.author)
        with storage.begin(org.reach(storage, "Bo")) as tx:
            near = tx.nearest(unit(1, 0, 0, 0), MODEL, 10)
            assert [id_ for id_, _ in near] == [one.id, two.id, three.id]
            assert near[0][1] == pytest.approx(1, abs=2e-3)
            assert tx.nearest(unit(1, 0, 0, 0), MODEL, 2) == near[:2]
            assert tx.nearest(unit(1, 0, 0, 0), OTHER_MODEL, 2) == []
        with storage.begin(org.reach(storage, "Ada")) as tx:
            assert tx.nearest(unit(1, 0, 0, 0), MODEL, 10) == []

    # -- supersede links ---------------------------------------------------------------------------------------------

    def test_a_link_acts_while_the_newer_memory_stands(self, storage: Storage, org: Builder) -> None:
        """Not while that is held, forgotten or expired; also for people who cannot read it."""
        with storage.begin(org.operator) as tx:
            now = tx.now
        newer = org.save(storage, org.memory("Ed", "new", "apollo"))
        older = org.change(storage, org.save(storage, org.memory("Bo", "old", "engineering")), superseded_by=newer.id)

        def acts() -> bool:
            found = self.read(storage, org, "Bo", older.id)
            assert found is not None
            assert found.superseded_by == newer.id
            assert found.superseded == (older.id not in self.hits(storage, org, "Bo", "old"))
            return found.superseded

        assert acts()
        review = Review(Flag.AUDIENCE, "why", START, 1)
        for state_ in (
            {"reviews": (review,)},
            {"forgotten_at": START, "forgotten_by": newer.author},
            {"valid_until": now - timedelta(seconds=1)},
        ):
            changed = org.change(storage, newer, **state_)
            assert not acts()
            newer = org.change(storage, changed, reviews=(), forgotten_at=None, forgotten_by=None, valid_until=now + timedelta(days=1))
            assert acts()
        with storage.begin(org.operator, Act("memory.purge")) as tx:
            tx.erase(newer.id)
        found = self.read(storage, org, "Bo", older.id)
        assert found is not None
        assert (found.superseded_by, found.superseded) == (None, False)
        assert older.id in self.hits(storage, org, "Bo", "old")

    def test_chains_are_followed_over_what_lies_between(self, storage: Storage, org: Builder) -> None:
        """So that nobody can close a circle through what is hidden."""
        last = org.save(storage, org.memory("Bo", "c", "engineering"))
        middle = org.save(storage, org.memory("Ed", "b", superseded_by=last.id), operator=True)
        first = org.save(storage, org.memory("Bo", "a", "engineering", superseded_by=middle.id), operator=True)
        with storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.supersede")) as tx:
            tx.lock_links()
            assert tx.memory(middle.id) is None
            assert tx.leads_to(first.id, last.id)
            assert tx.leads_to(first.id, first.id)
            assert not tx.leads_to(last.id, first.id)

    # -- approvals ---------------------------------------------------------------------------------------------------

    def test_tickets_are_decided_and_used_once(self, storage: Storage, org: Builder) -> None:
        """By their person, with just their bindings, before they expire, in the transaction that uses them."""
        with storage.begin(org.operator) as tx:
            now = tx.now
        memory = org.save(storage, org.memory("Bo", "asked"))
        bindings = (memory.author, org.connections["Bo"].id, "forget_memory", memory.id, 1, "digest")
        open_ = Ticket(
            new_id(), *bindings, frozenset({org.people["Di"].id}), {"before": "one", "count": 2}, now, now + timedelta(minutes=10)
        )
        expired = replace(open_, id=new_id(), approved=True, decided_at=now, created_at=START, expires_at=START + timedelta(minutes=10))

        def act() -> Act:
            return org.act("Bo", "approval.decide")

        with storage.begin(org.reach(storage, "Bo"), act()) as tx:
            tx.write_ticket(open_)
            tx.write_ticket(expired)
        with storage.begin(org.reach(storage, "Bo")) as tx:
            assert tx.tickets() == tx.tickets(undecided_only=True) == [open_]
            assert open_ in tx.tickets(expired_too=True)
        with storage.begin(org.reach(storage, "Di")) as tx:
            assert tx.tickets() == []
        with storage.begin(org.operator) as tx:
            assert tx.tickets() == [open_]
        with storage.begin(org.reach(storage, "Bo"), act()) as tx:
            assert tx.take_ticket(*bindings) is None
            tx.write_ticket(replace(open_, approved=False, decided_at=now))
            assert tx.take_ticket(*bindings) is None
            approved = replace(open_, approved=True, decided_at=now)
            tx.write_ticket(approved)
            assert tx.tickets(undecided_only=True) == []
        for wrong in range(6):
            others = list(bindings)
            others[wrong] = 2 if wrong == 4 else new_id()
            with storage.begin(org.reach(storage, "Bo"), act()) as tx:
                assert tx.take_ticket(*others) is None  # type: ignore[arg-type]
        with pytest.raises(ZeroDivisionError), storage.begin(org.reach(storage, "Bo"), act()) as tx:
            assert tx.take_ticket(*bindings) is not None
            raise ZeroDivisionError
        with storage.begin(org.reach(storage, "Bo"), act()) as tx:
            taken = tx.take_ticket(*bindings)
            assert taken is not None
            assert taken == replace(approved, used_at=taken.used_at)
            assert taken.used_at is not None
            assert tx.take_ticket(*bindings) is None

    # -- upkeep ------------------------------------------------------------------------------------------------------

    def test_missing_vectors_are_found_and_added(self, storage: Storage, org: Builder) -> None:
        """From the masked text, and only while that is still the text."""
        lacking = org.save(storage, org.memory("Bo", "key abc", masked="key [token]"), entry("key"))
        org.save(storage, org.memory("Bo", "fine"), indexed("fine", unit(0, 1, 0, 0)))
        with storage.begin(org.operator) as tx:
            (missing,) = tx.unindexed(MODEL, 10)
            assert (missing.memory, missing.text, missing.author_name) == (lacking.id, "key [token]", "Bo")
            assert missing.created_at == lacking.created_at
            assert tx.unindexed(MODEL, 0) == []
        rows = np.stack([unit(1, 0, 0, 0)])
        with storage.begin(org.operator, Act("memory.reindex")) as tx:
            tx.write_vectors(lacking.id, MODEL, rows, "another text")
            tx.write_vectors(new_id(), MODEL, rows, missing.text)
            assert len(tx.unindexed(MODEL, 10)) == 1
            tx.write_vectors(lacking.id, MODEL, rows, missing.text)
            assert tx.unindexed(MODEL, 10) == []
        assert self.hits(storage, org, "Bo", vector=unit(1, 0, 0, 0))[lacking.id].similarity == pytest.approx(1, abs=2e-3)

    def test_another_model_takes_over_at_once(self, storage: Storage, org: Builder) -> None:
        """Its vectors are gathered beside the old ones, which go when it serves."""
        memory = org.save(storage, org.memory("Bo", "boat"), indexed("boat", unit(1, 0, 0, 0)))
        serving = storage.serving_model()
        assert serving is not None
        storage.use_model(OTHER_MODEL, 2)
        assert storage.serving_model() == serving
        with storage.begin(org.operator, Act("memory.reindex")) as tx:
            assert [missing.memory for missing in tx.unindexed(OTHER_MODEL, 10)] == [memory.id]
            tx.write_vectors(memory.id, OTHER_MODEL, np.stack([unit(0, 1)]), "boat")
        assert memory.id in self.hits(storage, org, "Bo", vector=unit(1, 0, 0, 0))
        storage.switch_model(OTHER_MODEL)
        assert storage.serving_model() == OTHER_MODEL
        with storage.begin(org.reach(storage, "Bo")) as tx:
            assert tx.nearest(unit(1, 0, 0, 0), MODEL, 5) == []
            ((found, cosine),) = tx.nearest(unit(0, 1), OTHER_MODEL, 5)
        assert found == memory.id
        assert cosine == pytest.approx(1, abs=2e-3)

    def test_erasing_leaves_nothing(self, storage: Storage, org: Builder) -> None:
        """Not the memory, its texts, its vectors; the receipt holds no text."""
        first = org.save(storage, org.memory("Bo", "first secret words", "organization"), indexed("first", unit(1, 0, 0, 0)))
        changed = org.change(storage, first, indexed("second", unit(1, 0, 0, 0)), content="second secret words")
        org.change(storage, changed, forgotten_at=START, forgotten_by=first.author)
        kept = org.save(storage, org.memory("Bo", "kept", "organization"))
        with storage.begin(org.operator) as tx:
            assert tx.forgotten_before(START, 10) == []
            assert tx.forgotten_before(START + timedelta(seconds=1), 10) == [first.id]
            assert tx.count_memories() == 2
            assert [memory.id for memory in tx.all_memories(None, 1)] == [min(first.id, kept.id)]
            assert [memory.id for memory in tx.all_memories(min(first.id, kept.id), 5)] == [max(first.id, kept.id)]
        with storage.begin(org.operator, Act("memory.purge", target=first.id)) as tx:
            receipt = tx.erase(first.id)
        assert receipt
        # Counts alone: a digest would let whoever keeps the log guess a short text.
        assert all(text.isdecimal() for text in receipt.values())
        with storage.begin(org.operator) as tx:
            assert tx.count_memories() == 1
            assert tx.memory(first.id) is None
            assert tx.versions(first.id) == ()
            assert tx.forgotten_before(START + timedelta(seconds=1), 10) == []

    def test_who_may_restore_erases_from_the_trash(self, storage: Storage, org: Builder) -> None:
        """Only what was locked and is forgotten; links to it end, its idempotency key stays taken."""
        older = org.save(storage, org.memory("Bo", "older", "organization"))
        memory = org.save(storage, org.memory("Bo", "first secret words", "organization"), indexed("first", unit(1, 0, 0, 0)))
        org.change(storage, older, superseded_by=memory.id)
        with storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.remember")) as tx:
            tx.claim("key", "digest", memory.id)
        with storage.begin(org.reach(storage, "Bo"), org.act("Bo", "memory.erase", memory.id)) as tx:
            assert tx.memory(memory.id, lock=True) is not None
            with pytest.raises(LookupError):
                tx.erase_forgotten(memory.id)
        org.change(storage, memory, forgotten_at=START, forgotten_by=memory.author)
        with storage.begin(org.reach(storage, "Di", Permission.RESTORE), org.act("Di", "memory.erase", memory.id)) as tx:
            assert tx.memory(memory.id, lock=True) is None
            with pytest.raises(LookupError):
                tx.erase_forgotten(memory.id)
        with storage.begin(org.reach(storage, "Bo", Permission.RESTORE), org.act("Bo", "memory.erase", memory.id)) as tx:
            assert tx.memory(memory.id, lock=True) is not None
            receipt = tx.erase_forgotten(memory.id)
        assert receipt["versions"] == "1"
        assert receipt["vectors"] == "1"
        with storage.begin(org.operator) as tx:
            assert tx.memory(memory.id) is None
            assert tx.versions(memory.id) == ()
            assert tx.unindexed(MODEL, 10) == [found for found in tx.unindexed(MODEL, 10) if found.memory == older.id]
            left = tx.memory(older.id)
        assert left is not None
        assert left.superseded_by is None
        assert not left.superseded
        with storage.begin(org.reach(storage, "Bo")) as tx:
            assert tx.claimed("key") == Claim(memory.id, "", False)

    def test_upkeep_is_for_operators(self, storage: Storage, org: Builder) -> None:
        """A person's transaction refuses it, whoever the person is."""
        memory = org.save(storage, org.memory("Ada", "mine"))
        calls: list[Callable[[Transaction], object]] = [
            lambda tx: tx.count_memories(),
            lambda tx: tx.all_memories(None, 5),
            lambda tx: tx.forgotten_before(START, 5),
            lambda tx: tx.unindexed(MODEL, 5),
            lambda tx: tx.erase(memory.id),
            lambda tx: tx.audit_rows(0, 5),
        ]
        for call in calls:
            with pytest.raises(RuntimeError), storage.begin(org.reach(storage, "Ada"), org.act("Ada", "memory.purge")) as tx:
                call(tx)

    def test_an_operator_sees_every_row(self, storage: Storage, org: Builder) -> None:
        """Of one organization: personal, held and forgotten ones too."""
        bo = org.people["Bo"].id
        own = org.save(storage, org.memory("Bo", "own", flags=[Flag.INSTRUCTIONS]))
        gone = org.save(storage, org.memory("Bo", "gone", forgotten_at=START, forgotten_by=bo), operator=True)
        with storage.begin(org.operator) as tx:
            assert tx.memory(own.id) == own
            assert tx.memory(gone.number) == gone
            assert {memory.id for memory in tx.all_memories(None, 10)} == {own.id, gone.id}
            assert len(tx.versions(gone.id)) == 1

    def test_one_process_leads_a_task(self, storage: Storage) -> None:
        """The others are told at once that they do not."""
        task = f"task {new_id()}"
        with storage.lead(task) as first, storage.lead(task) as second, storage.lead(task + "x") as other:
            assert (first, second, other) == (True, False, True)
        with storage.lead(task) as again:
            assert again

    # -- records -----------------------------------------------------------------------------------------------------

    def test_records_are_kept_by_plugin_and_organization(self, storage: Storage, org: Builder) -> None:
        """Small JSON objects under a key; changed under a lock; listed by prefix."""
        mine, other = storage.records(f"p{new_id()}"), storage.records(f"q{new_id()}")
        here = org.organization.id
        value = {"name": "é", "numbers": [1, 2.5], "nested": {"yes": True, "none": None}}
        assert mine.get(here, "a:1") is None
        mine.put(here, "a:1", value)
        mine.put(here, "a:2", {})
        mine.put(here, "b:%", {"n": 1})
        assert mine.get(here, "a:1") == value
        assert other.get(here, "a:1") is None
        assert mine.get("elsewhere", "a:1") is None
        assert mine.keys(here, "a:") == ["a:1", "a:2"]
        assert mine.keys(here, "%") == []
        assert mine.items(here, "a:") == {"a:1": value, "a:2": {}}
        assert mine.items(here, "%") == {} == other.items(here, "")
        assert mine.change(here, "a:2", lambda old: {**(old or {}), "more": 1}) == {"more": 1}
        assert mine.change(here, "a:1", lambda old: None) is None
        assert mine.get(here, "a:1") is None
        with pytest.raises(ZeroDivisionError):
            mine.change(here, "a:2", lambda old: {"x": 1 // 0})
        assert mine.get(here, "a:2") == {"more": 1}

    def test_records_count_right_when_changed_at_once(self, storage: Storage, org: Builder) -> None:
        """No change is lost, the first one included."""
        records = storage.records(f"p{new_id()}")

        def count(_: int) -> None:
            records.change(org.organization.id, "n", lambda old: {"n": (old or {"n": 0})["n"] + 1})

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(count, range(20)))
        assert records.get(org.organization.id, "n") == {"n": 20}

    # -- the whole ---------------------------------------------------------------------------------------------------

    def test_it_can_say_how_it_is(self, storage: Storage) -> None:
        """A name, a check, a report of short texts."""
        assert storage.name
        storage.check()
        report = storage.report()
        assert all(isinstance(text, str) and len(text) < 500 for text in (*report, *report.values()))

    def test_interning_at_once_keeps_one(self, storage: Storage, org: Builder) -> None:
        """Of several that intern the same audience."""
        audience = Audience(Place.organization(), Sensitivity.HIGHLY_RESTRICTED, frozenset({org.topics["HR"].id}), held=True)
        before = storage.roster(org.organization.id).epoch
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: storage.intern(org.organization.id, audience), range(8)))
        after = storage.roster(org.organization.id)
        assert (after.epoch, audience in after.audiences) == (before + 1, True)

    def test_an_organization_is_made_by_an_operator_of_none(self, storage: Storage) -> None:
        """Its audit chain begins with that."""
        built = harbor(f"new-{new_id()}")
        organization = replace(built.organization, default_scope=Scope.ORGANIZATION, trash_days=7, timezone="Europe/Berlin")
        with storage.begin(Operator("set up", None), Act("organization.create", target=organization.id)) as tx:
            tx.write_organization(organization)
        assert storage.roster(organization.id).organization == organization
        with storage.begin(Operator("look", organization.id)) as tx:
            (row,) = tx.audit_rows(0, 10)
        assert row.act.action == "organization.create"
        assert row.intact

    def test_the_time_is_utc(self, storage: Storage, org: Builder) -> None:
        """And one within a transaction."""
        with storage.begin(org.operator) as tx:
            first: datetime = tx.now
            assert tx.now == first
            assert first.utcoffset() == timedelta(0)


def opened(storage: Storage) -> Iterator[Storage]:
    """Open a storage for a fixture, and close it afterwards."""
    storage.open()
    try:
        yield storage
    finally:
        storage.close()
