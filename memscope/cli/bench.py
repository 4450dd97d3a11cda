"""`memscope bench`"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memscope.cli.context import CommandError, Context, note, read_text, say, table
from memscope.cli.languages import guess
from memscope.cli.parsing import add, subcommands
from memscope.cli.plugins import SAMPLE

if TYPE_CHECKING:
    from memscope.guarding.examine import Examination
    from memscope.model.organization import Roster

LEVELS = ("public", "internal", "restricted", "highly_restricted")
CREDENTIALS = frozenset(
    (
        *("aws_access_key", "aws_secret_key", "github_token", "gitlab_token", "slack_token", "stripe_key", "google_api_key"),
        *("npm_token", "sendgrid_key", "webhook_url", "api_key", "jwt", "private_key", "connection_string", "password", "basic_auth"),
    )
)
"""Labels of secrets that open something; the others are identifiers and personal data."""
SLOWEST = 5


@dataclass
class Score:
    """How often something was said and true, said and false, true and not said."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    ordinary: int = 0
    """Cases in which it was neither true nor said."""

    def count(self, said: bool, true: bool) -> None:
        """One case."""
        self.right += said and true
        self.wrong += said and not true
        self.missed += true and not said
        self.ordinary += not true and not said

    @property
    def precision(self) -> float:
        """Of what was said, the share that was true; 1 where nothing was said."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else 1.0

    @property
    def recall(self) -> float:
        """Of what was true, the share that was said; 1 where nothing was true."""
        return self.right / (self.right + self.missed) if self.right + self.missed else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.right / (2 * self.right + self.wrong + self.missed) if self.right + self.wrong + self.missed else 1.0

    @property
    def false_alarms(self) -> float:
        """Of the cases where it was not true, the share in which it was said."""
        return self.wrong / (self.wrong + self.ordinary) if self.wrong + self.ordinary else 0.0

    def figures(self) -> dict[str, float | int]:
        """For output."""
        return {
            "cases": self.right + self.missed,
            "precision": round(self.precision, 3),
            "recall": round(self.recall, 3),
            "f1": round(self.f1, 3),
            "false_alarms": round(self.false_alarms, 4),
        }


@dataclass
class Took:
    """How long the texts took."""

    each: list[tuple[float, str]] = field(default_factory=list)
    """(milliseconds, text)."""

    def figures(self) -> dict[str, Any]:
        """Median, 95th percentile and the slowest."""
        times = sorted(milliseconds for milliseconds, _ in self.each)
        slowest = sorted(self.each, reverse=True)[:SLOWEST]
        return {
            "p50_ms": round(times[len(times) // 2], 1),
            "p95_ms": round(times[int(len(times) * 0.95)], 1),
            "slowest": [{"ms": round(milliseconds, 1), "characters": len(text), "text": text[:60]} for milliseconds, text in slowest],
        }


def configure(parser: argparse.ArgumentParser) -> None:
    """`guard`."""
    guard = add(
        subcommands(parser),
        "guard",
        "score the guarding plugins on a labelled file",
        """\
Score the plugins as configured on a file of labelled texts, one JSON object a line:
  {"text", "label": "instructions" or "ordinary", "source"}            whether texts read like orders to an AI
  {"text", "topics": [...], "sensitivity", "secrets": [...], "source"}  levels, topics and types of secrets
`source` names the family in the tables; `language` is taken when it is there, else guessed.""",
    )
    guard.add_argument("file", metavar="FILE", help="the labelled file, or - for standard input")
    guard.add_argument("--topics", metavar="FILE", help="JSON list of the topics that the labels mean (default: HR, Legal, Finance)")
    guard.add_argument("--json", action="store_true", help="all figures as JSON")


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Judge every text, then print the figures."""
    from memscope.app import MemScope

    rows = _rows(arguments.file)
    roster = _roster(arguments.topics)
    # The plugins alone are needed: no database is opened.
    app = MemScope.from_settings(context.settings)
    app.core.embedding.load()
    _examined(app, roster, SAMPLE)  # models are loaded now, so that no text is timed with that
    judged, took, failed = [], Took(), Counter[str]()
    for number, row in enumerate(rows, 1):
        started = time.perf_counter()
        examination = _examined(app, roster, row["text"])
        took.each.append(((time.perf_counter() - started) * 1000, row["text"]))
        failed.update(examination.failed)
        judged.append((row, examination))
        if number % 200 == 0:
            note(f"Judging: text {number} of {len(rows)}")
    app.core.embedding.close()
    score = instruction_figures if "label" in rows[0] else sensitivity_figures
    figures = {"texts": len(rows), **score(judged, roster), "time": took.figures(), "failed": dict(failed)}
    if arguments.json:
        say(json.dumps(figures, indent=1, ensure_ascii=False))
    else:
        for line in _told(figures):
            say(line)
    return 1 if failed else 0


def _examined(app: Any, roster: Roster, text: str) -> Examination:
    from memscope.guarding.examine import Setting, examine
    from memscope.model.audience import Scope
    from memscope.model.organization import Role
    from memscope.text.normalise import normalise

    return examine(app.core, roster, normalise(text), Setting(Scope.TEAM, None, Role.MEMBER, None, None), noted=False)


def _rows(source: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(read_text(source).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            raise CommandError(f"{source}, line {number}: no valid JSON.") from None
        fine = isinstance(row, dict) and isinstance(row.get("text"), str)
        labelled = fine and (row.get("label") in ("instructions", "ordinary") if "label" in row else row.get("sensitivity") in LEVELS)
        if not labelled or (rows and ("label" in row) is not ("label" in rows[0])):
            raise CommandError(f"{source}, line {number}: needs text, and label or sensitivity as the other lines have; see --help.")
        rows.append(row)
    if not rows:
        raise CommandError(f"{source} holds no labelled text.")
    return rows


def _roster(topics_file: str | None) -> Roster:
    from dataclasses import replace

    from memscope.cli.try_ import sample_roster
    from memscope.model.audience import Sensitivity
    from memscope.model.ids import new_id
    from memscope.model.organization import Topic

    roster = sample_roster()
    if topics_file is None:
        return roster
    try:
        described = json.loads(read_text(topics_file))
        topics = [
            Topic(
                new_id(),
                entry["key"],
                entry["name"],
                tuple(entry.get("aliases", ())),
                entry.get("description", ""),
                tuple(entry.get("phrases", entry.get("examples", ()))),
                Sensitivity.parse(entry.get("sensitivity", "restricted")),
            )
            for entry in described
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CommandError(f"{topics_file} is no JSON list of topics with key, name, aliases, description and phrases.") from None
    return replace(roster, topics={topic.id: topic for topic in topics})


def family(source: str) -> str:
    """What a source counts as: `b/override` of an author b as `override`, a public one without its path."""
    head = source.split(":", 1)[0]
    return re.sub(r"^[a-z]/", "", head) or "none"


def _groups(judged: Sequence[tuple[dict[str, Any], Any]]) -> Iterator[tuple[str, str, dict[str, Any], Any]]:
    for row, examination in judged:
        yield "by_language", str(row.get("language") or guess(row["text"])), row, examination
        yield "by_family", family(str(row.get("source", "none"))), row, examination


Judged = Sequence[tuple[dict[str, Any], "Examination"]]


def instruction_figures(judged: Judged, roster: Roster) -> dict[str, Any]:
    """How well orders to an AI were told from ordinary text, in all and for each language and family."""
    total = Score()
    groups: dict[str, dict[str, Score]] = {"by_language": defaultdict(Score), "by_family": defaultdict(Score)}
    for row, examination in judged:
        total.count(examination.instructions, row["label"] == "instructions")
    for table_, name, row, examination in _groups(judged):
        groups[table_][name].count(examination.instructions, row["label"] == "instructions")
    return {
        "instructions": total.figures(),
        **{table_: {name: score.figures() for name, score in sorted(scores.items())} for table_, scores in groups.items()},
    }


def sensitivity_figures(judged: Judged, roster: Roster) -> dict[str, Any]:
    """How well levels, topics and secrets were recognised."""
    levels = Counter[tuple[str, str]]()
    right: dict[str, dict[str, list[bool]]] = {"by_language": defaultdict(list), "by_family": defaultdict(list)}
    for row, examination in judged:
        levels[row["sensitivity"], level_of(examination, roster)] += 1
    for table_, name, row, examination in _groups(judged):
        right[table_][name].append(level_of(examination, roster) == row["sensitivity"])
    topics = _by_label(
        judged, lambda row: row.get("topics", ()), lambda examination: {roster.topics[topic].key for topic in examination.topics}
    )
    secrets = _by_label(judged, lambda row: row.get("secrets", ()), lambda examination: {finding.type for finding in examination.findings})
    top = sum(times for (true, _), times in levels.items() if true == LEVELS[3])
    low = sum(times for (true, said), times in levels.items() if true == LEVELS[3] and said in LEVELS[:2])
    return {
        "level_accuracy": round(sum(levels[level, level] for level in LEVELS) / len(judged), 3),
        "highly_restricted_taken_for_internal_or_public": round(low / top, 3) if top else 0.0,
        "confusion": {true: {said: levels[true, said] for said in LEVELS} for true in LEVELS},
        "topics": {name: score.figures() for name, score in topics.items()},
        "topics_macro_f1": round(sum(score.f1 for score in topics.values()) / len(topics), 3) if topics else None,
        "secrets": {name: score.figures() for name, score in secrets.items()},
        "credentials": _together(score for name, score in secrets.items() if name in CREDENTIALS).figures(),
        "identifiers": _together(score for name, score in secrets.items() if name not in CREDENTIALS).figures(),
        **{
            table_: {name: {"cases": len(hits), "level_accuracy": round(sum(hits) / len(hits), 3)} for name, hits in sorted(of.items())}
            for table_, of in right.items()
        },
    }


def level_of(examination: Examination, roster: Roster) -> str:
    """The level that the plugins' verdicts come to, the organization's default apart."""
    from memscope.model.audience import Sensitivity

    if examination.credentials:
        return Sensitivity.HIGHLY_RESTRICTED.label
    return max([examination.sensitivity, *(roster.topics[topic].sensitivity for topic in examination.implying)]).label


def _by_label(
    judged: Judged, true: Callable[[dict[str, Any]], Iterable[str]], said: Callable[[Examination], set[str]]
) -> Mapping[str, Score]:
    """A score for each label that the file uses; what plugins find beyond those labels is not judged."""
    names = sorted({name for row, _ in judged for name in true(row)})
    scores = {name: Score() for name in names}
    for row, examination in judged:
        labels, found = set(true(row)), said(examination)
        for name in names:
            scores[name].count(name in found, name in labels)
    return scores


def _together(scores: Iterable[Score]) -> Score:
    total = Score()
    for score in scores:
        total.right += score.right
        total.wrong += score.wrong
        total.missed += score.missed
        total.ordinary += score.ordinary
    return total


def _told(figures: Mapping[str, Any]) -> Iterator[str]:
    yield f"{figures['texts']} texts; p50 {figures['time']['p50_ms']} ms, p95 {figures['time']['p95_ms']} ms each"
    if figures["failed"]:
        yield f"FAILED: {figures['failed']}"
    if "level_accuracy" in figures:
        yield f"level accuracy {figures['level_accuracy']}"
        yield f"highly restricted taken for internal or public: {figures['highly_restricted_taken_for_internal_or_public']}"
        yield ""
        yield from table(
            ([true, *(str(figures["confusion"][true][said]) for said in LEVELS)] for true in LEVELS), head=("LABELLED \\ SAID", *LEVELS)
        )
        if figures["topics_macro_f1"] is not None:
            yield ""
            yield f"topics, macro F1 {figures['topics_macro_f1']}"
            yield from _scores("TOPIC", figures["topics"])
        yield ""
        yield from _scores("SECRETS", {"credentials": figures["credentials"], "identifiers": figures["identifiers"], **figures["secrets"]})
    else:
        yield ""
        yield from _scores("INSTRUCTIONS", {"all": figures["instructions"]})
    for name in ("by_language", "by_family"):
        yield ""
        yield from _scores(name.replace("_", " ").upper(), figures[name])
    yield ""
    yield "slowest"
    for slow in figures["time"]["slowest"]:
        yield f"  {slow['ms']} ms, {slow['characters']} characters: {json.dumps(slow['text'])}"


def _scores(title: str, scores: Mapping[str, Mapping[str, float | int]]) -> Iterator[str]:
    if not scores:
        return
    columns = list(next(iter(scores.values())))
    yield from table(
        ([name, *(str(score[column]) for column in columns)] for name, score in scores.items()),
        head=(title, *(column.replace("_", " ") for column in columns)),
    )
