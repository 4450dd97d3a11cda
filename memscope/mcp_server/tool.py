"""What a tool is: a name, words for people and agents, a table of parameters, and one use that it calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memscope.approvals.consent import Consent
from memscope.core import Core
from memscope.mcp_server.arguments import Parameter
from memscope.model.principal import Principal

Run = Callable[[Core, Principal, dict[str, Any], Consent], object]
"""Calls one use with the parsed arguments; its answer is a dataclass or a mapping."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. The four hints tell clients what a call may do; they protect nothing."""

    name: str
    title: str
    about: str
    parameters: tuple[Parameter, ...]
    run: Run
    read_only: bool
    destructive: bool = False
    """Whether a call may take something away; of no meaning when read-only."""
    idempotent: bool = False
    """Whether the same call again changes nothing more."""
