"""Topics: those that every organization starts with, and changing them in the console."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from memscope.contracts.storage import Transaction
from memscope.core import Core
from memscope.errors import Conflict, InvalidArgument
from memscope.model.audience import Sensitivity
from memscope.model.ids import new_id
from memscope.model.organization import Group, GroupKind, Roster, Topic
from memscope.model.principal import Principal
from memscope.organizations.changes import Outcome, admins, carry_out
from memscope.organizations.file import NAME_MAX, check_description, check_name, check_slug

PHRASE_MIN = 3
BENCH_RECORDS = "bench"
"""The records that hold what was put on a topic's bench to stay, under the topic's id."""


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
        aliases=tuple(dict.fromkeys(_named("aliases", alias) for alias in aliases)),
        description=check_description(description),
        phrases=tuple(dict.fromkeys(_named("phrases", phrase) for phrase in phrases)),
        sensitivity=sensitivity,
        teams=teams,
        guarding=topic.guarding or bool(teams),
    )


def _named(field: str, text: str) -> str:
    try:
        return check_name(text)
    except InvalidArgument as error:
        raise InvalidArgument(field, error.message.replace("name", f"\u201c{text[:40]}\u201d", 1)) from None


def save_topic(core: Core, principal: Principal, expected: Topic | None, after: Topic) -> Topic:
    """Add a topic (`expected` None), or change one as long as it is still as `expected`.

    Conflict when somebody else was faster, InvalidArgument when another topic goes by its key, name or an alias. Memories
    stored before keep their topics until they are judged again.
    """

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        if expected is not None and roster.topics.get(expected.id) != expected:
            raise Conflict("Somebody else changed this topic meanwhile. Look at it again.")
        for team in after.teams:
            if team not in roster.groups or roster.groups[team].kind is not GroupKind.TEAM:
                raise InvalidArgument("teams", "A guard team is a team of this organization.")
        refuse_taken(roster, after)
        transaction.write_topic(after)
        return Outcome(after.id, {"key": after.key, "sensitivity": after.sensitivity.label, "teams": len(after.teams)})

    carry_out(core, principal, "topic.add" if expected is None else "topic.change", admins, write)
    return after


def refuse_taken(roster: Roster, topic: Topic) -> None:
    """InvalidArgument when another topic goes by the key, the name or an alias, whatever its case, width and spaces."""
    taken = {
        plain(name): other for other in roster.topics.values() if other.id != topic.id for name in (other.key, other.name, *other.aliases)
    }
    for field, names in (("key", (topic.key,)), ("name", (topic.name,)), ("aliases", topic.aliases)):
        for name in names:
            if (other := taken.get(plain(name))) is not None:
                raise InvalidArgument(field, f"The topic {other.name} goes by \u201c{name}\u201d already.")


def plain(text: str) -> str:
    """A name or phrase as it is compared: without case, width and spaces of its own."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def empty_teams(roster: Roster, topic: Topic) -> tuple[Group, ...]:
    """The guard teams in which nobody active is, by name."""
    teams = (roster.groups[team] for team in topic.teams if team in roster.groups)
    nobody = (team for team in teams if not any(roster.people[person].active for person in roster.memberships.get(team.id, ())))
    return tuple(sorted(nobody, key=lambda team: team.name.casefold()))


def with_draft(roster: Roster, draft: Topic) -> Roster:
    """The organization as it would be with a topic as in a draft."""
    return replace(roster, topics={**roster.topics, draft.id: draft})


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
    core.storage.records(BENCH_RECORDS).change(principal.organization, expected.id, lambda _: None)
