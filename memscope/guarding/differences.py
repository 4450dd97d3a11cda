"""How each plugin's verdict differs from the one that took effect: counts and labels by day, no text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any

from memscope import usage
from memscope.contracts.instructions import InstructionVerdict
from memscope.contracts.secrets import SecretFinding
from memscope.contracts.sensitivity import SensitivityVerdict
from memscope.core import Core
from memscope.hooks import Verdict, Verdicts

LISTED = timedelta(days=90)


def record(
    core: Core,
    organization: str,
    secrets: Verdicts[Sequence[SecretFinding]],
    classified: Verdicts[SensitivityVerdict],
    detected: Verdicts[InstructionVerdict],
) -> None:
    """Count, for each plugin that was asked, whether its verdict is that of all plugins together."""
    together = _types(finding for _, findings in secrets.values for finding in findings)
    levels = [verdict.sensitivity for _, verdict in classified.values]
    level = max(levels).label if levels else "none"
    flagged = _flag(any(verdict.flag for _, verdict in detected.values))
    _compare(core, organization, secrets, together, _types)
    _compare(core, organization, classified, level, lambda verdict: verdict.sensitivity.label)
    _compare(core, organization, detected, flagged, lambda verdict: _flag(verdict.flag))


def _compare(core: Core, organization: str, verdicts: Verdicts[Any], combined: str, label: Callable[[Any], str]) -> None:
    given: Sequence[tuple[Sequence[Verdict[Any]], str, str]] = (
        (verdicts.given, usage.JUDGED, usage.DIFFERS),
        (verdicts.shadow, usage.SHADOW_JUDGED, usage.SHADOW_DIFFERS),
    )
    for each, judged, differs in given:
        for verdict in each:
            own = label(verdict.value) if verdict.value is not None else verdict.failure or "none"
            core.usage.note(organization, judged, verdict.plugin)
            if own != combined:
                core.usage.note(organization, differs, f"{verdict.plugin}\t{combined} -> {own}")


def listed(core: Core, organization: str, since: date | None = None) -> list[tuple[str, str, int, dict[str, int]]]:
    """(plugin, day, texts, {"verdict now -> shadow verdict": times}) of each plugin in shadow mode and day, oldest first."""
    since = since or core.usage.today(organization) - LISTED
    calls = core.usage.days(organization, usage.SHADOW_JUDGED, since)
    pairs = core.usage.days(organization, usage.SHADOW_DIFFERS, since)
    return [
        (plugin, day.isoformat(), count, _of(plugin, pairs.get(day, {})))
        for day, counts in calls.items()
        for plugin, count in sorted(counts.items())
    ]


def disagreement(core: Core, organization: str, since: date) -> dict[str, tuple[int, int]]:
    """Plugin → (texts judged with effect, those on which it was not of the verdict of all plugins together)."""
    judged = core.usage.totals(organization, usage.JUDGED, since)
    differs = core.usage.totals(organization, usage.DIFFERS, since)
    return {plugin: (count, sum(_of(plugin, differs).values())) for plugin, count in judged.items()}


def _of(plugin: str, pairs: Any) -> dict[str, int]:
    return {key.partition("\t")[2]: times for key, times in sorted(pairs.items()) if key.partition("\t")[0] == plugin}


def _types(findings: Any) -> str:
    return "+".join(sorted({finding.type for finding in findings})) or "none"


def _flag(flag: bool) -> str:
    return "instructions" if flag else "ordinary"
