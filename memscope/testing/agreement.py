"""Policy and storage hold together: what people may read, and what a storage shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from memscope.contracts.storage import Browse, IndexEntry, Listing, Question, SearchFilter, Storage, Transaction
from memscope.model.audience import Permission
from memscope.model.memory import Kind, Memory
from memscope.policy.effect import readers_of
from memscope.policy.explain import explain, readers
from memscope.policy.permissions import may
from memscope.testing.builders import Builder

WORD = "harbour"
VECTOR = np.array([1, 0, 0, 0], dtype=np.float32)

Unfiltered = Callable[[Transaction], Mapping[str, set[str]]]
"""What a transaction shows to statements that forget every filter: `by_id` and `listed`, ids of memories each."""


def store(storage: Storage, org: Builder, memories: list[Memory], model: str) -> None:
    """Store an organization and its memories, all findable by one word and one vector."""
    org.store(storage)
    for memory in memories:
        org.save(storage, memory, IndexEntry((WORD,), model, VECTOR[np.newaxis]), operator=True)


def check(storage: Storage, org: Builder, memories: list[Memory], model: str, unfiltered: Unfiltered | None = None) -> None:
    """Assert that permission, fetching, lists, queue, search, explanation and reader counts say the same for everybody."""
    roster = storage.roster(org.organization.id)
    seen: dict[str, set[str]] = {memory.id: set() for memory in memories}
    for name, person in org.people.items():
        reader = roster.readers[person.id]
        if not reader.active:
            assert not any(may(reader, permission, memory) for permission in Permission for memory in memories)
            continue

        def ids(permission: Permission, *, by_id: bool, among: list[Memory] = memories) -> set[str]:
            return {memory.id for memory in among if may(reader, permission, memory, by_id=by_id)}  # noqa: B023 - used within the loop

        by_id, listed = ids(Permission.READ, by_id=True), ids(Permission.READ, by_id=False)
        with storage.begin(org.reach(storage, name)) as tx:
            fetched = {memory.id: found for memory in memories if (found := tx.memory(memory.id)) is not None}
            assert set(fetched) == by_id
            assert set(tx.memories([memory.id for memory in memories])) == listed
            assert {memory.id for memory in tx.browse(Browse(Listing.ALL, 500, tx.now))} == listed
            assert {id_ for id_, _ in tx.nearest(VECTOR, model, 500)} == listed
            waiting = ids(Permission.REVIEW, by_id=True, among=[memory for memory in memories if memory.flagged])
            assert {memory.id for memory in tx.browse(Browse(Listing.REVIEW, 500, tx.now))} == waiting
            assert tx.count_reviews() == len(waiting)
            told = {id_: explain(reader, memory, tx.now, roster) for id_, memory in fetched.items()}
            assert all(explanation.visible for explanation in told.values())
            recalled = {id_ for id_, explanation in told.items() if explanation.in_default_recall}
            for question in (Question((WORD,), None, None), Question((), VECTOR, model), Question((WORD,), VECTOR, model)):
                assert {hit.memory for hit in tx.search(question, SearchFilter(tx.now))} == recalled
                everything = SearchFilter(tx.now, include_expired=True, include_superseded=True)
                hits = {hit.memory for kind in (None, Kind.HANDOFF) for hit in tx.search(question, replace(everything, kind=kind))}
                assert hits == {id_ for id_ in listed if not fetched[id_].tainted}
            if unfiltered is not None:
                assert unfiltered(tx) == {"by_id": by_id, "listed": listed}
        for memory in memories:
            assert explain(reader, memory, memory.created_at, roster).visible == (memory.id in by_id)
            if memory.id in by_id:
                seen[memory.id].add(person.id)
        forgotten = [memory for memory in memories if memory.forgotten_at is not None]
        restorable = ids(Permission.RESTORE, by_id=False, among=forgotten)
        assert ids(Permission.RESTORE, by_id=True, among=forgotten) == restorable
        with storage.begin(org.reach(storage, name, Permission.RESTORE)) as tx:
            assert {memory.id for memory in forgotten if tx.memory(memory.id) is not None} == restorable
            assert {memory.id for memory in tx.browse(Browse(Listing.FORGOTTEN, 500, tx.now))} == restorable
    for memory in memories:
        assert readers_of(memory, roster) == seen[memory.id]
        for reader in roster.readers.values():
            count = readers(memory, roster, reader)
            assert count.count == len(seen[memory.id]) if count.exact else count.count >= len(seen[memory.id])
