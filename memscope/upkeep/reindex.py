"""Vectors made later: for saves that came before the model was loaded, and for another model."""

from __future__ import annotations

from collections.abc import Generator

from memscope.contracts.storage import Operator
from memscope.core import Core
from memscope.errors import Unavailable
from memscope.memories.indexing import passage_vectors
from memscope.model.audit import Act
from memscope.upkeep.progress import Progress

BATCH = 64


def add_vectors(core: Core, organization: str, limit: int = BATCH) -> int:
    """Add the vectors that memories lack of the chosen model, at most so many at once; returns how many memories got some.

    The model must be loaded and prepared. Raises Unavailable when it makes no vectors.
    """
    identity = core.embedding.model.identity
    operator = Operator("reindex", organization)
    with core.storage.begin(operator) as transaction:
        lacking = transaction.unindexed(identity, limit)
    made = []
    for memory in lacking:
        vectors = passage_vectors(core, memory.text, memory.author_name, memory.created_at)
        if vectors is None:
            raise Unavailable("The embedding model makes no vectors. `memscope doctor` tells why; what was done until here stands.")
        made.append((memory, vectors))
    if made:
        with core.storage.begin(operator, Act("memory.index", detail={"model": identity, "memories": len(made)})) as transaction:
            for memory, vectors in made:
                transaction.write_vectors(memory.memory, identity, vectors, memory.text)
    return len(made)


def reindex(core: Core) -> Generator[Progress, None, int]:
    """Make vectors of the chosen model for every memory, then let it serve; returns how many memories got new ones.

    The vectors of the earlier model serve until then, also while this was stopped and is run again.
    """
    core.embedding.load()
    model = core.embedding.model
    core.storage.use_model(model.identity, model.dimensions)
    organizations = [organization.id for organization in core.storage.organizations()]
    total = sum(_count(core, organization) for organization in organizations)
    done = 0
    # Until a whole round finds nothing: others go on saving with the earlier model meanwhile.
    while True:
        before = done
        for organization in organizations:
            while made := add_vectors(core, organization):
                done += made
                yield Progress("Making vectors: memory", done, max(total, done))
        if done == before:
            break
    core.storage.switch_model(model.identity)
    return done


def _count(core: Core, organization: str) -> int:
    with core.storage.begin(Operator("reindex", organization)) as transaction:
        return transaction.count_memories()
