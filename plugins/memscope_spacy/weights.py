"""The trained weights that the package ships, read once: numbers in `model.npz`, word pieces and settings in `model.json`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

HEADS = ("hr", "legal", "finance", "public", "internal", "restricted", "highly_restricted")
"""What every member of the ensemble scores: the built-in topics, then the levels in their order."""
TOPICS = HEADS[:3]
LEVELS = HEADS[3:]


@dataclass(frozen=True, slots=True)
class Weights:
    """Arrays by name, settings by name, and the pieces with their tokenizer scores."""

    arrays: dict[str, NDArray[Any]]
    settings: dict[str, Any]
    pieces: list[str]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]


def write(folder: Path, arrays: dict[str, NDArray[Any]], settings: dict[str, Any], pieces: list[str]) -> None:
    """Write both files; large tables become 8-bit numbers with one scale a column, codes stay, everything else is half precision."""
    import numpy as np

    stored: dict[str, NDArray[Any]] = {}
    for name, values in sorted(arrays.items()):
        if values.dtype == np.uint8:
            stored[name] = values
        elif values.ndim == 2 and values.shape[0] > 4096:
            scale = np.abs(values).max(axis=0) / 127 + 1e-12
            stored[name] = np.round(values / scale).astype(np.int8)
            stored[name + ".scale"] = scale.astype(np.float32)
        else:
            stored[name] = values.astype(np.float32 if values.size < 4096 else np.float16)
    stored["pieces"] = np.frombuffer("\n".join(pieces).encode(), dtype=np.uint8)
    np.savez_compressed(folder / "model.npz", **stored)  # type: ignore[arg-type]
    settings = {**settings, "digest": digest(stored)}
    (folder / "model.json").write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def digest(stored: Mapping[str, NDArray[Any]]) -> str:
    """SHA-256 of stored arrays: names, kinds, shapes and numbers. Two trainings that agree in it made the same weights."""
    total = hashlib.sha256()
    for name in sorted(stored):
        values = stored[name]
        total.update(f"{name} {values.dtype.str} {values.shape}\n".encode())
        total.update(values.tobytes())
    return total.hexdigest()


def read(folder: Path) -> Weights:
    """Read what `write` wrote."""
    import numpy as np

    arrays: dict[str, NDArray[Any]] = {}
    with np.load(folder / "model.npz", allow_pickle=False) as stored:
        names = set(stored.files)
        for name in names - {"pieces"}:
            if name.endswith(".scale"):
                continue
            values = stored[name]
            if values.dtype != np.uint8:
                values = values.astype(np.float32)
            arrays[name] = values * stored[name + ".scale"] if name + ".scale" in names else values
        pieces = bytes(stored["pieces"]).decode().split("\n")
    settings = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    return Weights(arrays, settings, pieces)


@cache
def shipped() -> Weights:
    """The weights inside the package."""
    return read(Path(__file__).parent)
