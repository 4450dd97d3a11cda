"""How an organization's console looks: a name and accent colours, kept with the console's records."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memscope.core import Core
from memscope.errors import InvalidArgument
from memscope.model.principal import Principal
from memscope.organizations.changes import Outcome, admins, carry_out
from memscope.text.normalise import LoneSurrogate, NulCharacter, normalise, safe

RECORDS, KEY = "branding", "chosen"
NAME_MAX = 40
_COLOUR = re.compile(r"#[0-9a-f]{6}")


@dataclass(frozen=True, slots=True)
class Branding:
    """Name and accents; empty: the product's own."""

    name: str = ""
    accent: str = ""
    """`#rrggbb`, on light ground."""
    accent_dark: str = ""
    """`#rrggbb`, on dark ground."""


def branding(core: Core, organization: str) -> Branding:
    """What the organization chose."""
    return Branding(**(core.storage.records(RECORDS).get(organization, KEY) or {}))


def check_colour(parameter: str, text: str) -> str:
    """A colour as `#rrggbb` in lower case; InvalidArgument."""
    colour = text.strip().lower()
    if _COLOUR.fullmatch(colour) is None:
        raise InvalidArgument(parameter, "Write the colour as # and six hex digits, such as #1650a8.")
    return colour


def change_branding(core: Core, principal: Principal, chosen: Branding) -> None:
    """Keep another name and accents. Colours are checked by whoever knows the ground they stand on. Forbidden, InvalidArgument."""
    try:
        name = safe(normalise(chosen.name).strip())[0]
    except (NulCharacter, LoneSurrogate):
        raise InvalidArgument("name", "The name holds a character that no text may hold.") from None
    if len(name) > NAME_MAX:
        raise InvalidArgument("name", f"The name has at most {NAME_MAX} characters.")
    kept = {"name": name, "accent": chosen.accent, "accent_dark": chosen.accent_dark}
    carry_out(core, principal, "organization.branding", admins, lambda transaction, roster: Outcome(principal.organization, dict(kept)))
    core.storage.records(RECORDS).put(principal.organization, KEY, kept)
