"""`memory_recall`: recall in the shape of the team server's reference (reference/team-server-memory-recall.txt)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memscope.contracts.storage import Question, SearchFilter, Transaction
from memscope.core import Core
from memscope.errors import InvalidArgument
from memscope.memories import noting
from memscope.memories.places import find_group, resolve_place
from memscope.memories.rank import falling, rank
from memscope.memories.texts import clean
from memscope.model.audience import Permission, Place, Scope
from memscope.model.memory import CONTENT_MAX, Memory, Provenance
from memscope.model.organization import Group, GroupKind, Roster
from memscope.model.principal import Principal
from memscope.policy.permissions import may
from memscope.text.analyse import query_terms
from memscope.text.normalise import safe
from memscope.work import read


@dataclass(frozen=True, slots=True)
class MemoryRecall:
    """The arguments of `memory_recall`."""

    query: str
    scope_kind: str | None = None
    team_id: str | None = None
    project: str | None = None
    limit: int = 10


def memory_recall(core: Core, principal: Principal, wanted: MemoryRecall) -> Mapping[str, Any]:
    """Search each readable scope by itself and interleave: every scope's best first, then every scope's second, and so on."""
    query = clean("query", wanted.query, CONTENT_MAX)
    terms = tuple(dict.fromkeys(query_terms(query)))
    vector = core.embedding.query(query)
    question = Question(terms, vector, core.embedding.model.identity if vector is not None else None)

    def use(transaction: Transaction, roster: Roster, _: object) -> tuple[list[Memory], Mapping[str, Any]]:
        found: list[tuple[int, float, Memory]] = []
        for place in _places(roster, principal, wanted):
            found += _best(core, transaction, roster, principal, place, question, wanted.limit)
        found.sort(key=lambda item: (item[0], -item[1], item[2].id))
        found = found[: wanted.limit]
        results = [_record(transaction, roster, rank_in_scope, score, memory) for rank_in_scope, score, memory in found]
        return [memory for _, _, memory in found], {"results": results, "ordering": "scope_rank_then_score"}

    memories, answer = read(core, principal, use)
    groups = [memory.place.group for memory in memories]
    named = [wanted.team_id, *groups], [wanted.project, *groups]
    noting.recalled(core, principal, query, [memory.id for memory in memories], teams=named[0], projects=named[1])
    return answer


def _places(roster: Roster, principal: Principal, wanted: MemoryRecall) -> list[Place]:
    """The places to search, as scope and project name them."""
    project = roster.find_group(wanted.project, GroupKind.PROJECT) if wanted.project is not None else None
    if wanted.scope_kind is None:
        mine = roster.groups_of(principal.person)
        places = [Place.personal(principal.person), *(Place(group.scope, group=group.id) for group in mine), Place.organization()]
    else:
        places = [_only(roster, principal, wanted)]
    if wanted.project is None:
        return places
    # The filter is for shared memories; personal ones belong to no project and pass.
    return [place for place in places if not place.shared or (project is not None and place.group == project.id)]


def _only(roster: Roster, principal: Principal, wanted: MemoryRecall) -> Place:
    scope = Scope(wanted.scope_kind)
    if scope in (Scope.ORGANIZATION, Scope.PERSONAL):
        if wanted.team_id is not None:
            raise InvalidArgument("scope", f"A scope of kind {scope.value} takes no team_id.")
        return resolve_place(roster, principal.person, scope, None, None)
    if wanted.team_id is not None:
        kind = GroupKind.TEAM if scope is Scope.TEAM else GroupKind.PROJECT
        return Place(scope, group=find_group(roster, kind, wanted.team_id).id)
    return resolve_place(roster, principal.person, scope, None, None)


def _best(
    core: Core, transaction: Transaction, roster: Roster, principal: Principal, place: Place, question: Question, limit: int
) -> list[tuple[int, float, Memory]]:
    within = frozenset(audience for audience in roster.audiences if audience.place == place and not audience.held)
    if not within:
        return []
    ranked = rank(transaction.search(question, SearchFilter(core.clock(), within=within)), question)
    opened = transaction.memories([item.hit.memory for item in ranked[: limit * 2]])
    reader = roster.readers[principal.person]
    kept = [
        (item, opened[item.hit.memory])
        for item in ranked[: limit * 2]
        if item.hit.memory in opened
        and not opened[item.hit.memory].held
        and may(reader, Permission.READ, opened[item.hit.memory], by_id=False)
    ][:limit]
    scores = falling([item.score for item, _ in kept])
    return [(position + 1, score, memory) for position, (score, (_, memory)) in enumerate(zip(scores, kept, strict=True))]


def _record(transaction: Transaction, roster: Roster, scope_rank: int, score: float, memory: Memory) -> dict[str, Any]:
    group = roster.groups.get(memory.place.group or "")
    updated = transaction.versions(memory.id)[0].provenance if memory.version > 1 else memory.provenance
    return {
        "scope": {"kind": memory.place.scope.value, "team_id": group.slug if group else None},
        "scope_tags": [f"scope:{memory.place.scope.value}", *_tag(group)],
        "record": {
            "id": memory.number,
            "content": safe(memory.open_text)[0],
            "project": group.slug if group is not None and group.kind is GroupKind.PROJECT else None,
            "score": score,
            "created_by": _by(memory.provenance, roster),
            "updated_by": _by(updated, roster),
            "revision": memory.version,
        },
        "scope_rank": scope_rank,
    }


def _tag(group: Group | None) -> list[str]:
    return [f"{group.kind.value}:{group.slug}"] if group is not None else []


def _by(provenance: Provenance, roster: Roster) -> dict[str, Any]:
    return {"user_id": provenance.person, "display_name": safe(roster.people[provenance.person].name)[0], "client": provenance.client}
