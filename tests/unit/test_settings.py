"""Settings: one file, each key overridable; anything unknown or wrong stops the start with a message that helps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memscope.errors import StartError
from memscope.keys import Keys, read_server_key
from memscope.settings import load


def test_the_defaults_hold_without_a_file(tmp_path: Path) -> None:
    settings = load(None, {}, data_dir=tmp_path)
    assert (settings.server.host, settings.server.port, settings.storage.provider, settings.limits.calls_per_minute) == (
        "127.0.0.1",
        8765,
        "postgres",
        600,
    )


def test_file_and_environment_and_their_order(tmp_path: Path) -> None:
    file = tmp_path / "memscope.toml"
    file.write_text('data_dir = "/nowhere"\n[server]\nport = 1\nallowed_hosts = ["a"]\n[limits]\ncalls_per_minute = 5\n')
    settings = load(None, {"MEMSCOPE_CONFIG": str(file), "MEMSCOPE_LIMITS_CALLS_PER_MINUTE": "7", "MEMSCOPE_SERVER_ALLOWED_HOSTS": "b, c"})
    assert (settings.server.port, settings.limits.calls_per_minute, settings.server.allowed_hosts) == (1, 7, ["b", "c"])
    assert settings.data_dir == Path("/nowhere")
    assert load(file, {"MEMSCOPE_DATA_DIR": str(tmp_path)}).data_dir == tmp_path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[server]\nprot = 1", r"\[server\] has no key prot. Its keys: host, port"),
        ('[server]\nport = "x"', "must be a whole number"),
        ("[server]\nport = 70000", "port must be 0 to 65535"),
        ("[server]\nport = true", "must be a whole number"),
        ("port = 1", "outside of a section"),
        ("[server\n", "no valid TOML"),
        ('[identity]\nproviders = "accounts"', "must be a list of texts"),
        ("data_dir = 3", "data_dir must be a path"),
        ('[log]\nlevel = "loud"', "debug, info, warning or error"),
    ],
)
def test_a_wrong_file_stops_the_start(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "memscope.toml"
    file.write_text(text)
    with pytest.raises(StartError, match=says):
        load(file, {}, data_dir=tmp_path)


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("MEMSCOPE_SERVER_PROT", "1", "names no key of"),
        ("MEMSCOPE_SERVER_PORT", "many", "whole number"),
        ("MEMSCOPE_SERVER_WORKERS", "0", "workers must be 1 to 64"),
    ],
)
def test_a_wrong_variable_stops_the_start(tmp_path: Path, variable: str, value: str, says: str) -> None:
    with pytest.raises(StartError, match=says):
        load(None, {variable: value}, data_dir=tmp_path)


def test_sections_and_variables_that_nobody_owns_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "memscope.toml"
    file.write_text("[sever]\n")
    with pytest.raises(StartError, match=re.escape("[sever]")):
        load(file, {}, data_dir=tmp_path).refuse_unknown([])
    with pytest.raises(StartError, match="MEMSCOPE_SEVER_PORT"):
        load(None, {"MEMSCOPE_SEVER_PORT": "1"}, data_dir=tmp_path).refuse_unknown([])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="gone.toml"):
        load(tmp_path / "gone.toml", {})


def test_the_server_key_is_made_once_and_private(tmp_path: Path) -> None:
    first = read_server_key(None, tmp_path)
    assert read_server_key(None, tmp_path) == first
    assert (tmp_path / "server.key").stat().st_mode & 0o777 == 0o600
    (tmp_path / "server.key").write_text("short")
    with pytest.raises(StartError, match="damaged"):
        read_server_key(None, tmp_path)


def test_what_is_sealed_opens_with_the_same_key_and_purpose_alone() -> None:
    keys, others = Keys(b"a" * 32), Keys(b"b" * 32)
    sealed = keys.seal("cursor", ["bo", 3])
    assert keys.unseal("cursor", sealed) == ["bo", 3]
    for opener, purpose, text in (
        (others, "cursor", sealed),
        (keys, "ticket", sealed),
        (keys, "cursor", sealed[:-2]),
        (keys, "cursor", "no"),
        (keys, "cursor", ""),
    ):
        with pytest.raises(ValueError, match="not sealed"):
            opener.unseal(purpose, text)
