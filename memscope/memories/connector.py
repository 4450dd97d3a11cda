"""`search` and `fetch`: the pair that ChatGPT-style connectors expect, over recall and get_memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memscope.approvals.accept import console_url
from memscope.core import Core
from memscope.memories.browse import get_memory
from memscope.memories.recall import Recall, recall
from memscope.model.principal import Principal
from memscope.text.normalise import preview

TITLE = 80


def search(core: Core, principal: Principal, query: str) -> Mapping[str, Any]:
    """The ten best matches as `results` of `id`, `title` and `url`."""
    found = recall(core, principal, Recall(query, detail="brief"))
    return {
        "results": [
            {"id": result.id, "title": preview(result.preview or "", TITLE), "url": _url(core, result.id)} for result in found.results
        ]
    }


def fetch(core: Core, principal: Principal, id: str) -> Mapping[str, Any]:  # noqa: A002 - the connector's own name
    """One memory as `id`, `title`, `text`, `url` and `metadata`. NotFound."""
    memory = get_memory(core, principal, id).memory
    text = memory.content or ""
    return {
        "id": memory.id,
        "title": preview(text, TITLE) if text else "Waiting for review",
        "text": text,
        "url": _url(core, memory.id),
        "metadata": {
            "number": memory.number,
            "kind": memory.kind,
            "scope": memory.scope,
            "team": memory.team,
            "project": memory.project,
            "sensitivity": memory.sensitivity,
            "author": memory.author.name,
            "created_at": memory.created_at,
            "valid_until": memory.valid_until,
            "superseded_by": memory.superseded_by,
            "withheld": memory.withheld,
        },
    }


def _url(core: Core, memory: str) -> str:
    return f"{console_url(core)}/memories/{memory}"
