"""`memscope try`"""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any

from memscope.cli.context import CommandError, Context, read_text, say
from memscope.cli.parsing import add_organization

if TYPE_CHECKING:
    from memscope.core import Core
    from memscope.guarding.examine import Examination
    from memscope.model.organization import Roster


def configure(parser: argparse.ArgumentParser) -> None:
    """The text and where it would be saved."""
    parser.description = (
        "Show what the guarding plugins say of a text, with their evidence, and what would follow if it were saved. Nothing is saved."
    )
    parser.add_argument("text", metavar="TEXT", help="the text, or - for standard input")
    parser.add_argument(
        "--scope", choices=("organization", "team", "project", "personal"), default="organization", help="where it would be saved"
    )
    parser.add_argument("--kind", choices=("fact", "decision", "procedure", "handoff", "note"), help="what kind of memory")
    parser.add_argument("--json", action="store_true", help="the whole verdict as JSON")
    add_organization(parser)


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Judge and print."""
    from memscope.errors import MemScopeError
    from memscope.guarding.examine import Setting, examine
    from memscope.memories.texts import clean
    from memscope.model.audience import Scope
    from memscope.model.memory import CONTENT_MAX, Kind
    from memscope.model.organization import Role

    text = read_text("-") if arguments.text == "-" else arguments.text
    try:
        text = clean("TEXT", text.rstrip("\n"), CONTENT_MAX)
    except MemScopeError as error:
        raise CommandError(error.message) from None
    with context.opened() as app:
        app.core.embedding.load()
        roster = _roster(app.core, arguments.org)
        setting = Setting(Scope(arguments.scope), Kind(arguments.kind) if arguments.kind else None, Role.MEMBER, "memscope try", None)
        started = time.perf_counter()
        examination = examine(app.core, roster, text, setting)
        verdict = _verdict(app.core, examination, roster, setting.scope, (time.perf_counter() - started) * 1000)
    if arguments.json:
        say(json.dumps(verdict, indent=2, ensure_ascii=False))
    else:
        for line in _told(verdict):
            say(line)
    return 0


def _roster(core: Core, slug: str | None) -> Roster:
    from memscope.organizations.signing_in import choose_organization

    if slug is None and not core.storage.organizations():
        return sample_roster()
    return core.rosters.current(choose_organization(core.storage, slug).id)


def sample_roster() -> Roster:
    """An organization as it is at the start, with one team, so that texts can be judged where there is none yet."""
    from memscope.model.ids import new_id
    from memscope.model.organization import Group, GroupKind, Organization, Roster
    from memscope.organizations.topics import built_in_topics

    team = Group(new_id(), GroupKind.TEAM, "sample", "Sample")
    topics = {topic.id: topic for topic in built_in_topics()}
    return Roster(Organization(new_id(), "sample", "Sample"), 1, {}, {team.id: team}, topics, {})


def _verdict(core: Core, examination: Examination, roster: Roster, scope: Any, milliseconds: float) -> dict[str, Any]:
    from memscope.errors import SecretRejected
    from memscope.guarding.route import Inherited, route
    from memscope.model.audience import Place, Scope, Sensitivity
    from memscope.model.ids import new_id, new_number
    from memscope.model.memory import Memory, Provenance
    from memscope.model.organization import GroupKind, Person

    author = next((person for person in roster.people.values() if person.active), Person(new_id(), "you@example.com", "You"))
    group = next((group.id for group in roster.groups.values() if scope.value == group.kind.value), None)
    if group is None and scope in (Scope.TEAM, Scope.PROJECT):
        raise CommandError(f"The organization has no {GroupKind(scope.value).value} to save into; choose another --scope.")
    place = Place(scope, group=group, person=author.id if scope is Scope.PERSONAL else None)
    now = core.clock()
    memory = Memory(
        new_id(), new_number(), examination.text, place, Sensitivity.PUBLIC, frozenset(), Provenance(author.id, new_id()), now, now
    )
    verdict: dict[str, Any] = {
        "says": {
            "sensitivity": examination.sensitivity.label,
            "low_confidence": examination.low_confidence,
            "topics": sorted(roster.topics[topic].key for topic in examination.topics),
            "instructions": examination.instructions,
            "credentials": list(examination.credentials),
            "failed": list(examination.failed),
        },
        "findings": [
            {
                "type": finding.type,
                "source": finding.source,
                "confidence": round(finding.confidence, 3),
                "start": finding.start,
                "end": finding.end,
                "text": finding.excerpt or _excerpt(examination, finding.start, finding.end),
            }
            for finding in examination.findings
        ],
        "milliseconds": round(milliseconds, 1),
    }
    try:
        routed = route(examination, memory, roster, Inherited())
    except SecretRejected as error:
        return verdict | {"follows": {"refused": error.message}}
    return verdict | {
        "follows": {
            "scope": routed.place.scope.value,
            "sensitivity": routed.sensitivity.label,
            "topics": sorted(roster.topics[topic].key for topic in routed.topics),
            "flags": [{"flag": flag.value, "reason": reason} for flag, reason, _ in routed.raised],
            "others_see": examination.open_text,
        }
    }


def _excerpt(examination: Examination, start: int, end: int) -> str:
    """The text at a span, unless a credential lies there."""
    hidden = any(
        finding.type in examination.credentials and finding.start < end and start < finding.end for finding in examination.findings
    )
    return "" if hidden else examination.text[start:end][:80]


def _told(verdict: dict[str, Any]) -> list[str]:
    says, follows = verdict["says"], verdict["follows"]
    lines = [f"judged in {verdict['milliseconds']} ms"]
    lines.append(f"sensitivity   {says['sensitivity']}{' (low confidence)' if says['low_confidence'] else ''}")
    lines.append(f"topics        {', '.join(says['topics']) or 'none'}")
    lines.append(f"instructions  {'yes' if says['instructions'] else 'no'}")
    lines.append(f"credentials   {', '.join(says['credentials']) or 'none'}")
    if says["failed"]:
        lines.append(f"FAILED        {', '.join(says['failed'])}")
    lines.append("evidence" if verdict["findings"] else "evidence      none")
    for finding in verdict["findings"]:
        where = f"{finding['start']}-{finding['end']}"
        lines.append(
            f"  {finding['type']} ({finding['source']}, {finding['confidence']:.2f}) at {where}: {json.dumps(finding['text'], ensure_ascii=True)}"
        )
    if "refused" in follows:
        return [*lines, f"It would be refused: {follows['refused']}"]
    about = f", on {', '.join(follows['topics'])}" if follows["topics"] else ""
    lines.append(f"It would be saved in {follows['scope']} scope as {follows['sensitivity'].replace('_', ' ')}{about}.")
    lines += [f"  flagged {flag['flag']}: {flag['reason']}" for flag in follows["flags"]]
    return lines
