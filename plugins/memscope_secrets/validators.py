"""What tells a real value from a template, a word or a number that only looks like it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import cache
from typing import Protocol, cast

_TEMPLATE = re.compile(
    r"""[<{\[%$].*[>}\]%] | \$\w+ | \$\(.* | %\w+%? | \#\{.* | @\w+@
    | (?:process\.env|os\.environ|env|vault|secrets?|config|settings|var|local|data|op)[.:\[/].*
    | (?:your|my|the|our|a|some|insert|enter|add|put|replace|dein|deine|ihr|votre|tu|su|seu|sua|il_tuo|twoj|jouw)[-_. ].*
    | (?:.*[-_])?(?:key|token|secret|password|pass|value)[-_](?:goes[-_])?here
    | (?:redacted|removed|hidden|masked|placeholder|example|sample|changeme|change[-_]me|none|null|true|false|todo|tbd|n/a|undefined)
    | (?:string|secret|password|token|key|value|xxx.*)
    | .*(?:\.\.\.|\*\*\*|…|•••|\u2588\u2588).* | [-_=~#.*x]+""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


def is_template(value: str) -> bool:
    """Whether a value only says where one belongs: `<token>`, `${VAR}`, `XXXX-XXXX`, `your-api-key`, `sk_live_...`."""
    if _TEMPLATE.fullmatch(value):
        return True
    body = re.sub(r"^[A-Za-z]{1,12}[-_.](?:(?:live|test|proj|ant|api\d\d)[-_])?", "", value)
    letters = {char for char in body.lower() if char.isalnum()}
    return len(body) >= 6 and (len(letters) <= 1 or bool(re.search(r"[xX]{6,}|\.{3}|\*{3}|<\w+>|\$\{|\{\{", body)))


def classes(value: str) -> int:
    """How many of the classes lower case, upper case, digit, mark occur in it; letters without case count as lower case."""
    return (
        any(char.isalpha() and not char.isupper() for char in value)
        + any(char.isupper() for char in value)
        + any(char.isdigit() for char in value)
        + any(not char.isalnum() for char in value)
    )


def is_mixed(value: str) -> bool:
    """Whether a token has the look of a random one: letters and digits, or upper case inside a word."""
    return bool(re.search(r"\d", value) and re.search(r"[A-Za-z]", value)) or bool(re.search(r"[a-z][A-Z]", value) and len(value) >= 20)


class _Checker(Protocol):
    def is_valid(self, number: str) -> bool: ...


@cache
def stdnum(module: str) -> Callable[[str], bool]:
    """The check of `stdnum.<module>` (python-stdnum): form, check digits and whatever else the number carries, such as a date."""
    return cast(_Checker, importlib.import_module(f"stdnum.{module}")).is_valid


_CARD_ISSUERS = (
    (r"4", (13, 16, 19)),
    (r"3[47]", (15,)),
    (r"30|36|38", (14,)),
    (r"62", (16, 17, 18, 19)),
    (r"5|222[1-9]|22[3-9]|2[3-6]|27[01]|2720|220[0-4]|35|6[034567]", (16, 19)),
)
"""Patterns of the first digits, and the lengths that numbers with them have."""


def is_card(number: str) -> bool:
    """Whether the digits are a payment card number: an issuer's range, its length, and the Luhn check digit."""
    digits = re.sub(r"\D", "", number)
    lengths = next((lengths for prefixes, lengths in _CARD_ISSUERS if re.match(prefixes, digits)), ())
    return len(digits) in lengths and stdnum("luhn")(digits)


_IBAN_LENGTHS = (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18 "
    "FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 "
    "LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 "
    "SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20"
)
IBAN_LENGTHS = {entry[:2]: int(entry[2:]) for entry in _IBAN_LENGTHS.split()}
"""Length of an IBAN by country, as the registry of ISO 13616 gives them."""


def is_iban(number: str) -> bool:
    """Whether the check digits of an IBAN hold."""
    return stdnum("iso7064.mod_97_10")(number[4:] + number[:4])
