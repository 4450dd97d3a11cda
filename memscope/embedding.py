"""The chosen embedder, loaded in the background: words alone until it is there."""

from __future__ import annotations

import logging
import threading
import time
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
        self.trouble: str | None = None
        """Type of what the last call failed with; None when it worked."""
        self.watch: Callable[[float | None, tuple[str, str, str] | None], None] = lambda milliseconds, failed: None
        """Told of each call: milliseconds, and (hook, type, message) when it failed."""

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

    @property
    def unwell(self) -> str | None:
        """Why searches go by words alone although the model should be there; None when all is well or it is just loading."""
        if self.failure is None and not self.ready and self._loading is not None and not self._loading.is_alive():
            return "the model is gone"
        return self.failure or (None if self.trouble is None else f"the last call failed: {self.trouble}")

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
        started = time.perf_counter()
        try:
            made = make()
        except Exception as error:
            # Recall and saving go on with words alone; the answer says so.
            log.error("embedding failed: %s", type(error).__name__)
            self.trouble = type(error).__name__
            self.watch(None, ("memscope_embedder", type(error).__name__, ""))
            return None
        self.trouble = None
        self.watch((time.perf_counter() - started) * 1000, None)
        return made

    def close(self) -> None:
        """Release the model."""
        self._embedder.close()
