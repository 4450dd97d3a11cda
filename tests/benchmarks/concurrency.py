"""Is a change ever lost, or a memory replaced twice, when several people act at once? Races on PostgreSQL, counted.

Each round lets a few callers do the same thing at the same moment, and looks afterwards at what stands:

* corrections with one expected version: one succeeds, the others are told;
* corrections without one: all succeed, and every text is in the history;
* two replacements of one memory, by link or by saving: one succeeds;
* two links that would close a circle: one succeeds;
* forgetting beside correcting: nothing is both;
* saves with one key: one memory.

    python tests/benchmarks/concurrency.py --rounds 2000

Exit code 1 when anything was lost, double or unexpected.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memscope.app import MemScope
from memscope.approvals.consent import Consent
from memscope.contracts.storage import Operator
from memscope.core import Core
from memscope.errors import MemScopeError
from memscope.memories.browse import get_memory
from memscope.memories.correct import Correct, correct_memory
from memscope.memories.remember import Remember, remember
from memscope.memories.supersede import Supersede, supersede_memory
from memscope.memories.trash import Forget, forget_memory
from memscope.model.audit import Act
from memscope.model.ids import new_id
from memscope.model.organization import Confirmation, Connection, ConnectionKind, Group, GroupKind, GroupRole, Organization, Person, Role
from memscope.model.principal import Principal
from memscope.settings import load

AT_ONCE = 4
YES = Consent(confirm_widen=True, confirm_human=True)


def people(core: Core, count: int) -> list[Principal]:
    """Owners of one team, each on a connection of their own."""
    organization = Organization(new_id(), f"race-{new_id()}", "Race", confirmation=Confirmation.FLAG)
    with core.storage.begin(Operator("bench", None), Act("organization.create")) as transaction:
        transaction.write_organization(organization)
    team = Group(new_id(), GroupKind.TEAM, "team", "Team")
    made = []
    with core.storage.begin(Operator("bench", organization.id), Act("organization.fill")) as transaction:
        transaction.write_group(team)
        for number in range(count):
            person = Person(new_id(), f"p{number}@race.example", f"P{number}", Role.MEMBER)
            connection = Connection(new_id(), person.id, ConnectionKind.TOKEN, "race", datetime.now(UTC))
            transaction.write_person(person)
            transaction.write_membership(team.id, person.id, GroupRole.OWNER)
            transaction.write_connection(connection)
            made.append(Principal(organization.id, person.id, connection.id, ConnectionKind.TOKEN, "race"))
    return made


@dataclass
class Races:
    """Rounds made, and what went wrong in them."""

    core: Core
    who: Sequence[Principal]
    pool: ThreadPoolExecutor
    wrong: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    number: int = 0

    def at_once(self, kind: str, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        """What became of calls that begin at the same moment: answers and error codes."""
        barrier = threading.Barrier(len(calls))

        def run(call: Callable[[], Any]) -> Any:
            barrier.wait()
            try:
                return call()
            except MemScopeError as error:
                return error.code

        results = list(self.pool.map(run, calls))
        for result in results:
            self.outcomes[f"{kind}: {result if isinstance(result, str) else 'ok'}"] += 1
        return results

    def save(self, text: str, **more: Any) -> str:
        """Id of a new memory of the team."""
        return remember(self.core, self.who[0], Remember(text, team="team", **more)).memory.id

    def expect(self, kind: str, right: bool, seen: object) -> None:
        if not right:
            self.wrong.append(f"round {self.number}, {kind}: {seen}")

    def texts(self, memory: str) -> list[str | None]:
        return [version.content for version in get_memory(self.core, self.who[0], memory).versions]

    # the races

    def corrections_of_one_version(self) -> None:
        memory = self.save(f"Plan {self.number}.")
        results = self.at_once(
            "one version", [self._correct(who, memory, f"Plan {self.number} by {at}.", 1) for at, who in enumerate(self.who)]
        )
        won = [result for result in results if not isinstance(result, str)]
        lost = [result for result in results if isinstance(result, str)]
        texts = self.texts(memory)
        self.expect(
            "one version",
            len(won) == 1 and set(lost) <= {"conflict"} and texts == [won[0].memory.content, f"Plan {self.number}."],
            (results, texts),
        )

    def corrections_of_any_version(self) -> None:
        memory = self.save(f"Plan {self.number}.")
        results = self.at_once(
            "any version", [self._correct(who, memory, f"Plan {self.number} by {at}.", None) for at, who in enumerate(self.who)]
        )
        texts = self.texts(memory)
        expected = {f"Plan {self.number}.", *(f"Plan {self.number} by {at}." for at in range(len(self.who)))}
        versions = sorted(result.version for result in results if not isinstance(result, str))
        self.expect("any version", set(texts) == expected and versions == list(range(2, len(self.who) + 2)), (results, texts))

    def two_successors(self) -> None:
        older, *newer = (self.save(f"Plan {self.number} {at}.") for at in range(3))
        results = self.at_once("two successors", [self._supersede(who, older, link) for who, link in zip(self.who, newer, strict=False)])
        self._one(results, older, newer, "two successors")

    def two_saved_successors(self) -> None:
        older = self.save(f"Plan {self.number}.")

        def replace(at: int, who: Principal) -> Callable[[], Any]:
            return lambda: remember(self.core, who, Remember(f"Plan {self.number} anew, {at}.", team="team", supersedes=older))

        results = self.at_once("two saved successors", [replace(at, who) for at, who in enumerate(self.who[:3])])
        self._one(results, older, [result.memory.id for result in results if not isinstance(result, str)], "two saved successors")

    def circles(self) -> None:
        one, two = (self.save(f"Plan {self.number} {at}.") for at in range(2))
        results = self.at_once("circle", [self._supersede(self.who[0], one, two), self._supersede(self.who[1], two, one)])
        won = [result for result in results if not isinstance(result, str)]
        self.expect("circle", len(won) == 1 and set(results) - {won[0]} == {"conflict"}, results)

    def forgetting_and_correcting(self) -> None:
        memory = self.save(f"Plan {self.number}.")

        def forget() -> Any:
            return forget_memory(self.core, self.who[0], Forget(memory), YES)

        first, second = self.at_once("forget and correct", [forget, self._correct(self.who[1], memory, "Another plan.", None)])
        self.expect(
            "forget and correct", not isinstance(first, str) and (not isinstance(second, str) or second == "not_found"), (first, second)
        )

    def one_key(self) -> None:
        def save() -> Any:
            return remember(self.core, self.who[0], Remember(f"Plan {self.number}.", idempotency_key=f"key {self.number}"))

        results = self.at_once("one key", [save] * AT_ONCE)
        ids = {result if isinstance(result, str) else result.memory.id for result in results}
        fresh = sum(not isinstance(result, str) and result.created for result in results)
        self.expect("one key", len(ids) == 1 and fresh == 1, results)

    def _correct(self, who: Principal, memory: str, text: str, version: int | None) -> Callable[[], Any]:
        return lambda: correct_memory(self.core, who, Correct(memory, text, expected_version=version))

    def _supersede(self, who: Principal, older: str, newer: str) -> Callable[[], Any]:
        return lambda: supersede_memory(self.core, who, Supersede(older, newer))

    def _one(self, results: list[Any], older: str, newer: list[str], kind: str) -> None:
        won = [result for result in results if not isinstance(result, str)]
        link = get_memory(self.core, self.who[0], older).memory.superseded_by
        self.expect(
            kind, len(won) == 1 and {result for result in results if isinstance(result, str)} == {"conflict"} and link in newer, results
        )


def main() -> int:
    """Race, and print what stands afterwards."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ms-races-") as folder, ThreadPoolExecutor(AT_ONCE) as pool:
        Path(folder).chmod(0o755)
        environ = {"MEMSCOPE_PLUGINS_BLOCKED": "spacy,instructions,secrets,admin"}
        with MemScope.from_settings(load(None, environ, data_dir=Path(folder) / "data")) as app:
            races = Races(app.core, people(app.core, AT_ONCE), pool)
            kinds = [
                races.corrections_of_one_version,
                races.corrections_of_any_version,
                races.two_successors,
                races.two_saved_successors,
                races.circles,
                races.forgetting_and_correcting,
                races.one_key,
            ]
            order = random.Random(chosen.seed)
            started = time.perf_counter()
            for races.number in range(chosen.rounds):
                order.choice(kinds)()
            spent = time.perf_counter() - started
    for outcome, count in sorted(races.outcomes.items()):
        print(f"{count:8} {outcome}")
    print(f"{chosen.rounds} rounds in {spent:.0f} s: {len(races.wrong)} wrong")
    for text in races.wrong[:20]:
        print(text)
    return 1 if races.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
