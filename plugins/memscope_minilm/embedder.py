"""The embedder: tokenizer, cutting into passages, and the network."""

from __future__ import annotations

import hashlib
import json
import threading
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memscope.contracts.embedding import EmbeddingModel, Vectors
from memscope_minilm.passages import cut

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

#: Tokens of a passage. Less than the model's 256, so that a line saying who and when fits before it.
PASSAGE_TOKENS = 200

#: The token that stands for anything that the model has none for.
UNKNOWN = 100


class DamagedModel(RuntimeError):
    """A model file of this package is missing or is not the one that the package was built with."""


class MiniLM:
    """A `memscope.contracts.embedding.Embedder`. Thread-safe."""

    name = "minilm"

    def __init__(self, threads: int = 1, folder: Path | None = None) -> None:
        """`threads` work on one text at once; `folder` holds the model files (default: those of this package)."""
        self._folder = folder or Path(__file__).parent
        self._threads = threads
        self._card: dict[str, Any] = json.loads((self._folder / "MODEL.json").read_text(encoding="utf-8"))
        self._lock = threading.Lock()
        self._tokenizer: Tokenizer | None = None
        self._session: InferenceSession | None = None

    @property
    def model(self) -> EmbeddingModel:
        """The model's identity, from `MODEL.json`."""
        return EmbeddingModel(self._card["name"], self._card["digest"], self._card["dimensions"])

    @property
    def ready(self) -> bool:
        """Whether the network is loaded."""
        return self._session is not None

    def load(self) -> None:
        """Load tokenizer and network. Raises DamagedModel when a file is not the one that `MODEL.json` describes."""
        self._loaded()

    def close(self) -> None:
        """Let the network go; a later call would load it again."""
        with self._lock:
            self._session = self._tokenizer = None

    def passages(self, text: str) -> list[str]:
        """Cut at ends of paragraphs, sentences or words into passages of at most `PASSAGE_TOKENS` tokens; joined they are the text.

        Needs the tokenizer alone, which loads in some milliseconds.
        """
        with self._lock:
            tokenizer = self._load_tokenizer()
        return cut(text, tokenizer.encode(text, add_special_tokens=False).offsets, PASSAGE_TOKENS)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One unit vector a text; tokens past the model's window are not seen.

        Texts run one by one: a vector then depends on nothing but its text (int8 scales are taken over a batch), and
        on a CPU batches are no faster. What the model has no tokens for (Thai, rare Chinese characters, emoji) counts by
        its spelling: to the model alone all such texts are the same.
        """
        tokenizer, session = self._loaded()
        vectors: Vectors = np.empty((len(texts), self._card["dimensions"]), np.float32)
        for row, text in enumerate(texts):
            encoding = tokenizer.encode(text)
            ids = encoding.ids
            limit = self._card["max_tokens"]
            if len(ids) > limit:
                ids = [*ids[: limit - 1], ids[-1]]
            tokens = np.array([ids], np.int64)
            vectors[row] = session.run(None, {"input_ids": tokens, "attention_mask": np.ones_like(tokens)})[0][0]
            unknown = [text[slice(*encoding.offsets[place])] for place, token in enumerate(ids) if token == UNKNOWN]
            if unknown:
                share = len(unknown) / (len(ids) - 2)
                vectors[row] = (1 - share) ** 0.5 * vectors[row] + share**0.5 * spelling_vector(unknown, vectors.shape[1])
        # int8 sums round: make the length exactly one
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """The unit vector of a question; the model makes no difference between questions and passages."""
        vector: Vectors = self.embed_passages([text])[0]
        return vector

    def _loaded(self) -> tuple[Tokenizer, InferenceSession]:
        tokenizer, session = self._tokenizer, self._session
        if tokenizer is not None and session is not None:
            return tokenizer, session
        with self._lock:
            tokenizer = self._load_tokenizer()
            if self._session is None:
                self._session = self._load_session()
            return tokenizer, self._session

    def _load_tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        if self._tokenizer is None:
            tokenizer = Tokenizer.from_buffer(self._checked("tokenizer.json", "tokenizer_digest"))
            # "[SEP]" typed by somebody is text, not the end of it
            tokenizer.encode_special_tokens = True
            self._tokenizer = tokenizer
        return self._tokenizer

    def _load_session(self) -> InferenceSession:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        # threads that wait by spinning would take the cores that the server's other threads need
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return onnxruntime.InferenceSession(self._checked("model.onnx", "digest"), options, providers=["CPUExecutionProvider"])

    def _checked(self, file: str, digest: str) -> bytes:
        path = self._folder / file
        try:
            content = path.read_bytes()
        except OSError as error:
            raise DamagedModel(f"{path} cannot be read: {error.strerror}; install memscope again") from error
        found = hashlib.sha256(content).hexdigest()
        if found != self._card[digest]:
            raise DamagedModel(f"{path} is damaged: sha256 {found}, expected {self._card[digest]}; install memscope again")
        return content


def spelling_vector(pieces: Sequence[str], dimensions: int) -> Vectors:
    """A unit vector of the pieces' characters and pairs of characters: near for like spellings, else near a right angle."""
    vector: Vectors = np.zeros(dimensions, np.float32)
    for piece in pieces:
        for feature in (*piece, *map("".join, zip(piece, piece[1:], strict=False))):
            # a fixed hash (the same in every process) chooses a dimension and a sign
            code = zlib.crc32(feature.encode("utf-8", "surrogatepass"))
            vector[(code >> 1) % dimensions] += 1 if code & 1 else -1
    if not vector.any():
        vector[0] = 1
    unit: Vectors = vector / np.linalg.norm(vector)
    return unit
