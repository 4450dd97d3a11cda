"""A terminal: commands run as a person would type them, in this process, on storage that lasts from one to the next.

Storage in memory, a small embedder and small guarding plugins come from a one-file plugin, as anybody could write it.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from memscope.app import MemScope
from memscope.cli.main import main
from memscope.settings import load

PLUGIN = r'''
import re, sys, types, zlib

import numpy as np

from memscope.contracts.embedding import EmbeddingModel
from memscope.contracts.instructions import InstructionVerdict, Reason
from memscope.contracts.plugins import Command, Provider
from memscope.contracts.secrets import SecretFinding
from memscope.contracts.sensitivity import SensitivityVerdict, TopicMatch
from memscope.hookspecs import hookimpl
from memscope.model.audience import Sensitivity
from memscope_inprocess.storage import InProcessStorage

kept = sys.modules["memscope_kept"]


class Bags:
    """Words, hashed into 64 dimensions."""

    name = "bags"

    def __init__(self):
        self.model = EmbeddingModel("bags", kept.digest, 64)
        self.ready = False

    def load(self):
        self.ready = True

    def passages(self, text):
        return [text]

    def embed_passages(self, texts):
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text):
        vector = np.zeros(64, np.float32)
        for word in text.lower().split():
            vector[zlib.crc32(word.encode()) % 64] += 1
        return vector / max(1e-6, float(np.linalg.norm(vector)))

    def close(self):
        pass


@hookimpl
def memscope_storage():
    return Provider("kept", lambda section, host: kept.storages.setdefault(host.data_dir, InProcessStorage()))


@hookimpl
def memscope_embedder():
    return Provider("bags", lambda section: Bags())


@hookimpl
def memscope_detect_secrets(text):
    return [
        SecretFinding("door_key", match.start(), match.end(), 0.9, Sensitivity.HIGHLY_RESTRICTED, True, "key-…")
        for match in re.finditer(kept.key, text)
    ]


@hookimpl
def memscope_classify_sensitivity(text, context):
    topics = [t.key for t in context.topics if any(phrase.lower() in text.lower() for phrase in t.phrases)]
    return SensitivityVerdict(Sensitivity.PUBLIC, 0.9, tuple(TopicMatch(key, 0.9) for key in topics))


@hookimpl
def memscope_detect_instructions(text, context):
    return InstructionVerdict("obey" in text, 0.9 if "obey" in text else 0.1, (Reason("override", 0.9, 0, 4, text[:4]),))


@hookimpl
def memscope_commands():
    def run(arguments, context):
        with context.opened() as app:
            print(arguments.greeting, len(app.core.storage.organizations()))
        return 0

    return [Command("hello", "greet", lambda parser: parser.add_argument("greeting"), run)]
'''

HARBOR = """
[organization]
slug = "harbor"
name = "Harbor"

[[people]]
email = "ada@harbor.example"
name = "Ada"
role = "admin"
password = "ada's long password"

[[people]]
email = "bo@harbor.example"
name = "Bo"

[[people]]
email = "di@harbor.example"
name = "Di"

[[teams]]
slug = "engineering"
aliases = ["eng"]
owners = ["ada@harbor.example"]
members = ["bo@harbor.example"]

[[teams]]
slug = "people-ops"
owners = ["di@harbor.example"]

[[projects]]
slug = "apollo"
team = "engineering"
members = ["bo@harbor.example", "di@harbor.example"]
"""


@dataclass(frozen=True)
class Output:
    """What a command left on the terminal."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Of standard output."""
        return self.out.splitlines()


@dataclass
class Terminal:
    """Runs commands."""

    folder: Path
    kept: Any
    capture: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch

    def run(self, *arguments: str, stdin: str = "", code: int = 0) -> Output:
        """Run `memscope` with these arguments, expecting an exit code."""
        self.capture.readouterr()
        self.patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        found = main(arguments)
        captured = self.capture.readouterr()
        output = Output(found, captured.out, captured.err)
        assert found == code, output
        assert "Traceback" not in output.err
        return output

    def file(self, name: str, text: str) -> str:
        """A file with this text; its path."""
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def app(self) -> MemScope:
        """The MemScope that the commands work on."""
        return MemScope.from_settings(load()).open()


@pytest.fixture
def terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal whose settings name a fresh storage."""
    kept: Any = ModuleType("memscope_kept")
    kept.storages, kept.digest, kept.key = {}, "1" * 32, r"key-[0-9]{6}"
    monkeypatch.setitem(sys.modules, "memscope_kept", kept)
    plugin = tmp_path / "kept_plugin.py"
    plugin.write_text(PLUGIN)
    settings = tmp_path / "settings.toml"
    settings.write_text(
        f"""
        data_dir = "{tmp_path / "data"}"
        [storage]
        provider = "kept"
        [embedding]
        provider = "bags"
        [accounts]
        time_cost = 1
        memory_kib = 64
        [plugins]
        files = ["{plugin}"]
        blocked = ["secrets", "spacy", "instructions", "admin"]
        """
    )
    for variable in ("MEMSCOPE_DATA_DIR", "MEMSCOPE_DATABASE_URL", "MEMSCOPE_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("MEMSCOPE_CONFIG", str(settings))
    return Terminal(tmp_path, kept, capsys, monkeypatch)


@pytest.fixture
def harbor(terminal: Terminal) -> Terminal:
    """The terminal after `org apply` of a small organization."""
    terminal.run("org", "apply", terminal.file("harbor.toml", HARBOR))
    return terminal
