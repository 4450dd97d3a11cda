"""Purge, reindex, reclassify, and what the runner does by itself."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memscope.app import MemScope
from memscope.contracts.storage import Operator
from memscope.model.audit import Act
from memscope.organizations.signing_in import choose_organization
from memscope.settings import load
from memscope.upkeep.reclassify import reclassify
from memscope.upkeep.reindex import reindex
from memscope.upkeep.runner import run_due

Terminal = Any


def save(terminal: Terminal, *memories: Any) -> None:
    text = "".join(json.dumps({"author": "bo@harbor.example", **memory}) + "\n" for memory in memories)
    terminal.run("import", terminal.file("m.jsonl", text))


def organization(app: MemScope) -> Any:
    return choose_organization(app.core.storage, None).id


def operator(app: MemScope) -> Any:
    return Operator("test", organization(app))


def stored(terminal: Terminal) -> Any:
    app = terminal.app()
    with app.core.storage.begin(operator(app)) as transaction:
        return {memory.content: memory for memory in transaction.all_memories(None, 1000)}


def change(terminal: Terminal, content: str, **values: Any) -> None:
    app = terminal.app()
    before = stored(terminal)[content]
    after = replace(before, **values)
    app.core.storage.intern(organization(app), after.audience)
    with app.core.storage.begin(operator(app), Act("memory.test")) as transaction:
        transaction.memory(before.id, lock=True)
        transaction.update(before, after)


def forget(terminal: Terminal, content: str, days: float) -> None:
    app = terminal.app()
    change(terminal, content, forgotten_at=app.core.clock() - timedelta(days=days), forgotten_by=stored(terminal)[content].author)


def audit(terminal: Terminal) -> Any:
    app = terminal.app()
    with app.core.storage.begin(operator(app)) as transaction:
        return [row.act for row in transaction.audit_rows(0, 1000)]


def finish(job: Any) -> Any:
    while True:
        try:
            next(job)
        except StopIteration as end:
            return end.value


# purge


def test_purge_erases_what_is_due_and_leaves_a_receipt_of_counts(harbor: Terminal) -> None:
    save(harbor, {"content": "Old news."}, {"content": "Fresh news."}, {"content": "Kept."})
    forget(harbor, "Old news.", 31)
    forget(harbor, "Fresh news.", 29)
    gone = stored(harbor)["Old news."].id
    assert harbor.run("purge", "--dry-run").out == f"would erase {gone}\n"
    assert len(stored(harbor)) == 3
    output = harbor.run("purge")
    assert output.out == f"erased {gone}\n"
    assert "harbor: 1 memories erased." in output.err
    assert set(stored(harbor)) == {"Fresh news.", "Kept."}
    receipt = audit(harbor)[-1]
    assert (receipt.action, receipt.target) == ("memory.erase", gone)
    assert receipt.detail["versions"] == "1"
    assert "Old news" not in repr(audit(harbor))
    assert harbor.run("purge", "--org", "harbor").out == ""
    assert harbor.run("audit", "verify").out.endswith("whole\n")


def test_purge_keeps_to_each_organization_s_own_days(harbor: Terminal) -> None:
    harbor.run("org", "apply", harbor.file("o.toml", '[organization]\nslug = "harbor"\ntrash_days = 90\n'))
    save(harbor, {"content": "Old news."})
    forget(harbor, "Old news.", 89)
    assert harbor.run("purge").out == ""
    forget(harbor, "Old news.", 91)
    assert harbor.run("purge").out.startswith("erased ")


# reindex and the runner


def lacking(app: MemScope, model: Any) -> Any:
    with app.core.storage.begin(operator(app)) as transaction:
        return len(transaction.unindexed(model, 1000))


def test_another_model_is_refused_until_reindex_made_its_vectors(harbor: Terminal) -> None:
    save(harbor, *({"content": f"Note {number}."} for number in range(70)))
    first = harbor.app().core.embedding.model.identity
    harbor.kept.digest = "2" * 32
    refused = harbor.run("import", str(harbor.folder / "m.jsonl"), code=1)
    assert "memscope reindex" in refused.err
    app = MemScope.from_settings(load()).open(any_model=True)
    second = app.core.embedding.model.identity
    job = reindex(app.core)
    next(job)
    job.close()
    # Stopped half-way: the earlier vectors serve, and what was made stands.
    assert app.core.storage.serving_model() == first
    assert (lacking(app, first), lacking(app, second)) == (0, 6)
    output = harbor.run("reindex")
    assert output.err.splitlines()[-1] == f"6 memories got vectors; {second} serves."
    assert (lacking(app, first), lacking(app, second)) == (70, 0)
    assert "0 memories got vectors" in harbor.run("reindex").err
    harbor.run("import", str(harbor.folder / "m.jsonl"))


def test_the_runner_makes_missing_vectors_once_the_model_is_there(harbor: Terminal) -> None:
    from memscope.memories.indexing import index_entry
    from memscope.model.memory import Version

    save(harbor, {"content": "Saved with a vector."})
    app = harbor.app()
    identity = app.core.embedding.model.identity
    known = stored(harbor)["Saved with a vector."]
    memory = replace(known, id=known.id[:-1] + ("0" if known.id[-1] != "0" else "1"), number=7, content="Saved while loading.")
    with app.core.storage.begin(operator(app), Act("memory.test")) as transaction:
        entry = index_entry(app.core, memory, app.core.rosters.current(organization(app)), None)
        transaction.insert(memory, Version(1, memory.content, None, memory.provenance, memory.created_at, None), entry)
    run_due(app.core)
    assert lacking(app, identity) == 1
    app.core.embedding.load()
    run_due(app.core)
    assert lacking(app, identity) == 0
    rows = len(audit(harbor))
    run_due(app.core)
    assert len(audit(harbor)) == rows


def test_the_runner_purges_every_hour(harbor: Terminal) -> None:
    save(harbor, {"content": "Old news."}, {"content": "Older news."})
    moment = [harbor.app().core.clock()]
    app = MemScope.from_settings(load(), clock=lambda: moment[0]).open()
    forget(harbor, "Old news.", 40)
    run_due(app.core)
    assert set(stored(harbor)) == {"Older news."}
    forget(harbor, "Older news.", 40)
    run_due(app.core)
    assert set(stored(harbor)) == {"Older news."}
    moment[0] += timedelta(hours=1)
    run_due(app.core)
    assert stored(harbor) == {}


# reclassify

HERON = (
    '[organization]\nslug = "harbor"\n[[topics]]\nkey = "heron"\nphrases = ["dry dock"]\nsensitivity = "restricted"\nteams = [{teams}]\n'
)


def topic(terminal: Terminal, *teams: Any) -> Any:
    terminal.run("org", "apply", terminal.file("heron.toml", HERON.format(teams=", ".join(f'"{team}"' for team in teams))))


def test_a_new_topic_reaches_what_is_stored(harbor: Terminal) -> None:
    save(harbor, {"content": "The dry dock is sold.", "project": "apollo"}, {"content": "Lunch at noon.", "project": "apollo"})
    assert harbor.run("reclassify", "--dry-run").out == ""
    topic(harbor, "people-ops")
    before = stored(harbor)
    dry = harbor.run("reclassify", "--dry-run")
    number = before["The dry dock is sold."].number
    assert dry.lines == [f"{number}: internal -> restricted; on heron"]
    assert "2 memories looked at, 1 would be changed." in dry.err
    assert stored(harbor) == before
    assert harbor.run("reclassify").lines == dry.lines
    after = stored(harbor)["The dry dock is sold."]
    assert (after.sensitivity.label, after.version, after.held) == ("restricted", 2, False)
    assert audit(harbor)[-1].action == "memory.reclassify"
    assert audit(harbor)[-1].detail["sensitivity_before"] == "internal"
    assert harbor.run("reclassify").lines == []


def test_it_says_who_loses_reading(harbor: Terminal) -> None:
    harbor.run(
        "org",
        "apply",
        harbor.file(
            "p.toml",
            '[organization]\nslug = "harbor"\n[[projects]]\nslug = "apollo"\nmembers = ["ada@harbor.example", "bo@harbor.example", "di@harbor.example"]\n',
        ),
    )
    save(harbor, {"content": "The dry dock is sold.", "project": "apollo"})
    topic(harbor, "people-ops")
    output = harbor.run("reclassify")
    assert output.lines[0].endswith("; 1 loses reading: ada@harbor.example")
    assert "1 people lose reading of some memory, 0 gain." in output.err


def test_where_nobody_is_left_it_is_flagged_for_the_guard_team(harbor: Terminal) -> None:
    save(harbor, {"content": "The dry dock is sold.", "team": "eng"})
    topic(harbor, "people-ops")
    assert "flagged audience" in harbor.run("reclassify").lines[0]
    review = stored(harbor)["The dry dock is sold."].reviews[0]
    assert review.flag.value == "audience"
    assert review.suggested.scope == "team"


def test_a_topic_without_a_guard_team_is_a_gap(harbor: Terminal) -> None:
    save(harbor, {"content": "The dry dock is sold.", "team": "eng"})
    topic(harbor)
    assert "flagged setup_gap" in harbor.run("reclassify", "--topic", "heron").lines[0]


def test_what_would_add_a_reader_is_held_instead(harbor: Terminal) -> None:
    # Highly restricted in a team: a member is not cleared for it, but would be as a member of the topic's guard team.
    harbor.run(
        "org",
        "apply",
        harbor.file("p.toml", '[organization]\nslug = "harbor"\n[[teams]]\nslug = "people-ops"\nmembers = ["bo@harbor.example"]\n'),
    )
    harbor.run(
        "org",
        "apply",
        harbor.file(
            "q.toml",
            '[organization]\nslug = "harbor"\n[[teams]]\nslug = "engineering"\nmembers = ["bo@harbor.example", "di@harbor.example"]\n',
        ),
    )
    save(harbor, {"content": "The dry dock is sold.", "team": "eng", "sensitivity": "highly_restricted", "author": "ada@harbor.example"})
    topic(harbor, "people-ops")
    output = harbor.run("reclassify")
    assert "flagged audience" in output.lines[0]
    assert "gain" not in output.lines[0]
    assert "Judged again, more people could read it." in stored(harbor)["The dry dock is sold."].reviews[0].reason


def test_it_never_lowers_and_asks_a_person_once(harbor: Terminal) -> None:
    save(harbor, {"content": "Quiet.", "team": "eng", "sensitivity": "restricted"}, {"content": "Mine.", "sensitivity": "restricted"})
    (line,) = harbor.run("reclassify").lines
    assert line.endswith(": flagged fyi")
    after = stored(harbor)["Quiet."]
    assert after.sensitivity.label == "restricted"
    assert after.reviews[0].reason == "Judged again, it would be internal rather than restricted. It was left as it is."
    assert harbor.run("reclassify").lines == []
    change(harbor, "Quiet.", reviews=(), review_state="approved")
    assert harbor.run("reclassify").lines == []


def test_what_a_review_let_through_is_not_flagged_again(harbor: Terminal) -> None:
    save(harbor, {"content": "They obey the tide table.", "team": "eng"})
    assert harbor.run("reclassify").lines == []
    change(harbor, "They obey the tide table.", reviews=(), review_state="approved")
    assert harbor.run("reclassify").lines == []
    change(harbor, "They obey the tide table.", reviews=(), review_state="none")
    assert "flagged instructions" in harbor.run("reclassify").lines[0]
    assert stored(harbor)["They obey the tide table."].tainted


def test_a_credential_found_now_is_masked_and_kept_to_its_author(harbor: Terminal) -> None:
    save(harbor, {"content": "The code is bolt-42.", "team": "eng"})
    harbor.kept.key = r"bolt-[0-9]+"
    assert "holds a credential, kept to its author" in harbor.run("reclassify").lines[0]
    after = stored(harbor)["The code is bolt-42."]
    assert (after.masked, after.place.scope.value, after.sensitivity.label) == ("The code is [door_key].", "personal", "highly_restricted")
    assert after.held
    app = harbor.app()
    with app.core.storage.begin(operator(app)) as transaction:
        newest = transaction.versions(after.id)[0]
    assert newest.open_text == "The code is [door_key]."
    assert harbor.run("reclassify").lines == []


def test_one_topic_looks_at_nothing_else(harbor: Terminal) -> None:
    save(harbor, {"content": "They obey the dry dock bell.", "team": "eng"}, {"content": "salary review at bolt-42", "team": "eng"})
    for content in list(stored(harbor)):
        change(
            harbor,
            content,
            reviews=(),
            review_state="none",
            topics=frozenset(),
            sensitivity=stored(harbor)[content].sensitivity.__class__.INTERNAL,
        )
    topic(harbor)
    harbor.kept.key = r"bolt-[0-9]+"
    (line,) = harbor.run("reclassify", "--topic", "Heron").lines
    assert "on heron" in line
    assert "instructions" not in line
    assert "There is no topic tides." in harbor.run("reclassify", "--topic", "tides", code=1).err


def test_what_a_topic_would_no_longer_guard_waits_for_a_person(harbor: Terminal) -> None:
    topic(harbor, "people-ops")
    save(harbor, {"content": "The dry dock is sold.", "project": "apollo"})
    assert harbor.run("reclassify", "--topic", "heron").lines == []
    harbor.run("org", "apply", harbor.file("lower.toml", HERON.format(teams='"people-ops"').replace("restricted", "internal")))
    (line,) = harbor.run("reclassify", "--topic", "heron").lines
    assert line.endswith(": flagged fyi")
    after = stored(harbor)["The dry dock is sold."]
    assert after.sensitivity.label == "restricted"
    assert "it would be internal rather than restricted" in after.reviews[0].reason
    assert harbor.run("reclassify", "--topic", "heron").lines == []


def test_it_goes_on_where_it_stopped_while_nothing_that_judges_changed(harbor: Terminal) -> None:
    save(harbor, *({"content": f"The dry dock, part {number}.", "team": "eng"} for number in range(120)))
    topic(harbor)
    app = harbor.app()
    job = reclassify(app.core, organization(app))
    assert next(job).done == 50
    job.close()
    again = reclassify(app.core, organization(app))
    assert next(again).done == 100
    again.close()
    topic(harbor, "people-ops")
    assert next(reclassify(app.core, organization(app))).done == 50
    done = finish(reclassify(app.core, organization(app)))
    assert done.looked_at == 120
    assert finish(reclassify(app.core, organization(app))).changed == 0


def test_a_dry_run_neither_follows_nor_moves_the_mark(harbor: Terminal) -> None:
    save(harbor, *({"content": f"Note {number}."} for number in range(60)))
    app = harbor.app()
    next(reclassify(app.core, organization(app)))
    assert finish(reclassify(app.core, organization(app), dry_run=True)).looked_at == 60
    assert next(reclassify(app.core, organization(app))).done == 60


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_storage_in_memory_cannot_be_backed_up(harbor: Terminal, command: str) -> None:
    assert "for tests" in harbor.run(command, str(harbor.folder / "b.dump"), code=1).err
