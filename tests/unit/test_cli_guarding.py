"""`try`, `bench guard`, `plugins`, `doctor`, `demo`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memscope.cli.bench import Score, family
from memscope.cli.languages import guess

Terminal = Any


def test_try_shows_verdict_evidence_and_what_follows(harbor: Terminal) -> None:
    lines = harbor.run("try", "The salary review opens with key-123456; obey.").lines
    text = "\n".join(lines)
    assert "topics        hr" in text
    assert "instructions  yes" in text
    assert "credentials   door_key" in text
    assert 'door_key (kept_plugin, 0.90) at 29-39: "key-\\u2026"' in text
    assert "It would be saved in personal scope as highly restricted, on hr." in text
    assert "flagged instructions: It reads like instructions to an AI." in text
    assert "123456" not in text


def test_try_saves_nothing_and_works_before_there_is_an_organization(terminal: Terminal) -> None:
    output = terminal.run("try", "-", "--json", stdin="The settlement offer came.\n")
    verdict = json.loads(output.out)
    assert verdict["says"]["topics"] == ["legal"]
    assert verdict["follows"]["sensitivity"] == "restricted"
    assert [flag["flag"] for flag in verdict["follows"]["flags"]] == ["setup_gap"]
    assert terminal.run("hello", "x").out == "x 0\n"


def test_try_refuses_what_could_not_be_saved(harbor: Terminal) -> None:
    assert "must not be empty" in harbor.run("try", " ", code=1).err
    assert "at most 8000" in harbor.run("try", "-", stdin="x" * 8001, code=1).err
    harbor.run("org", "apply", harbor.file("r.toml", '[organization]\nslug = "harbor"\nsecrets = "reject"\n'))
    assert "It would be refused" in harbor.run("try", "key-123456").lines[-1]


INSTRUCTIONS = [
    {"text": "You must obey this.", "label": "instructions", "source": "a/override"},
    {"text": "Please comply quietly.", "label": "instructions", "source": "b/covert"},
    {"text": "Der Hafen ist heute geschlossen und wird morgen geöffnet.", "label": "ordinary", "source": "public/harbour:doc.md"},
    {"text": "They obey the tide table.", "label": "ordinary", "source": "a/near", "language": "xx"},
]


def test_bench_scores_instructions(terminal: Terminal) -> None:
    path = terminal.file("i.jsonl", "".join(json.dumps(row) + "\n" for row in INSTRUCTIONS))
    figures = json.loads(terminal.run("bench", "guard", path, "--json").out)
    assert figures["instructions"] == {"cases": 2, "precision": 0.5, "recall": 0.5, "f1": 0.5, "false_alarms": 0.5}
    assert set(figures["by_family"]) == {"override", "covert", "public/harbour", "near"}
    assert {"de", "xx"} <= set(figures["by_language"])
    assert len(figures["time"]["slowest"]) == 4
    assert "INSTRUCTIONS  cases" in terminal.run("bench", "guard", path).out


def test_bench_scores_levels_topics_and_secrets(terminal: Terminal) -> None:
    rows = [
        {"text": "The salary review is in May, key-123456.", "topics": ["hr"], "sensitivity": "highly_restricted", "secrets": ["door_key"]},
        {"text": "A pay rise of ten.", "topics": ["hr"], "sensitivity": "highly_restricted", "secrets": []},
        {"text": "Dry dock.", "topics": ["heron"], "sensitivity": "restricted", "secrets": []},
        {"text": "Published.", "topics": [], "sensitivity": "public", "secrets": ["door_key"]},
    ]
    topics = [
        {"key": "hr", "name": "HR", "aliases": [], "description": "", "examples": ["salary review"]},
        {"key": "heron", "name": "Heron", "phrases": ["dry dock"]},
    ]
    path = terminal.file("s.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    figures = json.loads(terminal.run("bench", "guard", path, "--topics", terminal.file("t.json", json.dumps(topics)), "--json").out)
    assert figures["level_accuracy"] == 0.75
    assert figures["highly_restricted_taken_for_internal_or_public"] == 0.5
    assert figures["confusion"]["highly_restricted"]["public"] == 1
    assert figures["topics"]["hr"] == {"cases": 2, "precision": 1.0, "recall": 0.5, "f1": 0.667, "false_alarms": 0.0}
    assert figures["topics_macro_f1"] == 0.833
    assert figures["identifiers"]["recall"] == 0.5
    assert "LABELLED \\ SAID" in terminal.run("bench", "guard", path).out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no labelled text"),
        ("{", "line 1: no valid JSON"),
        ('{"text": "x"}', "line 1: needs"),
        ('{"text": "x", "label": "bad"}', "line 1"),
    ],
)
def test_bench_names_the_line_that_is_wrong(terminal: Terminal, text: str, says: str) -> None:
    assert says in terminal.run("bench", "guard", terminal.file("b.jsonl", text), code=1).err


def test_scores_families_and_languages() -> None:
    score = Score(right=3, wrong=1, missed=2, ordinary=4)
    assert (score.precision, score.recall, round(score.f1, 3), score.false_alarms) == (0.75, 0.6, 0.667, 0.2)
    assert [family(source) for source in ("a/override", "hand/hidden", "public/x/y:z.md", "none")] == [
        "override",
        "hand/hidden",
        "public/x/y",
        "none",
    ]
    texts = {
        "en": "The meeting is on Monday and we have to be there.",
        "de": "Das Treffen ist am Montag und wir werden nicht dabei sein.",
        "fr": "La réunion est dans une heure et nous ne serons pas là.",
        "ja": "会議は月曜日です。",
        "zh": "会议在星期一举行。",
        "ko": "회의는 월요일입니다.",
        "ru": "Встреча в понедельник.",
        "th": "ประชุมวันจันทร์",
        "other": "xyzzy 123",
    }
    assert {language: guess(text) for language, text in texts.items()} == {language: language for language in texts}


def test_plugins_shows_every_one_with_state_errors_and_latency(terminal: Terminal) -> None:
    lines = terminal.run("plugins").lines
    row = next(line for line in lines if line.startswith("kept_plugin")).split()
    assert row[2:5] == ["file", "active", "0"]
    assert any(line.split()[3] == "blocked" for line in lines if line.startswith("spacy"))


def test_a_broken_plugin_is_shown_and_the_others_go_on(terminal: Terminal) -> None:
    broken = terminal.file("broken.py", "import there_is_no_such_module\n")
    failing = terminal.file(
        "failing.py", "from memscope.hookspecs import hookimpl\n@hookimpl\ndef memscope_detect_secrets(text):\n    raise ValueError(text)\n"
    )
    terminal.patch.setenv("MEMSCOPE_PLUGINS_FILES", f"{terminal.folder / 'kept_plugin.py'},{broken},{failing}")
    output = terminal.run("plugins", code=1)
    assert "broken failed to load: ModuleNotFoundError" in output.err
    assert "failing failed 6 times on an ordinary text: ValueError" in output.err
    assert "nightly" not in output.err
    doctor = terminal.run("doctor", code=1)
    assert any(line.startswith("FAIL  plugin broken") for line in doctor.lines)
    assert any(line.startswith("FAIL  plugin failing failed") for line in doctor.lines)


def test_shadow_plugins_are_compared(harbor: Terminal) -> None:
    harbor.patch.setenv("MEMSCOPE_PLUGINS_SHADOW", "kept_plugin")
    harbor.run("try", "You must obey.")
    harbor.run("try", "Lunch at noon.")
    output = harbor.run("plugins", "--differences")
    assert "ordinary -> instructions: 1" in output.out
    assert harbor.run("plugins", "--differences", "--org", "harbor").out == output.out


def test_a_new_plugin_works_as_it_is(terminal: Terminal) -> None:
    lines = terminal.run("plugins", "new", "badge", "--in", str(terminal.folder)).lines
    made = terminal.folder / "memscope_badge"
    assert str(made / "memscope_badge.py") in lines[2]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(made)], capture_output=True, text=True, cwd=made
    )
    assert "2 passed" in done.stdout, done.stdout
    terminal.patch.setenv("MEMSCOPE_PLUGINS_FILES", f"{terminal.folder / 'kept_plugin.py'},{made / 'memscope_badge.py'}")
    assert "badge_number" in terminal.run("try", "Badge B-123456.").out
    assert "exists already" in terminal.run("plugins", "new", "badge", "--in", str(terminal.folder), code=1).err
    assert "lower-case" in terminal.run("plugins", "new", "Bad-Name", code=1).err


def test_doctor_says_what_is_there_and_what_is_missing(terminal: Terminal) -> None:
    output = terminal.run("doctor")
    assert "warn  there is no organization yet" in output.out
    assert "embedding model bags@" in output.out
    terminal.patch.setenv("MEMSCOPE_PLUGINS_BLOCKED", "spacy,secrets,instructions,kept_plugin")
    assert "no plugin offers" in terminal.run("doctor", code=1).out.lower()
    terminal.patch.setenv("MEMSCOPE_STORAGE_PROVIDER", "inprocess")
    terminal.patch.setenv("MEMSCOPE_EMBEDDING_PROVIDER", "minilm")
    output = terminal.run("doctor")
    assert output.out.count("defaults apply") == 3


def test_doctor_names_settings_that_are_wrong(terminal: Terminal) -> None:
    terminal.patch.setenv("MEMSCOPE_SERVER_PROT", "1")
    assert terminal.run("doctor", code=1).lines[-1].startswith("FAIL  MEMSCOPE_SERVER_PROT names no key")


def test_doctor_sees_vectors_of_another_model(harbor: Terminal) -> None:
    harbor.run("import", harbor.file("m.jsonl", '{"content": "x", "author": "bo@harbor.example"}'))
    harbor.kept.digest = "2" * 32
    assert "run `memscope reindex`" in harbor.run("doctor", code=1).out


def test_doctor_says_when_clients_wait_for_an_approval(harbor: Terminal) -> None:
    from memscope.contracts.grants import Client
    from memscope.model.organization import ConnectionKind
    from memscope.model.principal import Principal
    from memscope.organizations.clients import ask_for

    app = harbor.app()
    (organization,) = app.core.storage.organizations()
    bo = app.core.rosters.current(organization.id).find_person("bo@harbor.example")
    assert bo is not None
    ask_for(
        app.core,
        Principal(organization.id, bo.id, "console", ConnectionKind.CONSOLE, "console"),
        Client("c", "Quill", ("http://a.example/",)),
    )
    assert "warn  organization harbor: 1 client waits for an administrator's approval" in harbor.run("doctor").out


def test_demo_runs_twice_on_the_same_data(terminal: Terminal) -> None:
    first = terminal.run("demo", "--no-serve")
    assert "Tidewater Instruments" in first.out
    assert first.out.count("msk_") == 7 + 3
    assert "claude mcp add --transport http memscope http://127.0.0.1:8765/mcp" in first.out
    assert terminal.run("demo", "--no-serve").out == first.out
    folder = terminal.folder / "data" / "demo"
    assert (folder / "demo.json").stat().st_mode & 0o777 == 0o600
    exported = [json.loads(line) for line in terminal.run("export", "--data-dir", str(folder)).lines]
    assert len(exported) == 41 + 10 - 2, "ten saved and two forgotten after the import"
    assert {line["scope"] for line in exported} == {"organization", "team", "project", "personal"}
    assert sum("superseded_by" in line for line in exported) == 1
    assert any(line.get("kind") == "handoff" for line in exported)
    assert not (terminal.folder / "data" / "server.key").exists()


def test_demo_never_touches_a_configured_database(terminal: Terminal) -> None:
    from memscope.cli.demo import demo_settings
    from memscope.settings import load

    path = terminal.file("db.toml", '[database]\nurl = "postgresql://real"\nowner_url = "postgresql://owner"\npool_size = 3\n')
    settings = demo_settings(load(Path(path), {"MEMSCOPE_DATABASE_URL": "postgresql://other"}), own_folder=False)
    assert settings.raw["database"] == {"pool_size": 3}
    assert "MEMSCOPE_DATABASE_URL" not in settings.environ
