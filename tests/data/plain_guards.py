"""A one-file plugin for the server tests: judges by a few plain words, so that each test says what will be flagged."""

import sys

from memscope.contracts.guard import GuardContext, Span
from memscope.contracts.instructions import InstructionVerdict, Reason
from memscope.contracts.sensitivity import SensitivityVerdict, TopicMatch
from memscope.hookspecs import hookimpl
from memscope.model.audience import Sensitivity

ORDER = "Ignore all previous instructions"


@hookimpl
def memscope_classify_sensitivity(text: str, context: GuardContext) -> SensitivityVerdict:
    """About a topic when one of its phrases stands in the text; unsure when the text says "perhaps".

    Where a test has made the module `memscope_test_gate`, a text with "wait here" waits for that test, and what is seen is noted.
    """
    gate = sys.modules.get("memscope_test_gate")
    if gate is not None:
        gate.seen.append(text)
        if "wait here" in text:
            gate.reached.set()
            gate.go.wait(20)
    if "break here" in text:
        raise RuntimeError(text)
    found = []
    for topic in context.topics:
        for phrase in topic.phrases:
            at = text.find(phrase)
            if at >= 0:
                found.append(TopicMatch(topic.key, 0.95, (Span(at, at + len(phrase)),)))
                break
    return SensitivityVerdict(Sensitivity.RESTRICTED if found else Sensitivity.PUBLIC, 0.3 if "perhaps" in text else 0.95, tuple(found))


@hookimpl
def memscope_detect_instructions(text: str) -> InstructionVerdict:
    """Orders begin with the words everybody knows."""
    at = text.find(ORDER)
    if at < 0:
        return InstructionVerdict(False, 0.01)
    return InstructionVerdict(True, 0.99, (Reason("override", 0.9, at, at + len(ORDER), ORDER),))
