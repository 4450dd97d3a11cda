"""Loading in the background what the first calls need, once the server listens."""

from __future__ import annotations

import threading

from memscope.app import MemScope


def warm(app: MemScope) -> None:
    """Begin loading the language model and what the guarding plugins need; returns at once."""
    app.core.embedding.load_in_background()
    threading.Thread(target=app.core.hooks.warm_up, name="guards-load", daemon=True).start()
