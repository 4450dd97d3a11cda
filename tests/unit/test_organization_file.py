"""The organization file: strict reading with lines, a readable difference, idempotence, pruning, round trip."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from memscope.contracts.storage import Operator
from memscope.organizations.file import FileError, parse

Terminal = Any

HEAD = '[organization]\nslug = "harbor"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "needs a table [organization]"),
        ("[organization\n", "no valid TOML"),
        ("[organization]\nname = 'x'\n", "Line 1: this entry of organization needs slug"),
        (HEAD + 'colour = "red"\n', "Line 3: organization have no key colour. Keys: slug, name, timezone"),
        (HEAD + '[[persons]]\nemail = "a@b.example"\n', "Line 3: nobody knows the table persons"),
        (
            HEAD + '\n[[people]]\nemail = "a@b.example"\n\n[[people]]\nemail = "b@b.example"\nrol = "admin"\n',
            "Line 9: people have no key rol",
        ),
        (HEAD + '[[people]]\nname = "A"\n', "Line 3: this entry of people needs email"),
        (HEAD + '[[people]]\nemail = "ab.example"\n', "Line 4: email must be an e-mail address"),
        (HEAD + '[[people]]\nemail = "a@b.example"\nrole = "boss"\n', "Line 5: role must be one of guest, member, admin"),
        (
            HEAD + '[[people]]\nemail = "a@b.example"\n[[people]]\nemail = "A@B.example"\n',
            "Line 6: a@b.example stands in people twice, first in line 3",
        ),
        (HEAD + 'timezone = "Mars/Olympus"\n', "Line 3: timezone must be a time zone"),
        (HEAD + 'clients = "nobody"\n', "Line 3: clients must be one of anybody, ask, listed"),
        (HEAD + "trash_days = 0\n", "Line 3: trash_days must be a whole number from 1"),
        (HEAD + "trash_days = true\n", "Line 3: trash_days"),
        (HEAD + 'name = "a\\u0000b"\n', "Line 3: name holds a NUL"),
        (HEAD + '[[teams]]\nslug = "Big Team"\n', "Line 4: slug must be lower-case"),
        (HEAD + '[[teams]]\nslug = "t"\nmembers = "a@b.example"\n', "Line 5: members must be a list"),
        (HEAD + '[teams]\nslug = "t"\n', "under a line [[teams]]"),
        (HEAD + f'name = "{"x" * 201}"\n', "Line 3: name is longer than 200"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, says: str) -> None:
    with pytest.raises(FileError) as caught:
        parse(text)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('[[teams]]\nslug = "t"\nmembers = [\n "nobody@harbor.example",\n]\n', "Line 5: nobody has the address nobody@harbor.example"),
        ('[[projects]]\nslug = "p"\nteam = "nowhere"\n', "Line 5: there is no team nowhere"),
        ('[[topics]]\nkey = "hr"\nteams = ["nowhere"]\n', "Line 5: there is no team nowhere"),
        ('[[people]]\nemail = "g@harbor.example"\nrole = "guest"\nclearance = "restricted"\n', "Line 6: a guest never gets above public"),
        ('[[people]]\nemail = "g@harbor.example"\npassword = "short"\n', "Line 5: A password has"),
        ('[[teams]]\nslug = "t"\naliases = ["eng"]\n', "both go by eng"),
    ],
)
def test_names_that_lead_nowhere_change_nothing(harbor: Terminal, more: str, says: str) -> None:
    before = harbor.run("org", "export").out
    output = harbor.run("org", "apply", harbor.file("wrong.toml", HEAD + more), code=1)
    assert says in output.err
    assert harbor.run("org", "export").out == before


def test_applying_twice_changes_nothing(harbor: Terminal) -> None:
    output = harbor.run("org", "apply", str(harbor.folder / "harbor.toml"))
    assert output.out == ""
    assert "nothing to change" in output.err
    assert harbor.run("audit", "verify").out == "harbor: 1 rows, whole\n"


def test_a_dry_run_says_what_would_change_and_changes_nothing(harbor: Terminal) -> None:
    before = harbor.run("org", "export").out
    path = harbor.file(
        "next.toml",
        HEAD
        + 'trash_days = 7\n[[people]]\nemail = "new@harbor.example"\n[[people]]\nemail = "bo@harbor.example"\nclearance = "restricted"\n'
        + '[[teams]]\nslug = "engineering"\nowners = ["bo@harbor.example"]\nmembers = ["new@harbor.example"]\n'
        + '[[topics]]\nkey = "hr"\nteams = ["people-ops"]\n[[topics]]\nkey = "heron"\nphrases = ["dry dock"]\n',
    )
    lines = harbor.run("org", "apply", path, "--dry-run").lines
    assert lines == [
        "~ organization harbor: trash_days 30 → 7",
        "+ person new@harbor.example",
        "~ person bo@harbor.example: clearance none → restricted",
        "- ada@harbor.example from engineering",
        "~ bo@harbor.example in engineering: owner",
        "+ new@harbor.example in engineering: member",
        "~ topic hr: teams [0] → [1], guarding False → True",
        "+ topic heron",
    ]
    assert harbor.run("org", "export").out == before
    assert harbor.run("org", "apply", path).lines == lines
    assert harbor.run("org", "apply", path).lines == []


def test_an_omitted_key_or_entry_stays_and_a_given_list_is_the_whole_list(harbor: Terminal) -> None:
    harbor.run("org", "apply", harbor.file("a.toml", HEAD + '[[teams]]\nslug = "engineering"\nmembers = []\n'))
    exported = tomllib.loads(harbor.run("org", "export").out)
    engineering = next(team for team in exported["teams"] if team["slug"] == "engineering")
    assert (engineering["members"], engineering["owners"], engineering["aliases"]) == ([], ["ada@harbor.example"], ["eng"])
    assert len(exported["people"]) == 3


def test_export_and_apply_are_a_round_trip(harbor: Terminal) -> None:
    harbor.run("org", "apply", harbor.file("a.toml", HEAD + '[[topics]]\nkey = "heron"\nphrases = ["dry dock"]\nteams = ["people-ops"]\n'))
    exported = harbor.run("org", "export").out
    assert "password" not in exported
    copy = harbor.file("copy.toml", exported)
    assert harbor.run("org", "apply", copy).lines == []
    other = str(harbor.folder / "other")
    harbor.run("org", "apply", copy, "--data-dir", other)
    assert harbor.run("org", "export", "--data-dir", other).out == exported


def test_the_rule_for_clients_is_part_of_the_file(harbor: Terminal) -> None:
    assert tomllib.loads(harbor.run("org", "export").out)["organization"]["clients"] == "anybody"
    path = harbor.file("a.toml", HEAD + 'clients = "ask"\n')
    told = ["~ organization harbor: clients anybody → ask"]
    assert harbor.run("org", "apply", path, "--dry-run").lines == told
    assert tomllib.loads(harbor.run("org", "export").out)["organization"]["clients"] == "anybody"
    assert harbor.run("org", "apply", path).lines == told
    assert harbor.run("org", "apply", path).lines == []
    exported = harbor.run("org", "export").out
    assert 'clients = "ask"' in exported
    assert harbor.run("org", "apply", harbor.file("b.toml", HEAD)).lines == [], "left out, it stays"
    other = str(harbor.folder / "other")
    harbor.run("org", "apply", harbor.file("copy.toml", exported), "--data-dir", other)
    assert harbor.run("org", "export", "--data-dir", other).out == exported
    app = harbor.app()
    (organization,) = app.core.storage.organizations()
    with app.core.storage.begin(Operator("test", organization.id)) as transaction:
        last = transaction.audit_rows(0, 100)[-1].act
    assert (last.action, last.detail["clients"], last.detail["changes"]) == ("organization.apply", "ask", 1)


def test_prune_disables_people_and_removes_groups_and_added_topics(harbor: Terminal) -> None:
    harbor.run("org", "apply", harbor.file("a.toml", HEAD + '[[topics]]\nkey = "heron"\n'))
    path = harbor.file("b.toml", HEAD + '[[people]]\nemail = "ada@harbor.example"\n[[teams]]\nslug = "engineering"\n')
    lines = harbor.run("org", "apply", path, "--prune").lines
    assert lines == [
        "- person bo@harbor.example: disabled",
        "- person di@harbor.example: disabled",
        "- project apollo",
        "- team people-ops",
        "- topic heron",
    ]
    exported = tomllib.loads(harbor.run("org", "export").out)
    assert [person["active"] for person in exported["people"]] == [True, False, False]
    assert [topic["key"] for topic in exported["topics"]] == ["finance", "hr", "legal"]
    assert harbor.run("org", "apply", path, "--prune").lines == []


def test_prune_refuses_a_group_with_memories_and_changes_nothing(harbor: Terminal) -> None:
    harbor.run("import", harbor.file("m.jsonl", '{"content": "Dock 3 is dry.", "author": "bo@harbor.example", "project": "apollo"}\n'))
    before = harbor.run("org", "export").out
    output = harbor.run("org", "apply", harbor.file("b.toml", HEAD + '[[people]]\nemail = "ada@harbor.example"\n'), "--prune", code=1)
    assert "1 memor" in output.err
    assert harbor.run("org", "export").out == before


def test_an_initial_password_is_initial(harbor: Terminal) -> None:
    again = harbor.file("p.toml", HEAD + '[[people]]\nemail = "ada@harbor.example"\npassword = "quite another one"\n')
    assert harbor.run("org", "apply", again).out == ""
    given = harbor.file("q.toml", HEAD + '[[people]]\nemail = "bo@harbor.example"\npassword = "the first one here"\n')
    assert harbor.run("org", "apply", given).lines == ["+ password of bo@harbor.example"]


def test_standard_input_and_files_that_cannot_be_read(terminal: Terminal) -> None:
    terminal.run("org", "apply", "-", stdin=HEAD)
    assert 'slug = "harbor"' in terminal.run("org", "export").out
    assert "cannot be read" in terminal.run("org", "apply", "/nowhere.toml", code=1).err
    path = terminal.folder / "latin.toml"
    path.write_bytes('[organization]\nslug = "x"\nname = "Mü"'.encode("latin-1"))
    assert "no UTF-8" in terminal.run("org", "apply", str(path), code=1).err


def test_two_organizations_are_told_apart(harbor: Terminal) -> None:
    harbor.run("org", "apply", harbor.file("two.toml", '[organization]\nslug = "pier"\n'))
    assert "Name the organization with --org. There are: harbor, pier." in harbor.run("org", "export", code=1).err
    assert 'slug = "pier"' in harbor.run("org", "export", "--org", "pier").out
    assert "There is no organization quay" in harbor.run("org", "export", "--org", "quay", code=1).err
