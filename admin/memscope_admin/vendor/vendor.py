"""Copies what the console's pages load out of npm packages, at the exact versions of `package-lock.json`.

    python admin/memscope_admin/vendor/vendor.py            copy, and write VENDOR.json
    python admin/memscope_admin/vendor/vendor.py --check    do it elsewhere and compare with what is here

Needs npm; installing or running MemScope does not. npm checks each package against the sum in the lock, which holds no
address of a registry, so any registry serves. Scripts of packages do not run. A new version is locked with

    npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --save-exact NAME@VERSION
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TARGET = HERE.parent / "static" / "vendor"
RECORD = "VENDOR.json"
FILES = {"htmx.org": {"dist/htmx.min.js": "htmx-{version}.min.js"}}
"""Package -> its file -> the name under which it is served. The version in the name lets browsers keep it for good."""
LICENCES = {"htmx.org": ("LICENSE", "LICENSE-htmx.txt")}
_MAP = re.compile(rb"\n?//[#@] sourceMappingURL=[^\n]*\n?|/\*[#@] sourceMappingURL=[^*]*\*/")


def vendor(target: Path) -> None:
    """Fill a folder with the files, their compressed twins, the licences and the record of sums; CalledProcessError where npm refuses."""
    lock: dict[str, Any] = json.loads((HERE / "package-lock.json").read_text())["packages"]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder)
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        record = []
        for package, files in FILES.items():
            found = lock[f"node_modules/{package}"]
            source = Path(folder) / "node_modules" / package
            sums = {}
            for path, pattern in files.items():
                content = _MAP.sub(b"", (source / path).read_bytes())
                name = pattern.format(version=found["version"])
                (target / name).write_bytes(content)
                (target / f"{name}.gz").write_bytes(gzip.compress(content, 9, mtime=0))
                sums[name] = digest(content)
            licence, name = LICENCES[package]
            shutil.copy(source / licence, target / name)
            record.append(
                {
                    "name": package,
                    "version": found["version"],
                    "licence": found["license"],
                    "licence_text": name,
                    "integrity": found["integrity"],
                    "files": sums,
                }
            )
    (target / RECORD).write_text(json.dumps(record, indent=2) + "\n")


def digest(content: bytes) -> str:
    """The sum of a file as browsers and npm write it."""
    return "sha384-" + base64.b64encode(hashlib.sha384(content).digest()).decode()


def differences(one: Path, other: Path) -> list[str]:
    """The names that the two folders do not share alike; compressed files are compared by what they hold."""

    def contents(folder: Path) -> dict[str, bytes]:
        return {
            path.name: gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            for path in folder.iterdir()
            if path.is_file()
        }

    mine, theirs = contents(one), contents(other)
    return sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Copy what the console's pages load out of npm packages.")
    parser.add_argument("--check", action="store_true", help="compare with what is here instead of writing")
    if not parser.parse_args().check:
        shutil.rmtree(TARGET, ignore_errors=True)
        TARGET.mkdir(parents=True)
        vendor(TARGET)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        vendor(Path(folder))
        found = differences(TARGET, Path(folder))
    print(f"Not as npm's packages say: {', '.join(found)}." if found else "As npm's packages say.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
