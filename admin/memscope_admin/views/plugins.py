"""Plugins: what is there, and how each does."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, render_template

from memscope.guarding.differences import listed as differences
from memscope.plugin_manager import PluginInfo
from memscope_admin.navigation import admins_only
from memscope_admin.sessions import core, principal

pages = Blueprint("plugins", __name__, url_prefix="/plugins")
pages.before_request(admins_only)


@dataclass(frozen=True, slots=True)
class Health:
    """How a plugin has been doing since the server's start."""

    info: PluginInfo
    calls: int
    errors: int
    last_error: str | None
    p50_ms: float | None
    p95_ms: float | None


@pages.get("")
def listed() -> str:
    """Every plugin that was found."""
    found = []
    for info in core().hooks.report:
        numbers = core().hooks.statistics[info.name]
        times = sorted(numbers.milliseconds)
        middle, high = (times[len(times) // 2], times[int(len(times) * 0.95)]) if times else (None, None)
        found.append(Health(info, numbers.calls, numbers.errors, numbers.last_error, middle, high))
    return render_template("plugins/list.html", plugins=found, differences=differences(core(), principal().organization))
