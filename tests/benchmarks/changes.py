"""What a change costs beside a bare commit, and whether answers about unreadable ids take another time than about unknown ones.

    python tests/benchmarks/changes.py [--calls 500] [--runs 200]

First the median of a transaction that updates one row of a table of one column on the same database in the same run; then the
median of each tool that changes something, and its ratio to that. Guarding plugins other than the default secrets are left
out, so that the figures are those of storing. Then, for each tool that takes an id, the medians over alternating calls about a
memory that the person may not read and about an id that was never given out, and their ratio. Exit code 1 when a ratio is off
by more than a quarter.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memscope.app import MemScope
from memscope.approvals.consent import Consent
from memscope.contracts.storage import Operator
from memscope.core import Core
from memscope.errors import MemScopeError
from memscope.mcp_server import arguments, envelope
from memscope.mcp_server.server import TOOLS
from memscope.model.audit import Act
from memscope.model.ids import new_id
from memscope.model.organization import Confirmation, Connection, ConnectionKind, Group, GroupKind, GroupRole, Organization, Person, Role
from memscope.model.principal import Principal
from memscope.settings import load

TOOL = {tool.name: tool for tool in TOOLS}
YES = {"confirm_widen": True, "confirm_human": True}


def call(core: Core, who: Principal, tool: str, **given: Any) -> dict[str, Any]:
    """A tool's answer as a client gets it, over everything but the wire."""
    parsed = arguments.parse(TOOL[tool].parameters, given)
    consent = Consent(parsed.pop("confirm_widen", False), parsed.pop("confirm_human", False))
    try:
        answer = envelope.plain(TOOL[tool].run(core, who, parsed, consent))
    except MemScopeError as error:
        answer = envelope.plain(error.envelope())
    assert isinstance(answer, dict)
    return answer


def found(core: Core) -> tuple[Principal, Principal]:
    """Two people of one organization, an owner of a team and somebody outside."""
    organization = Organization(new_id(), f"costs-{new_id()}", "Costs", confirmation=Confirmation.FLAG)
    with core.storage.begin(Operator("bench", None), Act("organization.create")) as transaction:
        transaction.write_organization(organization)
    team = Group(new_id(), GroupKind.TEAM, "team", "Team")
    made = []
    with core.storage.begin(Operator("bench", organization.id), Act("organization.fill")) as transaction:
        transaction.write_group(team)
        for name in ("owner", "outsider"):
            person = Person(new_id(), f"{name}@costs.example", name, Role.MEMBER)
            connection = Connection(new_id(), person.id, ConnectionKind.TOKEN, "bench", datetime.now(UTC))
            transaction.write_person(person)
            transaction.write_connection(connection)
            if name == "owner":
                transaction.write_membership(team.id, person.id, GroupRole.OWNER)
            made.append(Principal(organization.id, person.id, connection.id, ConnectionKind.TOKEN, "bench"))
    return made[0], made[1]


def median_ms(runs: int, once: Callable[[int], object]) -> float:
    """Median of the time of single runs, in milliseconds."""
    spent = []
    for number in range(runs):
        started = time.perf_counter()
        once(number)
        spent.append((time.perf_counter() - started) * 1000)
    return statistics.median(spent)


def bare_commit(core: Core, runs: int) -> float:
    """Median of a transaction that updates one row, in milliseconds."""
    storage: Any = core.storage
    lease = storage.owning.take()
    try:
        connection = lease.connection
        connection.execute("DROP TABLE IF EXISTS public.bare_scratch")
        connection.execute("CREATE TABLE public.bare_scratch (n int)")
        connection.execute("INSERT INTO public.bare_scratch VALUES (0)")

        def once(number: int) -> None:
            connection.execute("BEGIN")
            connection.execute("UPDATE public.bare_scratch SET n = %s", (number,))
            connection.execute("COMMIT")

        return median_ms(runs, once)
    finally:
        lease.give_back()


def changing(core: Core, owner: Principal, runs: int) -> dict[str, Callable[[int], object]]:
    """Each changing tool as something to run again and again."""

    def save(text: str) -> str:
        return str(call(core, owner, "remember", content=text, team="team")["memory"]["id"])

    ids = [save(f"Note {number} about the {number * 37 % 1009} harbour lamps.") for number in range(runs)]
    waiting = [save(f"Lamp {number}: perhaps it hangs in the {number * 41 % 1013} harbour.") for number in range(runs)]
    newest = save("What replaces them all.")
    levels = ("restricted", "highly_restricted")
    return {
        "remember": lambda n: save(f"Entry {n} of the log about pier {n * 53 % 1021}."),
        "correct_memory": lambda n: call(
            core, owner, "correct_memory", memory_id=ids[n], new_content=f"Note {n} says pier {n * 59 % 997}."
        ),
        "change_sensitivity": lambda n: call(core, owner, "change_sensitivity", memory_id=ids[n], sensitivity=levels[n % 2]),
        "change_scope": lambda n: call(core, owner, "change_scope", memory_id=ids[n], scope="personal"),
        "supersede_memory": lambda n: call(core, owner, "supersede_memory", memory_id=ids[n], replaced_by=newest),
        "forget_memory": lambda n: call(core, owner, "forget_memory", memory_id=ids[n], confirm_human=True),
        "restore_memory": lambda n: call(core, owner, "restore_memory", memory_id=ids[n]),
        "review_memory": lambda n: call(core, owner, "review_memory", memory_id=waiting[n], action="approve", **YES),
    }


BY_ID: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("get_memory", "memory_id", {}),
    ("explain_memory", "memory_id", {}),
    ("fetch", "id", {}),
    ("correct_memory", "memory_id", {"new_content": "Another text."}),
    ("change_scope", "memory_id", {"scope": "team", "team": "team", **YES}),
    ("change_sensitivity", "memory_id", {"sensitivity": "public", "confirm_widen": True}),
    ("forget_memory", "memory_id", {"confirm_human": True}),
    ("restore_memory", "memory_id", {}),
    ("review_memory", "memory_id", {"action": "approve", **YES}),
    ("supersede_memory", "memory_id", {"replaced_by": "01980000-0000-7000-8000-000000000000"}),
)


def classes(core: Core, outsider: Principal, hidden: Sequence[str], calls: int) -> list[tuple[str, float, float]]:
    """(tool, median about unreadable ids, median about ids never given out), in milliseconds, over alternating calls."""
    rows = []
    for tool, parameter, more in BY_ID:
        spent: tuple[list[float], list[float]] = ([], [])
        for number in range(2 * calls):
            reference = hidden[number % len(hidden)] if number % 2 == 0 else new_id()
            started = time.perf_counter()
            answer = call(core, outsider, tool, **{parameter: reference, **more})
            spent[number % 2].append((time.perf_counter() - started) * 1000)
            assert answer["error"]["code"] == "not_found"
        rows.append((tool, statistics.median(spent[0]), statistics.median(spent[1])))
    return rows


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--runs", type=int, default=200)
    chosen = parser.parse_args()
    guards = Path(__file__).parents[1] / "data" / "plain_guards.py"
    with tempfile.TemporaryDirectory(prefix="ms-costs-") as folder:
        Path(folder).chmod(0o755)
        environ = {"MEMSCOPE_PLUGINS_FILES": str(guards), "MEMSCOPE_PLUGINS_BLOCKED": "spacy,instructions,admin"}
        with MemScope.from_settings(load(None, environ, data_dir=Path(folder) / "data")) as app:
            core = app.core
            core.embedding.load()
            owner, outsider = found(core)
            tools = changing(core, owner, chosen.runs)
            bare = bare_commit(core, 400)
            print(f"{bare:8.2f} ms  a commit of one row")
            for tool, once in tools.items():
                spent = median_ms(chosen.runs, once)
                print(f"{spent:8.2f} ms  {tool}, {spent / bare:.1f} times that")
            print(f"{bare_commit(core, 400):8.2f} ms  a commit of one row, again")
            hidden = [
                str(call(core, owner, "remember", content=f"Hidden note {number}.", team="team")["memory"]["id"]) for number in range(20)
            ]
            off = False
            for tool, unreadable, unknown in classes(core, outsider, hidden, chosen.calls):
                ratio = unreadable / unknown
                off |= not 0.8 <= ratio <= 1.25
                print(f"{unreadable:8.2f} ms  {tool} about an unreadable id, {unknown:.2f} ms about an unknown one, ratio {ratio:.3f}")
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
