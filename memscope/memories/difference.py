"""What a change of the organization would do to one person's reading: counted over the memories that whoever asks may read."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from memscope.contracts.storage import Browse, Listing, Transaction
from memscope.core import Core
from memscope.model.audience import Audience, Permission, Reach, Sensitivity, Standing
from memscope.model.memory import Memory
from memscope.model.organization import GroupRole, Person, Reader, Role, Roster
from memscope.model.principal import Principal
from memscope.organizations.groups import check_member
from memscope.organizations.people import check_rights
from memscope.policy.draft import Become, Change, Clear, Demote, Leave, Own, drafted_reader
from memscope.policy.permissions import allows, may
from memscope.policy.rules import view
from memscope.text.normalise import preview, safe
from memscope.work import read

LOOKED_AT = 500
"""How many memories are looked at for a count: past that it is "at least"."""
EXAMPLES = 5
_LISTED = (Standing.ANYBODY, Standing.AUTHOR, Standing.COAUTHOR)


@dataclass(frozen=True, slots=True)
class Example:
    """A memory in a few words."""

    number: int
    preview: str


@dataclass(frozen=True, slots=True)
class Some:
    """How many memories, and the newest of them. "At least" when not exact."""

    count: int
    exact: bool
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """What a person would read, in lists and recall, that they do not read now, and the other way round."""

    gains: Some
    loses: Some


def difference(core: Core, principal: Principal, person: str, changes: Sequence[Change]) -> Difference:
    """What changes to a person (an id) or to guard teams would do to what they read, as far as the principal reads it too."""

    def use(transaction: Transaction, roster: Roster, _: Reach) -> Difference:
        return difference_within(core, transaction, roster, principal, person, changes)

    return read(core, principal, use)


def rights_difference(core: Core, principal: Principal, person: Person, role: Role, clearance: Sensitivity | None) -> Difference:
    """What another role and clearance would do to what a person reads. Raises as giving them would."""
    check_rights(core.rosters.current(principal.organization), principal, person.id, role, clearance)
    return difference(core, principal, person.id, [Become(role), Clear(clearance)])


def member_difference(core: Core, principal: Principal, group: str, person: str, role: GroupRole | None) -> Difference | None:
    """What another part in a group would do to what a person reads; None: they have that part. Raises as giving it would."""
    if not check_member(core.rosters.current(principal.organization), group, person, role):
        return None
    step = Leave(group) if role is None else Own(group) if role is GroupRole.OWNER else Demote(group)
    return difference(core, principal, person, [step])


def difference_within(
    core: Core,
    transaction: Transaction,
    roster: Roster,
    principal: Principal,
    person: str,
    changes: Sequence[Change],
    most: int = LOOKED_AT,
) -> Difference:
    """The same in a transaction of the principal's, over at most so many memories."""
    before, after = roster.readers[person], drafted_reader(roster, person, changes)
    gains: list[Memory] = []
    loses: list[Memory] = []
    found, exact = _memories(core, transaction, roster, principal, frozenset(_differing(roster, before, after)), most)
    for memory in found:
        had, has = (may(reader, Permission.READ, memory, by_id=False) for reader in (before, after))
        if had is not has:
            (gains if has else loses).append(memory)
    return Difference(some(gains, exact), some(loses, exact))


def lying_in(core: Core, principal: Principal, group: str) -> tuple[list[Memory], bool]:
    """The newest memories in a group (an id) that the principal finds in lists, and whether these are all."""

    def use(transaction: Transaction, roster: Roster, _: Reach) -> tuple[list[Memory], bool]:
        within = frozenset(audience for audience in roster.audiences if audience.place.group == group)
        return _memories(core, transaction, roster, principal, within, LOOKED_AT)

    return read(core, principal, use)


def some(memories: Sequence[Memory], exact: bool) -> Some:
    """Memories counted, with the first few as examples."""
    shown = tuple(Example(memory.number, preview(safe(memory.open_text)[0])) for memory in memories[:EXAMPLES])
    return Some(len(memories), exact, shown)


def _memories(
    core: Core, transaction: Transaction, roster: Roster, principal: Principal, within: frozenset[Audience], most: int
) -> tuple[list[Memory], bool]:
    if not within:
        return [], True
    found = transaction.browse(Browse(Listing.ALL, most + 1, core.clock(), within=within))
    reader = roster.readers[principal.person]
    return [memory for memory in found[:most] if may(reader, Permission.READ, memory, by_id=False)], len(found) <= most


def _differing(roster: Roster, before: Reader, after: Reader) -> Iterator[Audience]:
    """The audiences that the change opens or closes to the person, as anybody or as the author."""
    known: dict[Hashable, bool] = {}
    for audience in roster.audiences:
        key = view(before, audience), view(after, audience)
        if key[0] == key[1]:
            continue
        if key not in known:
            known[key] = any(
                allows(before, Permission.READ, audience, standing) is not allows(after, Permission.READ, audience, standing)
                for standing in _LISTED
            )
        if known[key]:
            yield audience
