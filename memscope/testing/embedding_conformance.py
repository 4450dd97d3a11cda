"""What every embedder has to do, as tests: subclass, and give a fixture `embedder`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memscope.contracts.embedding import Embedder, Vectors
from memscope.model.memory import CONTENT_MAX

TEXTS = ("The harbour opens at six.", "Boats pay by length.", "x", "🛟 Ünïcode — 港")
LONG = " ".join(f"The {number}th boat pays at the northern pier." for number in range(CONTENT_MAX))[:CONTENT_MAX]


class EmbeddingConformance:
    """Subclass it and give a fixture `embedder`: one that need not be loaded yet."""

    def check(self, vectors: Vectors, shape: tuple[int, ...]) -> None:
        """Assert that vectors are well formed and of unit length."""
        assert vectors.dtype == np.float32
        assert vectors.shape == shape
        assert np.linalg.norm(vectors, axis=-1) == pytest.approx(1, abs=1e-3)

    def test_the_model_is_known_before_it_is_loaded(self, embedder: Embedder) -> None:
        """With a name, a digest and dimensions, and always the same."""
        model = embedder.model
        assert embedder.name
        assert model.dimensions > 0
        assert len(model.digest) >= 16
        int(model.digest, 16)
        assert embedder.model == model

    def test_loading_twice_is_loading_once(self, embedder: Embedder) -> None:
        """And afterwards it is ready."""
        embedder.load()
        embedder.load()
        assert embedder.ready

    def test_passages_leave_nothing_out(self, embedder: Embedder) -> None:
        """Every word of a text is in one of them, in order; a short text is one."""
        assert list(embedder.passages(TEXTS[0])) == [TEXTS[0]]
        passages = embedder.passages(LONG)
        assert len(passages) > 1
        place = 0
        for passage in passages:
            found = LONG.find(passage.strip(), max(0, place - len(passage)))
            assert found >= 0, "a passage is a piece of the text"
            assert not LONG[place:found].strip(), "nothing lies between two passages"
            place = max(place, found + len(passage.strip()))
        assert not LONG[place:].strip()

    def test_vectors_have_unit_length(self, embedder: Embedder) -> None:
        """One row a text, in order; no text, no rows."""
        dimensions = embedder.model.dimensions
        self.check(embedder.embed_passages(TEXTS), (len(TEXTS), dimensions))
        self.check(embedder.embed_query(TEXTS[0]), (dimensions,))
        self.check(embedder.embed_passages([LONG]), (1, dimensions))
        assert embedder.embed_passages([]).shape == (0, dimensions)

    def test_a_vector_does_not_depend_on_its_neighbours(self, embedder: Embedder) -> None:
        """Alone or among others, now or again, here or in another thread."""
        together = embedder.embed_passages(TEXTS)
        alone = np.stack([embedder.embed_passages([text])[0] for text in TEXTS])
        assert together == pytest.approx(alone, abs=0.02)
        with ThreadPoolExecutor(3) as pool:
            for again in pool.map(lambda _: embedder.embed_passages(TEXTS), range(3)):
                assert again == pytest.approx(together, abs=1e-4)

    def test_what_is_alike_is_near(self, embedder: Embedder) -> None:
        """A question is nearer to its answer than to something else."""
        query = embedder.embed_query("When does the harbour open?")
        scores = embedder.embed_passages(TEXTS[:2]) @ query
        assert scores[0] > scores[1]
