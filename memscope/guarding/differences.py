"""What plugins in shadow mode would have said otherwise: counts and labels by day, no text."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from memscope.contracts.instructions import InstructionVerdict
from memscope.contracts.secrets import SecretFinding
from memscope.contracts.sensitivity import SensitivityVerdict
from memscope.core import Core
from memscope.errors import Unavailable
from memscope.hooks import Verdicts

RECORDS = "shadow"
log = logging.getLogger(__name__)


def record(
    core: Core,
    organization: str,
    secrets: Verdicts[Sequence[SecretFinding]],
    classified: Verdicts[SensitivityVerdict],
    detected: Verdicts[InstructionVerdict],
) -> None:
    """Count how each shadow plugin's verdict differs from the one that took effect."""
    compared: list[tuple[str, str, str]] = []
    effective = _types(finding for _, findings in secrets.values for finding in findings)
    compared += [(v.plugin, effective, _types(v.value) if v.value is not None else v.failure or "none") for v in secrets.shadow]
    levels = [verdict.sensitivity for _, verdict in classified.values]
    level = max(levels).label if levels else "none"
    compared += [(v.plugin, level, v.value.sensitivity.label if v.value is not None else v.failure or "none") for v in classified.shadow]
    flagged = _flag(any(verdict.flag for _, verdict in detected.values))
    compared += [(v.plugin, flagged, _flag(v.value.flag) if v.value is not None else v.failure or "none") for v in detected.shadow]
    if not compared:
        return
    records = core.storage.records(RECORDS)
    day = core.clock().date().isoformat()
    for plugin, now, shadow in compared:

        def add(counts: Any, pair: str = f"{now} -> {shadow}", differs: bool = now != shadow) -> dict[str, Any]:
            before: dict[str, Any] = dict(counts or {"calls": 0, "differences": {}})
            pairs: dict[str, int] = dict(before["differences"])
            if differs:
                pairs[pair] = pairs.get(pair, 0) + 1
            return {"calls": before["calls"] + 1, "differences": pairs}

        try:
            records.change(organization, f"{plugin}/{day}", add)
        except Unavailable:
            log.warning("a difference of shadow plugin %s was not recorded", plugin)


def listed(core: Core, organization: str) -> list[tuple[str, str, int, dict[str, int]]]:
    """(plugin, day, calls, {"verdict now -> shadow verdict": times}) of each shadow plugin and day, oldest first."""
    records = core.storage.records(RECORDS)
    rows = []
    for key in records.keys(organization, ""):
        counts = records.get(organization, key) or {"calls": 0, "differences": {}}
        plugin, day = key.rsplit("/", 1)
        rows.append((plugin, day, int(counts["calls"]), dict(counts["differences"])))
    return rows


def _types(findings: Any) -> str:
    return "+".join(sorted({finding.type for finding in findings})) or "none"


def _flag(flag: bool) -> str:
    return "instructions" if flag else "ordinary"
