"""The chosen embedder, loaded in the background: words alone until it is there."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from memscope.contracts.embedding import Embedder, EmbeddingModel, Vectors

log = logging.getLogger(__name__)


class Embedding:
    """Vectors when the model is loaded, None while it is loading or when it failed."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._loading: threading.Thread | None = None
        self._lock = threading.Lock()
        self.failure: str | None = None
        """Why the model cannot be used; None while it can or may yet."""

    @property
    def model(self) -> EmbeddingModel:
        """Known before the weights are loaded."""
        return self._embedder.model

    @property
    def ready(self) -> bool:
        """Whether vectors can be made at once."""
        return self._embedder.ready

    @property
    def state(self) -> str:
        """`ready`, `loading` or `failed`."""
        return "ready" if self.ready else "failed" if self.failure else "loading"

    def load_in_background(self) -> None:
        """Begin loading; returns at once. A second call does nothing."""
        with self._lock:
            if self._loading is None:
                self._loading = threading.Thread(target=self._load, name="embedding-load", daemon=True)
                self._loading.start()

    def load(self) -> None:
        """Load and wait; raises what the embedder raises."""
        self._embedder.load()

    def _load(self) -> None:
        try:
            self._embedder.load()
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"
            log.error("the embedding model cannot be loaded: %s", self.failure)

    def settle(self, seconds: float) -> None:
        """Wait while the model is loading, at most so long."""
        if self._loading is not None:
            self._loading.join(seconds)

    @property
    def embed_for_plugins(self) -> Callable[[str], Vectors] | None:
        """What guarding plugins get: one text to one vector; None while no model is loaded."""
        return self._embedder.embed_query if self.ready else None

    def query(self, text: str) -> Vectors | None:
        """The vector of a question, shape (dimensions,), or None: words alone."""
        return self._try(lambda: self._embedder.embed_query(text))

    def passages(self, text: str, heading: Callable[[str], str]) -> Vectors | None:
        """The vectors of a text's passages, each put under its heading, shape (passages, dimensions).

        None: the upkeep runner makes them later.
        """
        return self._try(lambda: self._embedder.embed_passages([heading(passage) for passage in self._embedder.passages(text)]))

    def texts(self, texts: Sequence[str]) -> Vectors | None:
        """The vectors of short texts as they are, shape (texts, dimensions), or None; what passes the window is cut."""
        return self._try(lambda: self._embedder.embed_passages(texts))

    def _try(self, make: Callable[[], Vectors]) -> Vectors | None:
        if not self.ready:
            return None
        try:
            return make()
        except Exception as error:
            # Recall and saving go on with words alone; the answer says so.
            log.error("embedding failed: %s", type(error).__name__)
            return None

    def close(self) -> None:
        """Release the model."""
        self._embedder.close()
