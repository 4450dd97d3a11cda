"""`memscope demo`"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from datetime import timedelta
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memscope.cli.context import Context, follow, note, say, table
from memscope.cli.serve import add_server_options, server_settings

if TYPE_CHECKING:
    from memscope.app import MemScope
    from memscope.model.organization import Organization
    from memscope.settings import Settings

ORGANIZATION = "tidewater"
CLIENT = "demo"
CREDENTIALS = "demo.json"
"""Password and tokens of the sample people, in the data folder, so that a second run knows them still."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Where to listen."""
    parser.description = (
        "Load a sample organization with people, teams, guarded topics, some fifty memories and a filled review queue into a data folder of its own, print\n"
        "how to sign in as each of its people and how to connect an agent, and serve. Running it again goes on with the same data."
    )
    add_server_options(parser)
    parser.add_argument("--no-serve", action="store_true", help="only load and print")


def run(arguments: argparse.Namespace, context: Context) -> int:
    """Load, print, serve."""
    from memscope.serving.workers import serve

    settings = server_settings(arguments, demo_settings(context.settings, own_folder=context.data_dir is not None))
    with context.opened(settings, any_model=False) as app:
        credentials = load(app)
        if arguments.no_serve:
            show(app, credentials, f"http://{settings.server.host}:{settings.server.port}")
    if arguments.no_serve:
        return 0
    return serve(settings, lambda app, address: show(app, credentials, settings.server.public_url or address))


def demo_settings(settings: Settings, *, own_folder: bool) -> Settings:
    """The settings on an embedded database of the demo's own, whatever database they name.

    `own_folder`: the data folder was given for this; else it is `demo` inside the usual one.
    """
    raw: dict[str, Any] = {name: dict(section) for name, section in settings.raw.items()}
    for key in ("url", "owner_url"):
        raw.get("database", {}).pop(key, None)
    environ = {
        name: value for name, value in settings.environ.items() if name not in ("MEMSCOPE_DATABASE_URL", "MEMSCOPE_DATABASE_OWNER_URL")
    }
    folder = settings.data_dir if own_folder else settings.data_dir / "demo"
    return replace(settings, data_dir=folder, raw=raw, environ=environ)


def load(app: MemScope) -> dict[str, Any]:
    """Make the sample organization unless it is there; returns its password and tokens (e-mail → token)."""
    from memscope.cli.demo_life import live
    from memscope.organizations.apply import apply
    from memscope.organizations.connections import create_token
    from memscope.organizations.file import parse
    from memscope.organizations.passwords import generated_password, reset_password

    core = app.core
    apply(core, app.identities.passwords, parse(_packaged("demo_organization.toml")))
    organization = _sample(app)
    import_sample(app, organization)
    live(app, organization, _packaged("demo_memories.jsonl"))
    path = core.settings.data_dir / CREDENTIALS
    if path.exists():
        known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return known
    people = sorted(core.rosters.current(organization.id).people.values(), key=lambda person: person.email)
    made: dict[str, Any] = {"password": generated_password(), "tokens": {}}
    for person in people:
        reset_password(core, app.identities.passwords, organization.id, person, made["password"])
        made["tokens"][person.email] = create_token(core, app.identities.tokens, organization.id, person.id, CLIENT)[1]
    _write_secret(path, json.dumps(made, indent=1))
    return made


def import_sample(app: MemScope, organization: Organization) -> None:
    """Import the sample memories, dated back from the day of the first run."""
    from memscope.upkeep.transfer import import_memories, parse

    core = app.core
    records = core.storage.records("demo")
    first = records.change(organization.id, "first", lambda known: known or {"day": core.clock().date().isoformat()})
    assert first is not None
    lines = _dated(_packaged("demo_memories.jsonl"), first["day"])
    roster = core.rosters.current(organization.id)
    follow(import_memories(core, organization.id, parse(lines, roster, core.clock())))


def _dated(text: str, day: str) -> str:
    from datetime import UTC, datetime

    start = datetime.fromisoformat(day).replace(tzinfo=UTC)
    dated: list[str] = []
    for line in text.splitlines():
        values = json.loads(line)
        created_at = start - timedelta(days=values.pop("days_ago")) + timedelta(hours=9, minutes=len(dated) * 7)
        values["created_at"] = created_at.isoformat()
        if (days := values.pop("valid_in_days", None)) is not None:
            values["valid_until"] = (start + timedelta(days=days)).isoformat()
        dated.append(json.dumps(values))
    return "\n".join(dated)


def show(app: MemScope, credentials: dict[str, Any], url: str) -> None:
    """Print who there is and how to connect."""
    from memscope.organizations.client_lines import lines

    roster = app.core.rosters.current(_sample(app).id)
    rows = []
    for email, token in credentials["tokens"].items():
        person = roster.find_person(email)
        if person is not None:
            groups = ", ".join(
                f"{group.slug}{'*' if group.id in roster.readers[person.id].owns else ''}" for group in roster.groups_of(person.id)
            )
            rows.append((person.name, email, person.role.value, groups or "-", token))
    say(f"{roster.organization.name} ({roster.organization.slug}); * owns the group; everybody's password is {credentials['password']}")
    say()
    for line in table(rows, head=("PERSON", "E-MAIL", "ROLE", "GROUPS", "ACCESS TOKEN")):
        say(line)
    say()
    say("Connect an agent as Marek, and then as Amara, and ask both what they know about salaries:")
    say()
    for client in ("claude-code", "codex", "gemini"):
        for line in lines(client, url, credentials["tokens"]["marek@tidewater.example"]):
            say(f"  {line}")
    say()
    note(f"MemScope serves {url}/mcp and {url}/admin/. Ctrl-C stops it; `memscope client-config CLIENT` knows more clients.")


def _sample(app: MemScope) -> Organization:
    return next(organization for organization in app.core.storage.organizations() if organization.slug == ORGANIZATION)


def _packaged(name: str) -> str:
    return resources.files("memscope.cli").joinpath(name).read_text(encoding="utf-8")


def _write_secret(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
