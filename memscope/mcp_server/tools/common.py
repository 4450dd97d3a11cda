"""Parameters that several tools share."""

from __future__ import annotations

from memscope.mcp_server.arguments import Choice, Label, Number, Reference, Switch, Text
from memscope.model.audience import Scope, Sensitivity
from memscope.model.memory import REASON_MAX, Kind

NAME_MAX = 200
VERSION_MAX = 2**53 - 1

SCOPES = {
    "organization": Scope.ORGANIZATION,
    "shared": Scope.ORGANIZATION,
    "team": Scope.TEAM,
    "project": Scope.PROJECT,
    "personal": Scope.PERSONAL,
    "private": Scope.PERSONAL,
}
KINDS = {kind.value: kind for kind in Kind}
SENSITIVITIES = {level.label: level for level in Sensitivity}

MEMORY_ID = Reference(name="memory_id", required=True, about="The memory's id, or its number.")
TEAM = Text(name="team", longest=NAME_MAX, about="Id, slug, name or alias of a team you are in; goes with scope team.")
PROJECT = Text(name="project", longest=NAME_MAX, about="Id, slug, name or alias of a project you are in; goes with scope project.")
REASON = Text(
    name="reason",
    shortest=0,
    longest=REASON_MAX,
    about="Why, in a sentence; a correction keeps it, and whoever is asked to approve sees it.",
)
AGENT = Label(name="agent", about="A label of your own for yourself, such as claude-code/reviewer. It is noted and opens nothing.")
RUN_ID = Label(name="run_id", about="A label that groups the work of one orchestrated run. It is noted and opens nothing.")
EXPECTED_VERSION = Number(
    name="expected_version",
    least=1,
    most=VERSION_MAX,
    about="The version you last saw. If the memory has moved on, nothing changes and you get a conflict.",
)
CONFIRM_WIDEN = Switch(
    name="confirm_widen",
    about="Set to true only after the person agreed that more people may read it. Without it such a change is refused with confirm_required.",
)
CONFIRM_HUMAN = Switch(
    name="confirm_human",
    about="Set to true only after the person approved it. Where it is needed and missing, the call is refused with confirm_required.",
)
PROVENANCE = (AGENT, RUN_ID)


def kind(about: str) -> Choice:
    """The parameter `kind`."""
    return Choice(name="kind", words=KINDS, about=about)


def limit(most: int, default: int) -> Number:
    """The parameter `limit`."""
    return Number(name="limit", least=1, most=most, default=default, about=f"How many to return at most: 1 to {most}.")


def scope(about: str, *, required: bool = False) -> Choice:
    """The parameter `scope` of tools that file or move."""
    return Choice(name="scope", words=SCOPES, required=required, about=about)


def sensitivity(about: str, *, required: bool = False) -> Choice:
    """The parameter `sensitivity`."""
    return Choice(name="sensitivity", words=SENSITIVITIES, required=required, about=about)
