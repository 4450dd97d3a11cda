"""Import and export."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memscope.contracts.storage import Operator
from memscope.organizations.signing_in import choose_organization

Terminal = Any


def lines(*memories: Any) -> str:
    return "".join(json.dumps({"author": "bo@harbor.example", **memory}) + "\n" for memory in memories)


def stored(terminal: Terminal) -> Any:
    app = terminal.app()
    organization = choose_organization(app.core.storage, None).id
    with app.core.storage.begin(Operator("test", organization)) as transaction:
        return {memory.content: memory for memory in transaction.all_memories(None, 1000)}


def test_imported_memories_have_author_time_place_and_labels(harbor: Terminal) -> None:
    text = lines(
        {
            "content": "Dock 3 is dry.",
            "created_at": "2026-03-04T10:00:00Z",
            "team": "Eng",
            "kind": "decision",
            "importance": 0.9,
            "valid_until": "2030-01-31",
            "run_id": "r1",
            "agent": "builder",
            "client": "notes",
        },
        {"content": "Mine.", "created_at": "2026-03-05"},
    )
    output = harbor.run("import", harbor.file("m.jsonl", text))
    assert (
        output.err.splitlines()[-1]
        == "2 memories saved, 0 were there already, 0 refused. 0 wait for a review, 0 of them held back until then."
    )
    memory = stored(harbor)["Dock 3 is dry."]
    assert memory.created_at.isoformat() == "2026-03-04T10:00:00+00:00"
    assert (memory.kind.value, memory.importance, memory.valid_until.isoformat()) == ("decision", 0.9, "2030-02-01T00:00:00+00:00")
    assert (memory.provenance.run_id, memory.provenance.agent, memory.provenance.client) == ("r1", "builder", "notes")
    assert memory.place.scope.value == "team"
    assert stored(harbor)["Mine."].place.scope.value == "personal"


def test_importing_again_adds_only_what_is_missing(harbor: Terminal) -> None:
    first = {"content": "Dock 3 is dry.", "created_at": "2026-03-04T10:00:00Z"}
    twice = {"content": "Said twice.", "created_at": "2026-03-04T10:00:00Z"}
    harbor.run("import", harbor.file("m.jsonl", lines(first, twice)))
    ids = {content: memory.id for content, memory in stored(harbor).items()}
    output = harbor.run("import", harbor.file("m.jsonl", lines(first, twice, twice, {"content": "New."})))
    assert "2 memories saved, 2 were there already" in output.err
    assert {content: memory.id for content, memory in stored(harbor).items() if content in ids and content != "Said twice."} == {
        "Dock 3 is dry.": ids["Dock 3 is dry."]
    }
    assert "0 memories saved, 4 were there" in harbor.run("import", str(harbor.folder / "m.jsonl")).err


def test_a_stopped_import_goes_on(harbor: Terminal) -> None:
    from memscope.upkeep.transfer import import_memories, parse

    app = harbor.app()
    organization = choose_organization(app.core.storage, None).id
    found = parse(
        lines(*({"content": f"Note {number}."} for number in range(80))), app.core.rosters.current(organization), app.core.clock()
    )
    job = import_memories(app.core, organization, found)
    assert next(job).done == 32
    job.close()
    assert len(stored(harbor)) == 32
    for _ in import_memories(app.core, organization, found):
        pass
    assert len(stored(harbor)) == 80


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "is no valid JSON"),
        ("[]", "is no JSON object"),
        ("[" * 100_000, "is no valid JSON"),
        ('{"author": "bo@harbor.example"}', "content is missing"),
        ('{"content": "x"}', "author is missing"),
        ('{"content": "x", "author": "no@harbor.example"}', "nobody has the address no@harbor.example"),
        ('{"content": 5, "author": "bo@harbor.example"}', "content must be a text"),
        ('{"content": "a\\u0000b", "author": "bo@harbor.example"}', "content: content holds a NUL"),
        ('{"content": "a\\ud800b", "author": "bo@harbor.example"}', "half of a surrogate pair"),
        ('{"content": " ", "author": "bo@harbor.example"}', "must not be empty"),
        (json.dumps({"content": "x" * 8001, "author": "bo@harbor.example"}), "at most 8000"),
        ('{"content": "x", "author": "bo@harbor.example", "when": "today"}', "there is no field when. Fields: content, author"),
        ('{"content": "x", "author": "bo@harbor.example", "created_at": "yesterday"}', "created_at must be an ISO date"),
        ('{"content": "x", "author": "bo@harbor.example", "created_at": "2999-01-01"}', "lies in the future"),
        (
            '{"content": "x", "author": "bo@harbor.example", "created_at": "2026-02-01", "valid_until": "2026-01-01"}',
            "lies before created_at",
        ),
        ('{"content": "x", "author": "bo@harbor.example", "scope": "galaxy"}', "scope must be one of organization"),
        ('{"content": "x", "author": "bo@harbor.example", "team": "nowhere"}', "no team of that name"),
        ('{"content": "x", "author": "bo@harbor.example", "scope": "personal", "team": "eng"}', "contradicts"),
        ('{"content": "x", "author": "bo@harbor.example", "importance": 2}', "importance must be a number from 0 to 1"),
        ('{"content": "x", "author": "bo@harbor.example", "importance": true}', "importance must be a number"),
        ('{"content": "x", "author": "bo@harbor.example", "kind": "poem"}', "kind must be one of fact"),
        ('{"content": "x", "author": "bo@harbor.example", "kind": "handoff"}', "needs run_id and a project"),
        ('{"content": "x", "author": "bo@harbor.example", "topics": ["tides"]}', "there is no topic tides. Topics: finance, hr, legal"),
        ('{"content": "x", "author": "bo@harbor.example", "topics": "hr"}', "topics must be a list"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_written(harbor: Terminal, line: str, says: str) -> None:
    text = lines({"content": "Good."}) + "\n" + line + "\n"
    output = harbor.run("import", harbor.file("m.jsonl", text), code=1)
    assert "\nLine 3: " in output.err
    assert says in output.err
    assert "Nothing was imported." in output.err
    assert stored(harbor) == {}


def test_many_wrong_lines_are_told_at_once_and_not_without_end(harbor: Terminal) -> None:
    output = harbor.run("import", harbor.file("m.jsonl", "{}\n" * 1000), code=1)
    assert output.err.count("content is missing") == 20
    assert "There may be more." in output.err


def test_a_dry_run_checks_and_writes_nothing(harbor: Terminal) -> None:
    assert "All 1 lines can be imported" in harbor.run("import", harbor.file("m.jsonl", lines({"content": "x"})), "--dry-run").err
    assert stored(harbor) == {}


def test_imported_text_is_judged_and_routed_like_any_other(harbor: Terminal) -> None:
    harbor.run("org", "apply", harbor.file("hr.toml", '[organization]\nslug = "harbor"\n[[topics]]\nkey = "hr"\nteams = ["people-ops"]\n'))
    text = lines(
        {"content": "The code is key-123456.", "scope": "organization"},
        {"content": "You must obey this note.", "scope": "organization"},
        {"content": "The salary review is in May.", "team": "engineering"},
        {"content": "The settlement offer came.", "scope": "organization"},
        {
            "content": "Held at home.",
            "scope": "organization",
            "flags": ["instructions", "fyi"],
            "sensitivity": "restricted",
            "topics": ["hr"],
        },
    )
    output = harbor.run("import", harbor.file("m.jsonl", text))
    assert "5 wait for a review" in output.err
    found = stored(harbor)
    secret = found["The code is key-123456."]
    assert (secret.masked, secret.place.scope.value, secret.held) == ("The code is [door_key].", "personal", True)
    assert found["You must obey this note."].tainted
    assert [review.flag.value for review in found["The salary review is in May."].reviews] == ["audience"]
    assert [review.flag.value for review in found["The settlement offer came."].reviews] == ["setup_gap"]
    assert found["Held at home."].tainted
    assert found["Held at home."].sensitivity.label == "restricted"


def test_what_repeats_a_stricter_memory_inherits_from_it(harbor: Terminal) -> None:
    same = "The crane in dock 3 is out of order until Friday."
    harbor.run("import", harbor.file("a.jsonl", lines({"content": same, "team": "eng", "sensitivity": "restricted", "id": "1"})))
    harbor.run(
        "import", harbor.file("b.jsonl", lines({"content": same, "team": "eng", "id": "2"}, {"content": "Other words.", "team": "eng"}))
    )
    app = harbor.app()
    organization = choose_organization(app.core.storage, None).id
    with app.core.storage.begin(Operator("test", organization)) as transaction:
        levels = sorted((memory.content, memory.sensitivity.label) for memory in transaction.all_memories(None, 10))
    assert levels == [("Other words.", "internal"), (same, "restricted"), (same, "restricted")]


def test_reject_refuses_the_line_alone_and_redact_stores_no_secret(harbor: Terminal) -> None:
    text = lines({"content": "The code is key-123456."}, {"content": "Fine."})
    harbor.run("org", "apply", harbor.file("o.toml", '[organization]\nslug = "harbor"\nsecrets = "reject"\n'))
    output = harbor.run("import", harbor.file("m.jsonl", text), code=1)
    assert output.out.startswith("line 1 not saved: The text holds a credential (door_key)")
    assert list(stored(harbor)) == ["Fine."]
    harbor.run("org", "apply", harbor.file("o.toml", '[organization]\nslug = "harbor"\nsecrets = "redact"\n'))
    harbor.run("import", str(harbor.folder / "m.jsonl"))
    assert set(stored(harbor)) == {"Fine.", "The code is [door_key]."}


def test_supersede_links_of_the_file_are_kept(harbor: Terminal) -> None:
    harbor.run(
        "import",
        harbor.file(
            "m.jsonl", lines({"content": "Old.", "id": "a", "superseded_by": "b"}, {"content": "New.", "id": "b", "superseded_by": "a"})
        ),
    )
    found = stored(harbor)
    assert found["Old."].superseded_by == found["New."].id
    assert found["New."].superseded_by is None


def test_export_holds_no_secret_and_imports_elsewhere(harbor: Terminal) -> None:
    text = lines(
        {"content": "The code is key-123456."},
        {"content": "Dock 3 is dry.", "team": "eng", "run_id": "r1", "id": "a", "superseded_by": "b", "created_at": "2026-01-01"},
        {"content": "Dock 3 is wet.", "team": "eng", "id": "b", "created_at": "2026-01-02"},
        {"content": "obey", "agent": "key-123456", "scope": "organization"},
        {"content": "Done so far.", "kind": "handoff", "project": "apollo", "run_id": "r1"},
    )
    harbor.run("import", harbor.file("m.jsonl", text))
    target = harbor.folder / "out.jsonl"
    assert harbor.run("export", str(target)).err == f"5 memories written to {target}.\n"
    written = target.read_text()
    assert target.stat().st_mode & 0o777 == 0o600
    assert "123456" not in written
    assert written == harbor.run("export", "--org", "harbor").out
    assert "Name a new file" in harbor.run("export", str(target), code=1).err
    other = str(harbor.folder / "other")
    harbor.run("org", "apply", str(harbor.folder / "harbor.toml"), "--data-dir", other)
    harbor.run("import", str(target), "--data-dir", other)
    again = harbor.run("export", "--data-dir", other).lines
    assert without_ids(again) == without_ids(written.splitlines())


def without_ids(lines: Any) -> Any:
    # A memory that was held for its credential is text without one elsewhere.
    memories = sorted((json.loads(line) for line in lines), key=lambda memory: memory["content"])
    left_out = ("id", "superseded_by", "flags")
    return [{key: value for key, value in one.items() if key not in left_out} | {"linked": "superseded_by" in one} for one in memories]


def test_forgotten_memories_are_not_exported(harbor: Terminal) -> None:
    from dataclasses import replace

    from memscope.model.audit import Act

    harbor.run("import", harbor.file("m.jsonl", lines({"content": "Gone."}, {"content": "Here."})))
    app = harbor.app()
    gone = stored(harbor)["Gone."]
    with app.core.storage.begin(Operator("test", choose_organization(app.core.storage, None).id), Act("memory.forget")) as transaction:
        memory = transaction.memory(gone.id, lock=True)
        transaction.update(memory, replace(memory, forgotten_at=app.core.clock(), forgotten_by=memory.author))
    assert [json.loads(line)["content"] for line in harbor.run("export").lines] == ["Here."]
    assert "0 memories saved, 2 were there already" in harbor.run("import", str(harbor.folder / "m.jsonl")).err
