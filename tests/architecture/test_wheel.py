"""The wheel holds everything that the product needs, and works from where it is unpacked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEFT_OUT = {"__pycache__", ".mypy_cache", ".ruff_cache", "node_modules"}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from a copy of the tree, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, source)
    for name in ("memscope", "plugins", "admin"):
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("*.egg-info", *LEFT_OUT))
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder / "dist"), str(source)], check=True, capture_output=True
    )
    (wheel,) = (folder / "dist").glob("memscope-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def test_every_file_of_every_package_is_in_the_wheel(unpacked: Path) -> None:
    folders = {"memscope": ROOT / "memscope"} | {
        path.name: path for path in (*(ROOT / "plugins").iterdir(), *(ROOT / "admin").iterdir()) if path.is_dir()
    }
    missing = [
        f"{name}/{path.relative_to(folder)}"
        for name, folder in folders.items()
        for path in folder.rglob("*")
        if path.is_file() and not LEFT_OUT & set(path.parts) and not (unpacked / name / path.relative_to(folder)).exists()
    ]
    assert missing == []


def test_the_product_runs_from_the_unpacked_wheel(unpacked: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(unpacked), "MEMSCOPE_DATA_DIR": str(tmp_path / "data")}
    code = "import memscope, memscope_postgres; from memscope.cli.main import main; print(memscope.__file__, memscope_postgres.__file__); main(['plugins'])"
    run = subprocess.run([sys.executable, "-c", code], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
    where, *lines = run.stdout.splitlines()
    assert where.split() == [str(unpacked / "memscope" / "__init__.py"), str(unpacked / "memscope_postgres" / "__init__.py")], run.stderr
    for plugin in ("postgres", "inprocess", "minilm", "spacy", "secrets", "instructions", "accounts"):
        assert any(line.split()[:1] == [plugin] and "failed" not in line for line in lines), run.stdout
