"""What guarding plugins have to do, as tests: subclass, and give a fixture `plugin` and some `examples`.

class TestBadges(SecretsConformance):
    examples = ("my badge is B-123456",)

    @pytest.fixture
    def plugin(self):
        return my_plugin
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from memscope.contracts.guard import GuardContext, Span, TopicDescription
from memscope.contracts.instructions import InstructionVerdict
from memscope.contracts.secrets import SecretFinding
from memscope.contracts.sensitivity import SensitivityVerdict
from memscope.model.audience import Scope, Sensitivity
from memscope.model.memory import CONTENT_MAX, Kind

TIMEOUT_S = 2.0
"""What the setting `[guarding] timeout_ms` gives by default."""
NAME = re.compile(r"[a-z][a-z0-9_]*")
TOPICS = (
    TopicDescription("hr", "HR", ("human resources", "people"), "Pay, contracts and conduct of people.", ("salary", "warning letter")),
    TopicDescription("legal", "Legal", (), "Disputes and contracts with other firms.", ("lawsuit",)),
)
CONTEXT = GuardContext(TOPICS, Scope.TEAM, Kind.FACT, client="test client", agent="tester")

#: Texts that no plugin may fail on, or take long over.
HOSTILE: tuple[str, ...] = tuple(
    text[:CONTENT_MAX]
    for text in (
        "x",
        "\n",
        " " * CONTENT_MAX,
        "a" * CONTENT_MAX,
        "1" * CONTENT_MAX,
        "(" * CONTENT_MAX,
        "a1-" * CONTENT_MAX,
        "A=" * CONTENT_MAX,
        "key: " * CONTENT_MAX,
        "aGVsbG8g" * CONTENT_MAX,
        "ﬀ🛟é\u0301\u200d" * CONTENT_MAX,
        "\u200b\u202e\u2066\U000e0041" * CONTENT_MAX,
        "<!-- " * CONTENT_MAX,
        "\\x41%41&#65;" * CONTENT_MAX,
        "http://a.b/?c=d@e.f " * CONTENT_MAX,
    )
)


def within(text: str, start: int, end: int) -> bool:
    """Whether a span lies in a text and holds something."""
    return 0 <= start < end <= len(text)


class _GuardConformance(ABC):
    """What holds for every kind of verdict."""

    examples: Sequence[str] = ()
    """Texts that the plugin has something to say about."""

    @abstractmethod
    def ask(self, plugin: Any, text: str) -> Any:
        """The plugin's answer, as the core asks for it."""

    @abstractmethod
    def check(self, text: str, verdict: Any) -> None:
        """Assert that a verdict is well formed."""

    @abstractmethod
    def says_something(self, verdict: Any) -> bool:
        """Whether a verdict counts."""

    def test_examples_are_found(self, plugin: Any) -> None:
        """Each example has a verdict that counts, well formed."""
        assert self.examples, "give the suite some examples"
        for text in self.examples:
            verdict = self.ask(plugin, text)
            self.check(text, verdict)
            assert self.says_something(verdict), text

    def test_offsets_count_code_points(self, plugin: Any) -> None:
        """Also behind characters that take more than one byte or unit."""
        for text in self.examples:
            moved = f"🛟 Ünï — {text}"
            self.check(moved, self.ask(plugin, moved))

    def test_hostile_texts_are_answered_in_time(self, plugin: Any) -> None:
        """Whatever the text, and well formed."""
        self.ask(plugin, "warm up")
        for text in HOSTILE:
            start = time.perf_counter()
            verdict = self.ask(plugin, text)
            assert time.perf_counter() - start < TIMEOUT_S, text[:20]
            self.check(text, verdict)

    def test_the_same_text_gets_the_same_answer(self, plugin: Any) -> None:
        """Now and from several threads at once."""
        texts = [*self.examples, "nothing to see"] * 4
        expected = [self.ask(plugin, text) for text in texts]
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(lambda text: self.ask(plugin, text), texts)) == expected


class SecretsConformance(_GuardConformance):
    """For `memscope_detect_secrets`."""

    def ask(self, plugin: Any, text: str) -> Any:
        """The findings, or None."""
        return plugin.memscope_detect_secrets(text=text)

    def check(self, text: str, verdict: Any) -> None:
        """Types, spans, confidences, and evidence that does not give the secret away."""
        for finding in verdict or ():
            assert isinstance(finding, SecretFinding)
            assert NAME.fullmatch(finding.type)
            assert within(text, finding.start, finding.end)
            assert 0 <= finding.confidence <= 1
            assert isinstance(finding.sensitivity, Sensitivity)
            assert len(finding.masked) <= 16
            assert text[finding.start : finding.end] not in finding.masked
            if finding.credential:
                assert finding.sensitivity is Sensitivity.HIGHLY_RESTRICTED

    def says_something(self, verdict: Any) -> bool:
        """Whether anything was found."""
        return bool(verdict)


class SensitivityConformance(_GuardConformance):
    """For `memscope_classify_sensitivity`."""

    def ask(self, plugin: Any, text: str) -> Any:
        """The verdict, or None."""
        return plugin.memscope_classify_sensitivity(text=text, context=CONTEXT)

    def check(self, text: str, verdict: Any) -> None:
        """Levels, confidences, spans, and topics that were offered."""
        if verdict is None:
            return
        assert isinstance(verdict, SensitivityVerdict)
        assert isinstance(verdict.sensitivity, Sensitivity)
        assert 0 <= verdict.confidence <= 1
        assert {match.key for match in verdict.topics} <= {topic.key for topic in TOPICS}
        assert all(0 <= match.confidence <= 1 for match in verdict.topics)
        spans: list[Span] = [span for match in verdict.topics for span in match.spans]
        for evidence in verdict.evidence:
            assert NAME.fullmatch(evidence.type)
            assert 0 <= evidence.confidence <= 1
            spans.append(evidence.span)
        assert all(within(text, span.start, span.end) for span in spans)

    def says_something(self, verdict: Any) -> bool:
        """Whether it is on a topic or above internal."""
        return verdict is not None and (bool(verdict.topics) or verdict.sensitivity > Sensitivity.INTERNAL)

    def test_an_organization_without_topics_has_no_topics(self, plugin: Any) -> None:
        """The context decides which topics there are."""
        for text in self.examples:
            verdict = plugin.memscope_classify_sensitivity(text=text, context=GuardContext())
            assert verdict is None or not verdict.topics


class InstructionsConformance(_GuardConformance):
    """For `memscope_detect_instructions`."""

    def ask(self, plugin: Any, text: str) -> Any:
        """The verdict, or None."""
        return plugin.memscope_detect_instructions(text=text, context=CONTEXT)

    def check(self, text: str, verdict: Any) -> None:
        """Scores, and reasons that a reviewer can follow."""
        if verdict is None:
            return
        assert isinstance(verdict, InstructionVerdict)
        assert 0 <= verdict.score <= 1
        for reason in verdict.reasons:
            assert NAME.fullmatch(reason.rule)
            assert 0 <= reason.weight <= 1
            assert within(text, reason.start, reason.end)
            assert len(reason.excerpt) <= 80
            assert reason.decoded is None or len(reason.decoded) <= 80
            assert not any(character in reason.excerpt for character in "\u200b\u202e\u2066\U000e0041")
        if verdict.flag:
            assert verdict.reasons, "a flag without a reason cannot be reviewed"

    def says_something(self, verdict: Any) -> bool:
        """Whether it flags."""
        return verdict is not None and bool(verdict.flag)


__all__ = ["CONTEXT", "HOSTILE", "InstructionsConformance", "SecretsConformance", "SensitivityConformance"]
