"""Embedding by all-MiniLM-L6-v2 (English, 384 dimensions), int8 ONNX inside this package; needs no network and no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memscope.contracts.plugins import Provider, SettingsSection
from memscope.hookspecs import hookimpl

if TYPE_CHECKING:
    from memscope_minilm.embedder import MiniLM


@dataclass(frozen=True, slots=True)
class MiniLMSettings:
    """The section `[minilm]` of the settings."""

    threads: int = 1
    """Threads of one worker that work on one text at once. More than the idle cores makes it slower."""

    def __post_init__(self) -> None:
        """Raise ValueError for a number of threads that makes no sense."""
        if not 1 <= self.threads <= 64:
            raise ValueError(f"minilm.threads must be 1 to 64, not {self.threads}")


def open_minilm(settings: MiniLMSettings | None) -> MiniLM:
    """The embedder, not loaded yet."""
    from memscope_minilm.embedder import MiniLM

    return MiniLM(threads=(settings or MiniLMSettings()).threads)


@hookimpl
def memscope_embedder() -> Provider[MiniLM]:
    """The provider `minilm`."""
    return Provider("minilm", open_minilm, SettingsSection("minilm", MiniLMSettings))
