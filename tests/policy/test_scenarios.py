"""Scenario files: small organizations in words, and what their people can and cannot do."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memscope.model.audience import Permission, Sensitivity
from memscope.model.memory import Kind, Memory
from memscope.model.organization import Role
from memscope.model.review import Flag
from memscope.policy.effect import effect
from memscope.policy.explain import explain
from memscope.policy.permissions import may
from memscope.policy.reach import reach
from memscope.testing.builders import Builder, empty

FILES = sorted((Path(__file__).parent / "scenarios").glob("*.toml"))
NOW = datetime(2026, 3, 1, tzinfo=UTC)
ACTIONS = {permission.value: permission for permission in Permission} | {"find": Permission.READ}
"""`read` is by id; `find` is in recall and lists."""


@dataclass
class Scenario:
    org: Builder
    memories: dict[str, Memory]
    changes: list[dict[str, Any]]

    @classmethod
    def load(cls, file: Path) -> Scenario:
        data = tomllib.loads(file.read_text("utf-8"))
        org = empty()
        for name, facts in data["people"].items():
            clearance = Sensitivity.parse(facts["clearance"]) if "clearance" in facts else None
            org.person(name, Role(facts.get("role", "member")), clearance, facts.get("active", True))
        for slug, facts in data.get("teams", {}).items():
            org.team(slug, facts.get("members", ()), facts.get("owners", ()))
        for slug, facts in data.get("projects", {}).items():
            org.project(slug, facts.get("members", ()), facts.get("owners", ()), facts.get("team"))
        for key, facts in data.get("topics", {}).items():
            org.topic(key, facts.get("guard_teams", ()), guarding=facts.get("had_a_guard_team", False))
        memories = {facts["name"]: memory_of(org, facts) for facts in data["memory"]}
        return cls(org, memories, data.get("change", []))


def memory_of(org: Builder, facts: dict[str, Any]) -> Memory:
    more: dict[str, Any] = {}
    if "forgotten_by" in facts:
        more |= {"forgotten_at": NOW, "forgotten_by": org.people[facts["forgotten_by"]].id}
    return org.memory(
        facts["author"],
        facts["name"],
        facts["place"],
        sensitivity=Sensitivity.parse(facts.get("sensitivity", "internal")),
        topics=facts.get("topics", ()),
        flags=[Flag(flag) for flag in facts.get("flags", ())],
        own="changed_by" not in facts,
        kind=Kind(facts["kind"]) if "kind" in facts else None,
        superseded=facts.get("replaced", False),
        **more,
    )


def assertions(key: str) -> list[Any]:
    """Every line of one key (can or cannot) of every memory, as test parameters."""
    found: list[Any] = []
    for file in FILES:
        for facts in tomllib.loads(file.read_text("utf-8"))["memory"]:
            for line in facts.get(key, ()):
                person, verbs = line.split(": ")
                found.extend(
                    pytest.param(file, facts["name"], person, verb, id=f"{file.stem}: {person} {key} {verb} {facts['name']}")
                    for verb in verbs.split(", ")
                )
    return found


def answers(file: Path, name: str, person: str, verb: str) -> set[bool]:
    """What every part of policy says; they have to agree."""
    scenario = Scenario.load(file)
    memory, permission = scenario.memories[name], ACTIONS[verb]
    reader = scenario.org.reader(person)
    verdict = may(reader, permission, memory, by_id=verb != "find")
    found = {verdict}
    opened = reach(reader, "o", 1, {memory.audience}, permission)
    if verb == "find" and memory.forgotten_at is None:
        mine = memory.author == reader.person and memory.audience in (opened.author if memory.own else opened.coauthor)
        found.add(memory.audience in opened.anybody or mine)
    if verb == "read":
        found.add(explain(reader, memory, NOW, scenario.org.roster()).visible)
    return found


@pytest.mark.parametrize(("file", "name", "person", "verb"), assertions("can"))
def test_they_can(file: Path, name: str, person: str, verb: str) -> None:
    assert answers(file, name, person, verb) == {True}


@pytest.mark.parametrize(("file", "name", "person", "verb"), assertions("cannot"))
def test_they_cannot(file: Path, name: str, person: str, verb: str) -> None:
    assert answers(file, name, person, verb) == {False}


@pytest.mark.parametrize(
    ("file", "position"),
    [
        pytest.param(file, position, id=f"{file.stem}: {change['what']}")
        for file in FILES
        for position, change in enumerate(tomllib.loads(file.read_text("utf-8")).get("change", ()))
    ],
)
def test_a_change_has_the_effect(file: Path, position: int) -> None:
    scenario = Scenario.load(file)
    change = scenario.changes[position]
    before, org = scenario.memories[change["memory"]], scenario.org
    after = before
    if "place" in change:
        author = next(name for name, person in org.people.items() if person.id == before.author)
        after = replace(after, place=org.place(change["place"], author))
    if "sensitivity" in change:
        after = replace(after, sensitivity=Sensitivity.parse(change["sensitivity"]))
    if "topics" in change:
        after = replace(after, topics=frozenset(org.topics[key].id for key in change["topics"]))
    if "settles" in change:
        after = replace(after, reviews=tuple(review for review in after.reviews if review.flag.value not in change["settles"]))
    if change.get("restores"):
        after = replace(after, forgotten_at=None, forgotten_by=None)
    found = effect(before, after, org.roster())
    names = {person.id: name for name, person in org.people.items()}
    told = {
        "widens": found.widens,
        "narrows": found.narrows,
        "gain": sorted(names[person] for person in found.gains),
        "lose": sorted(names[person] for person in found.loses),
    }
    expected = {key: sorted(value) if isinstance(value, list) else value for key, value in change["then"].items()}
    assert {key: told[key] for key in expected} == expected
    assert found.readers_after - found.readers_before == len(found.gains) - len(found.loses)
