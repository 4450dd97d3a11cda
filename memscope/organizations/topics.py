"""Topics: those that every organization starts with, and changing them in the console."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.errors import Conflict, InvalidArgument
from memscope.model.audience import Sensitivity
from memscope.model.ids import new_id
from memscope.model.organization import GroupKind, Roster, Topic
from memscope.model.principal import Principal
from memscope.organizations.changes import Outcome, admins, carry_out
from memscope.organizations.file import NAME_MAX, check_description, check_name, check_slug

PHRASE_MIN = 3


def built_in_topics() -> tuple[Topic, ...]:
    """HR, Legal and Finance, without guard teams: new ids at each call."""
    return (
        Topic(
            new_id(),
            "hr",
            "HR",
            ("human resources", "people", "personnel"),
            "People at work: hiring and letting go, pay, performance, conduct, absence and health, complaints.",
            ("written warning", "salary review", "performance improvement plan", "sick leave", "notice of termination", "promotion round"),
            Sensitivity.RESTRICTED,
            builtin=True,
        ),
        Topic(
            new_id(),
            "legal",
            "Legal",
            ("law", "counsel", "compliance"),
            "Contracts and negotiations, disputes and lawsuits, advice of counsel, regulators, intellectual property.",
            (
                "attorney-client privilege",
                "settlement offer",
                "breach of contract",
                "cease and desist",
                "regulatory investigation",
                "patent claim",
            ),
            Sensitivity.RESTRICTED,
            builtin=True,
        ),
        Topic(
            new_id(),
            "finance",
            "Finance",
            ("accounting", "treasury", "controlling"),
            "Money of the organization: results before they are published, budgets, funding, debts, acquisitions, taxes, banking.",
            ("quarterly results", "budget cut", "funding round", "cash runway", "acquisition price", "revenue forecast"),
            Sensitivity.RESTRICTED,
            builtin=True,
        ),
    )


def checked_topic(
    topic: Topic,
    *,
    name: str,
    aliases: Sequence[str],
    description: str,
    phrases: Sequence[str],
    sensitivity: Sensitivity,
    teams: frozenset[str],
) -> Topic:
    """The topic with other values, each checked by itself; InvalidArgument names the one that will not do."""
    for phrase in phrases:
        if not PHRASE_MIN <= len(phrase) <= NAME_MAX:
            raise InvalidArgument("phrases", f"The phrase \u201c{phrase[:40]}\u201d must have {PHRASE_MIN} to {NAME_MAX} characters.")
    return replace(
        topic,
        key=check_slug(topic.key),
        name=check_name(name),
        aliases=tuple(dict.fromkeys(check_name(alias) for alias in aliases)),
        description=check_description(description),
        phrases=tuple(dict.fromkeys(check_name(phrase) for phrase in phrases)),
        sensitivity=sensitivity,
        teams=teams,
        guarding=topic.guarding or bool(teams),
    )


def save_topic(core: Core, principal: Principal, expected: Topic | None, after: Topic) -> Topic:
    """Add a topic (`expected` None), or change one as long as it is still as `expected`.

    Conflict when somebody else was faster, or another topic goes by its key, name or an alias. Memories stored before keep
    their topics; `memscope reclassify` judges them again.
    """

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        if expected is not None and roster.topics.get(expected.id) != expected:
            raise Conflict("Somebody else changed this topic meanwhile. Look at it again.")
        for team in after.teams:
            if team not in roster.groups or roster.groups[team].kind is not GroupKind.TEAM:
                raise InvalidArgument("teams", "A guard team is a team of this organization.")
        for name in (after.key, after.name, *after.aliases):
            other = roster.find_topic(name)
            if other is not None and other.id != after.id:
                raise Conflict(f"The topic {other.key} goes by {name} already.")
        transaction.write_topic(after)
        return Outcome(after.id, {"key": after.key, "sensitivity": after.sensitivity.label, "teams": len(after.teams)})

    carry_out(core, principal, "topic.add" if expected is None else "topic.change", admins, write)
    return after


def remove_topic(core: Core, principal: Principal, expected: Topic) -> None:
    """Take an added topic out of the lists. It goes on guarding the memories on it; Conflict for a built-in one."""
    if expected.builtin:
        raise Conflict("HR, Legal and Finance stay; a topic without phrases and guard teams does nothing.")

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        if roster.topics.get(expected.id) != expected:
            raise Conflict("Somebody else changed this topic meanwhile. Look at it again.")
        transaction.remove_topic(expected.id)
        return Outcome(expected.id, {"key": expected.key})

    carry_out(core, principal, "topic.remove", admins, write)
