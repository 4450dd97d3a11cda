"""Findings stand where they say, in the text as it is kept: also after credentials in front of them gave way to their types."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memscope_secrets import memscope_detect_secrets

from memscope.cli.try_ import sample_roster
from memscope.guarding.examine import Examination
from memscope.guarding.route import Inherited, Routed, route
from memscope.model.audience import Place, Scope, Sensitivity
from memscope.model.ids import new_id, new_number
from memscope.model.memory import Memory, Provenance
from memscope.model.organization import SecretsPolicy
from memscope.model.review import Finding

KEYS = ("AKIAIOSFODNN7EXAMPLE", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY")
FILLER = ("the door sticks", "große Straße", "鍵は\u2003ここ", "ask \U0001f642 Priya", "call +44 20 7946 0958")


def routed(text: str, policy: SecretsPolicy) -> tuple[Routed, list[tuple[str, str]]]:
    """What becomes of a text in which every word MARK is another plugin's evidence; and each finding with what stands at its place."""
    roster = sample_roster()
    roster = replace(roster, organization=replace(roster.organization, secrets=policy))
    found = list(memscope_detect_secrets(text) or ())
    findings = [Finding(one.type, "secrets", one.confidence, one.start, one.end, one.masked) for one in found]
    findings += [Finding("mark", "other", 0.9, at, at + 4) for at in range(len(text)) if text.startswith("MARK", at)]
    open_text, position = [], 0
    for one in (one for one in found if one.credential):
        open_text += [text[position : one.start], f"[{one.type}]"]
        position = one.end
    examination = Examination(
        text,
        "".join([*open_text, text[position:]]),
        Sensitivity.INTERNAL,
        frozenset(),
        frozenset(),
        False,
        False,
        tuple(one.type for one in found if one.credential),
        tuple(findings),
        (),
    )
    now = datetime.now(UTC)
    author = new_id()
    memory = Memory(
        new_id(), new_number(), text, Place(Scope.ORGANIZATION), Sensitivity.PUBLIC, frozenset(), Provenance(author, new_id()), now, now
    )
    answer = route(examination, memory, roster, Inherited())
    return answer, [(finding.type, answer.content[finding.start : finding.end]) for finding in answer.findings]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from((*KEYS, *FILLER, "MARK")), min_size=1, max_size=8))
def test_spans_are_right_in_what_is_kept(parts: list[str]) -> None:
    text = " - ".join(parts)
    for policy in (SecretsPolicy.HOLD, SecretsPolicy.REDACT):
        answer, placed = routed(text, policy)
        assert sum(kind == "mark" for kind, _ in placed) == parts.count("MARK")
        assert all(said == "MARK" for kind, said in placed if kind == "mark")
        for kind, said in placed:
            if kind in ("aws_access_key", "github_token", "google_api_key"):
                assert said in KEYS if policy is SecretsPolicy.HOLD else said == f"[{kind}]"
            if kind == "phone":
                assert said.startswith("+44 20")
        if policy is SecretsPolicy.REDACT:
            assert not any(key in answer.content for key in KEYS)
        assert not any(key in repr(answer.findings) for key in KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_held_text_hides_the_credential_from_everybody_else(key: str) -> None:
    answer, _ = routed(f"Use {key} for the export. MARK", SecretsPolicy.HOLD)
    assert answer.masked is not None
    assert key not in answer.masked
    assert answer.place.scope is Scope.PERSONAL
