"""Embedding: text to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

#: Rows of unit-length vectors, float32, shape (texts, dimensions).
Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """What a vector was made with. Vectors of two different models are never compared."""

    name: str
    digest: str
    """Hex digest of the weights: another digest is another model."""
    dimensions: int

    @property
    def identity(self) -> str:
        """The text stored beside each vector."""
        return f"{self.name}@{self.digest[:16]}"


class Embedder(Protocol):
    """A provider of `memscope_embedder`. Thread-safe; loading may be slow and is done by `load`."""

    @property
    def name(self) -> str:
        """The name by which `[embedding] provider` chooses it."""

    @property
    def model(self) -> EmbeddingModel:
        """Known without loading the weights."""

    def load(self) -> None:
        """Load the weights; a second call does nothing. Raises when the model cannot be used here."""

    @property
    def ready(self) -> bool:
        """Whether `load` has finished."""

    def passages(self, text: str) -> Sequence[str]:
        """Cut a text into passages that each fit the model's window, in order; at least one. Nothing is left out."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Vectors of stored texts, shape (len(texts), dimensions), unit length. Loads if need be."""

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question, shape (dimensions,), unit length. Loads if need be."""

    def close(self) -> None:
        """Release what `load` took."""
