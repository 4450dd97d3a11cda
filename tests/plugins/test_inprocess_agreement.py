"""Random organizations in the in-memory storage: it shows what policy says."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from memscope_inprocess.storage import InProcessStorage

from memscope.model.memory import Memory
from memscope.testing import agreement
from memscope.testing.builders import Builder
from memscope.testing.strategies import populated

MODEL = "agreement@0123456789abcdef"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(populated(size=8))
def test_policy_and_storage_agree(drawn: tuple[Builder, list[Memory]]) -> None:
    org, memories = drawn
    storage = InProcessStorage()
    storage.use_model(MODEL, 4)
    agreement.store(storage, org, memories, MODEL)
    agreement.check(storage, org, memories, MODEL)
