"""The kit for plugin authors: an isolated app, an organization in one line, and suites that find what is wrong."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from memscope.app import MemScope
from memscope.contracts.guard import Span
from memscope.contracts.instructions import InstructionVerdict, Reason
from memscope.contracts.secrets import SecretFinding
from memscope.contracts.sensitivity import Evidence, SensitivityVerdict, TopicMatch
from memscope.contracts.storage import Browse, Listing
from memscope.model.audience import Sensitivity
from memscope.testing.builders import Builder
from memscope.testing.guard_conformance import InstructionsConformance, SecretsConformance, SensitivityConformance


def test_an_app_and_an_organization_are_two_fixtures(memscope_app: MemScope, memscope_harbor: Builder) -> None:
    storage = memscope_app.core.storage
    assert storage.name == "inprocess"
    saved = memscope_harbor.save(storage, memscope_harbor.memory("Bo", "The crane is tested on Mondays.", "engineering"))
    with storage.begin(memscope_harbor.reach(storage, "Bo")) as tx:
        assert tx.browse(Browse(Listing.ALL, 5, tx.now)) == [saved]
    with storage.begin(memscope_harbor.reach(storage, "Ada")) as tx:
        assert tx.browse(Browse(Listing.ALL, 5, tx.now)) == []


def test_the_pytest_plugin_imports_nothing_of_memscope() -> None:
    code = "import sys, memscope.testing.pytest_plugin; print(sorted(n for n in sys.modules if n.startswith('memscope')))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.split() == ["['memscope',", "'memscope.testing',", "'memscope.testing.pytest_plugin']"]


class Badges:
    """A small plugin of all three kinds that finds the word `badge`."""

    cut = 0
    """By how much its spans are wrong."""

    def span(self, text: str) -> tuple[int, int] | None:
        start = text.find("badge")
        return None if start < 0 else (start, start + 5 + self.cut)

    def memscope_detect_secrets(self, text: str) -> list[SecretFinding]:
        found = self.span(text)
        return [SecretFinding("badge", *found, 0.8, Sensitivity.RESTRICTED, False, "b…")] if found else []

    def memscope_classify_sensitivity(self, text: str, context: Any) -> SensitivityVerdict | None:
        if (found := self.span(text)) is None:
            return None
        topics = tuple(TopicMatch(topic.key, 0.7, (Span(*found),)) for topic in context.topics[:1])
        return SensitivityVerdict(Sensitivity.RESTRICTED, 0.9, topics, (Evidence("badge", Span(*found), 0.7),))

    def memscope_detect_instructions(self, text: str, context: Any) -> InstructionVerdict | None:
        found = self.span(text)
        return InstructionVerdict(True, 0.9, (Reason("badge", 0.9, *found, "badge"),)) if found else None


@pytest.fixture
def plugin() -> Badges:
    return Badges()


class TestSecretsSuite(SecretsConformance):
    examples = ("show your badge",)


class TestSensitivitySuite(SensitivityConformance):
    examples = ("show your badge",)


class TestInstructionsSuite(InstructionsConformance):
    examples = ("show your badge",)


@pytest.mark.parametrize("suite", [TestSecretsSuite, TestSensitivitySuite, TestInstructionsSuite])
def test_a_suite_finds_a_span_outside_the_text(suite: type[Any]) -> None:
    wrong = Badges()
    wrong.cut = 1
    with pytest.raises(AssertionError):
        suite().test_examples_are_found(wrong)
