"""Rows of the audit log as files: CSV and JSON lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memscope.memories.audit_log import Entry

FORMATS = ("csv", "jsonl")
COLUMNS = ("position", "at", "action", "actor", "target", "connection", "approved_via", "agent", "run_id", "detail")
TOGETHER = 100
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def header(format: str) -> str:
    """What such a file begins with."""
    return f"{','.join(COLUMNS)}\r\n" if format == "csv" else ""


def lines(format: str, entries: Iterable[Entry], emails: Mapping[str, str]) -> Iterator[str]:
    """The rows, some together; `emails` names people by their ids."""
    write = _csv if format == "csv" else _json
    waiting: list[str] = []
    for entry in entries:
        waiting.append(write(_cells(entry, emails)))
        if len(waiting) == TOGETHER:
            yield "".join(waiting)
            waiting.clear()
    yield "".join(waiting)


def _cells(entry: Entry, emails: Mapping[str, str]) -> dict[str, Any]:
    act = entry.row.act
    return {
        "position": entry.row.position,
        "at": entry.row.at.isoformat(),
        "action": act.action,
        "actor": emails.get(act.actor or "", act.actor),
        "target": act.target,
        "connection": act.connection,
        "approved_via": None if entry.hidden else act.approved_via.value,
        "agent": act.agent,
        "run_id": act.run_id,
        "detail": dict(act.detail),
    }


def _csv(cells: dict[str, Any]) -> str:
    cells["detail"] = json.dumps(cells["detail"], ensure_ascii=False) if cells["detail"] else ""
    texts = ["" if cells[column] is None else str(cells[column]) for column in COLUMNS]
    file = io.StringIO()
    # What a spreadsheet would take for a formula arrives as text.
    csv.writer(file).writerow([f"'{text}" if text.startswith(_FORMULA) else text for text in texts])
    return file.getvalue()


def _json(cells: dict[str, Any]) -> str:
    return json.dumps(cells, ensure_ascii=False) + "\n"
