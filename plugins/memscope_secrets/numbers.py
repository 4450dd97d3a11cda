"""Finders of numbers that belong to a person or an account: cards, accounts, national numbers, passports, telephones."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import identifiers
from .candidates import Candidate, Text
from .validators import IBAN_LENGTHS, is_card, is_iban

_CARD = re.compile(r"(?<![\w.+-])\d(?:[ .-]?\d){12,18}(?![\w]|[-.]\d)", re.ASCII)
_CARD_GROUPS = re.compile(r"\d{4}[ .-]\d{4}[ .-]\d{4}[ .-]\d{4}|\d{4}[ .-]\d{6}[ .-]\d{5}")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,31}")
_SSN = re.compile(r"(?<![\w-])(?!000|666)\d{3}([- .])\d{2}\1\d{4}(?![\w]|-\d)", re.ASCII)
_SSN_CUE = re.compile(
    r"\b(?:ssn|socials?|soc\.? sec|social security|social sec\w*|seguro social|sécurité sociale américaine|"
    r"sozialversicherungsnummer)\b|社会保障号|社会保障番号|사회보장번호",
    re.IGNORECASE,
)
_NINO = re.compile(r"(?<![\w-])[A-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D](?![\w])", re.ASCII)
_PASSPORT = re.compile(
    r"(?<![\w/-])(?:[A-Z]{1,3} ?\d[A-Z\d]{4,8}|\d{2} ?\d{2} (?:№ ?)?\d{6}|\d{2} ?[A-Z]{2} ?\d{5}|\d{7,9}|"
    r"[A-Z]\d{2}[A-Z]\d{4,5}|[A-Z]{2}\d{2}[A-Z]\d{2,4}[A-Z]?\d*)(?![\w]|[-/.]\d)",
    re.ASCII,
)
_ACCOUNT = re.compile(r"(?<![\w.,/+-])\d(?:[ -]?\d){4,22}(?:[/-]\d{1,8}(?:-\d)?)?(?:-[\dXx])?(?![\w]|[.,/]\d)", re.ASCII)
_GENERIC_ID = re.compile(
    r"(?<![\w.,/+-])(?:[A-Z]{1,4}[ -]?)?(?P<digits>\d)(?:[ ./-]?\d){5,17}(?:[ -]?[A-Z0-9]{1,3})?(?![\w]|[.,/]\d)", re.ASCII
)
_NUMBERED = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ./()&+-]{5,}")
"""Where numbers with at most letters and separators between their digits may stand."""
_NUMBER_KINDS = ("passport", "national_id", "card", "account", "phone", "born")

_PHONE = re.compile(
    r"(?<![\w.,/#=-])(?:\(?\+|00(?=[1-9]))?(?:\(\d{1,5}\) ?[\d]|\d)(?:(?: ?[-./–] ?| {1,2}|\) ?|"
    r" ?\()?\d){5,15}(?![\w]|[.,:/-]\d| ?(?:€|\$|£|%|EUR|USD|GBP|kr\b|zł|руб))",
    re.ASCII,
)
_PHONE_FORMS = re.compile(
    "|".join(
        (
            r"0\d{2} \d{4} \d{4}",
            r"\(\d{3}\) ?\d{3}[- .]\d{4}",
            r"(?:1[-. ])?[2-9]\d{2}[-. ][2-9]\d{2}[-. ]\d{4}",
            r"07\d{3} ?\d{3} ?\d{3}",
            r"0\d{3,4} ?\d{3} ?\d{3,4}",
            r"0[1-9](?:[ .]\d\d){4}",
            r"0[67]\d{8}",
            r"0\d0-\d{4}-\d{4}",
            r"0\d{1,3}-\d{2,4}-\d{4}",
            r"01\d[- ]\d{3,4}[- ]\d{4}",
            r"1[3-9]\d{9}",
            r"1[3-9]\d[- ]\d{4}[- ]\d{4}",
            r"06[- ]\d{8}",
            r"06(?:[ -]\d\d){4}",
            r"05\d{2} \d{3} \d{2} \d{2}",
            r"01[5-7]\d[ /-]?\d{3,4} ?\d{3,5}",
            r"04\d{2} \d{3} \d{3}",
            r"08\d{2}-\d{3,4}-\d{3,5}",
            r"0\d{2}[- ]\d{7}",
            r"0\d{2}-\d{3}-?\d{4}",
            r"\d{5} \d{5}",
            r"05\d-?\d{7}",
            r"8 \(\d{3}\) \d{3}-\d\d-\d\d",
            r"0\d{2}[ -]\d{3} \d{2} \d{2}",
            r"0\d{2,3} ?/ ?\d{3}[ .]?\d{2}[ .]?\d{2}",
            r"0\d{3} \d{3} \d{3}",
            r"0\d{2} \d{3} \d{4}",
            r"\d{3} \d{3} \d{3}",
            r"0(?:\d\d ){3}\d\d",
            r"09\d{2}[- ]?\d{3}[- ]?\d{3,4}",
            r"\(\d{2}\) ?9?\d{4}-\d{4}",
            r"07\d-\d{3} ?\d{2} ?\d{2}",
        )
    )
)
_BESIDE_MAIL = re.compile(r"@[\w.-]+\.\w{2,20}[\s,;/|()]{1,4}$")
_PHONE_STANDS_ALONE = re.compile(r"[2-9]\d{2}[-.][2-9]\d{2}[-.]\d{4}|1[3-9]\d{9}|8 \(.*")
"""Forms without a leading zero that are a telephone number even where no word says so."""
_DATE = re.compile(
    r"\d{1,2}([-./])\d{1,2}\1(?:\d{2}|\d{4})|(?:19|20)\d\d([-./])\d{1,2}\2\d{1,2}(?:[ T]\d.*)?|(?:19|"
    r"20)\d\d ?[-–/] ?(?:19|20)\d\d|\d{1,2}[./]\d{1,2}(?: ?- ?\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?)"
)
_AMOUNT_BEFORE = re.compile(r"(?:[€$£¥₹₽]|EUR|USD|GBP|CHF|PLN|INR|R\$|Rs\.?|kr) ?$")


def cards(text: Text) -> Iterator[Candidate]:
    """Payment card numbers: by issuer, length and check digit; in groups of four also near a word for it."""
    for match in _CARD.finditer(text.plain):
        near = text.cued("card", match.start(), 60, after=40)
        grouped = _CARD_GROUPS.fullmatch(match.group())
        if is_card(match.group()) and (grouped or near or not text.last(("national_id", "account", "phone"), match.start())):
            yield Candidate("credit_card", match.start(), match.end(), 0.95)
        elif grouped and near:
            yield Candidate("credit_card", match.start(), match.end(), 0.6)


def ibans(text: Text) -> Iterator[Candidate]:
    """International bank account numbers; with wrong check digits only in print groups or with many digits."""
    plain = text.plain
    for match in _IBAN.finditer(plain):
        wanted = IBAN_LENGTHS.get(match.group()[:2])
        ends = _word_ends(plain, match.start(), match.end())
        end = next((end for end, length in ends if length == wanted), None)
        if wanted is None:
            continue
        if end is not None:
            number = re.sub(r"[ -]", "", plain[match.start() : end])
            if is_iban(number):
                yield Candidate("iban", match.start(), end, 0.95)
            elif re.match(r"\w{4}[ -]\w{4}[ -]", match.group()) or sum(char.isdigit() for char in number) >= 10:
                yield Candidate("iban", match.start(), end, 0.8)
        elif re.search(r"iban\W{0,3}$", plain[max(0, match.start() - 20) : match.start()], re.IGNORECASE):  # Badly copied.
            yield Candidate("iban", match.start(), max((end for end, length in ends if length <= wanted + 2), default=match.end()), 0.6)


def _word_ends(plain: str, start: int, stop: int) -> list[tuple[int, int]]:
    """The places in a range where a word ends, each with the number of letters and digits before it."""
    return [
        (match.end(), len(re.sub(r"[ -]", "", plain[start : match.end()])))
        for match in re.compile(r"[A-Z0-9]+(?![A-Za-z0-9])").finditer(plain, start, stop)
    ]


def social_security(text: Text) -> Iterator[Candidate]:
    """Social security numbers of the United States and national insurance numbers of the United Kingdom."""
    plain = text.plain
    if not any(char.isdigit() for char in plain):
        return
    for match in _SSN.finditer(plain):
        named = bool(_SSN_CUE.search(plain, max(0, match.start() - 60), min(len(plain), match.end() + 30)))
        if named or match[1] == "-" and not plain.startswith("9", match.start()):
            yield Candidate("us_ssn", match.start(), match.end(), 0.95 if named else 0.8)
    for cue in _SSN_CUE.finditer(plain):
        if found := re.compile(r"\D{1,25}(\d{9})(?!\w)").match(plain, cue.end()):
            yield Candidate("us_ssn", found.start(1), found.end(1), 0.8)
    for match in _NINO.finditer(plain):
        yield Candidate("uk_nino", match.start(), match.end(), 0.9)


def national_ids(text: Text) -> Iterator[Candidate]:
    """Numbers that states give to persons: by form and check digits, or by form near a word for them."""
    yield from sorted(_known_ids(text), key=lambda candidate: candidate.start - candidate.end)  # The longest form is the right one.
    if not text.cues.of("national_id"):
        return
    for match in _GENERIC_ID.finditer(text.plain):
        start = match.start("digits")
        if text.last(_NUMBER_KINDS, start, 44) == "national_id" and not _DATE.fullmatch(match.group()):
            yield Candidate("national_id", start, match.end(), 0.6)


def _known_ids(text: Text) -> Iterator[Candidate]:
    """What the table of `identifiers` knows."""
    plain = text.plain
    spoken_of = bool(text.cues.of("national_id"))
    stretches = [match.span() for match in _NUMBERED.finditer(plain) if sum(char.isdigit() for char in match.group()) >= 4]
    for identifier, expression in identifiers.compiled() if stretches else ():
        if not identifier.alone and not spoken_of:
            continue
        for match in (match for start, end in stretches for match in expression.finditer(plain, start, end + 2)):
            cue = text.last(("passport", "national_id", "card", "account", "phone"), match.start(), 60)
            if cue is None and text.cued("national_id", match.end(), 0, after=12):
                cue = "national_id"
            if (cue == "national_id" or (identifier.alone and cue is None)) and not _DATE.fullmatch(match.group()):
                valid = identifier.valid(re.sub(r"\s", "", match.group()))
                if valid or not identifier.module:
                    yield Candidate("national_id", match.start(), match.end(), 0.95 if valid else 0.8)


def passports(text: Text) -> Iterator[Candidate]:
    """Passport numbers: what looks like one after the word."""
    plain = text.plain
    taken = -1
    for _, end in text.cues.of("passport"):
        for match in _PASSPORT.finditer(plain, end, min(len(plain), end + 70)):
            if (
                match.start() > taken
                and text.last(("passport", "national_id", "phone", "card", "account"), match.start(), 75) == "passport"
                and not _DATE.fullmatch(match.group())
            ):
                taken = match.end()
                yield Candidate("passport", match.start(), match.end(), 0.8)
                break


def accounts(text: Text) -> Iterator[Candidate]:
    """Bank account numbers in national forms: digits after a word for it."""
    weak = {text.folded.bare[start:end] for start, end in text.cues.of("account_weak")}
    for match in _ACCOUNT.finditer(text.plain):
        digits = re.sub(r"\D", "", match.group())
        if len(digits) < 5 or _DATE.fullmatch(match.group()):
            continue
        cue = text.last(("account", "national_id", "passport", "phone", "card", "account_weak"), match.start(), 44)
        word = text.cued("account_word", match.start(), 44) and (len(digits) >= 8 or "/" in match.group())
        named = cue == "account" or (cue is None and text.cued("account", match.end(), 0, after=10))
        if named or (cue == "account_weak" and len(digits) >= 7 and (word or len(weak) > 1 or text.cues.of("account"))):
            yield Candidate("bank_account", match.start(), match.end(), 0.8 if named else 0.6)


def phones(text: Text) -> Iterator[Candidate]:
    """Telephone numbers: international form, a national form, or digits after a word for it."""
    plain = text.plain
    for match in _PHONE.finditer(plain):
        number = match.group()
        digits = re.sub(r"\D", "", number)
        if len(digits) > 15 or _DATE.fullmatch(number) or _AMOUNT_BEFORE.search(plain, max(0, match.start() - 5), match.start()):
            continue
        cue = text.last(("passport", "national_id", "card", "account", "phone"), match.start(), 60)
        if cue not in (None, "phone") and not number.startswith(("+", "(+")):
            continue
        if len(digits) >= 8 and re.match(r"\(?(?:\+|00[1-9])", number):
            confidence = 0.8
        elif len(set(digits)) == 1 or (len(digits) > 12 and number.isdigit()):
            continue
        elif _is_named_phone(text, match, digits, cue):
            confidence = 0.7
        elif _has_phone_form(text, match, digits):
            confidence = 0.6
        else:
            continue
        yield Candidate("phone", match.start(), match.end(), confidence)


def _is_named_phone(text: Text, match: re.Match[str], digits: str, cue: str | None) -> bool:
    """Whether a word for a telephone, or a mail address just before it, makes a number one."""
    if 8 <= len(digits) <= 12 and _BESIDE_MAIL.search(text.plain, max(0, match.start() - 40), match.start()):
        return True
    if cue != "phone" and not text.cued("phone", match.end(), 0, after=12):
        return False
    return len(digits) >= 9 or (len(digits) >= 6 and (match.group()[0] in "0(" or not match.group().isdigit()))


def _has_phone_form(text: Text, match: re.Match[str], digits: str) -> bool:
    """Whether a number is written as telephone numbers are, and as hardly anything else is."""
    number = match.group()
    if re.fullmatch(r"\d{3} \d{3} \d{3}", number):
        return not number.endswith("000") and text.cued("person", match.start(), 40)
    if 9 <= len(digits) <= 11 and re.fullmatch(r"0\d{1,4}(?:[ /.-]\d{2,4}){2,4}", number):
        return True
    return bool(_PHONE_FORMS.fullmatch(number)) and (number[0] in "(0" or bool(_PHONE_STANDS_ALONE.fullmatch(number)))
