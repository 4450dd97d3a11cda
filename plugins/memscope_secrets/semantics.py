"""What is told in words: a person's pay, a person's health. Cue words add up; those of rules, averages and products count against."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from .candidates import Candidate, Text

_MONEY = r"(?:[€$£¥₹₩₽₺]|R\$|Rs\.?|US\$|MX\$|zł|kr|[A-Z]{3})"
_UNIT = (
    r"(?:[kKmM]|mil|mille|tys\.?|тыс\.?|тис\.?|bin|lakhs?|lacs?|crores?|लाख|हज़ार|हजार|LPA|lpa|triệu|tr|juta|jt|ribu|"
    r"ألف|آلاف|אלף|พัน|หมื่น|만|천|万|萬|千|ezer|tūkst|tusen|tusind|chiliade|χιλ\.?|TEUR|T€|hunerê)"
)
_AMOUNT = re.compile(
    rf"(?<![A-Za-z0-9.,/:#-]){_MONEY}? ?\d{{1,3}}(?:[ .,'’]\d{{2,3}})+(?:[.,]\d{{1,2}})?(?![\d/:]|[.-]\d)"
    rf"|(?<![A-Za-z0-9.,/:#-]){_MONEY}? ?\d{{1,4}}(?:[.,]\d{{1,2}})? ?{_UNIT}(?![A-Za-z])"
    r"|[一二三四五六七八九十两百千]{1,5}万[一二三四五六七八九千]{0,3}"
    r"|(?<![A-Za-z0-9.,/:#-])\d{1,3}[.,]\d\d(?= (?:an|per) hour| ?/ ?(?:h|Std|hr)\b"
    r"| (?:die|pro) Stunde| (?:de )?l'heure| (?:la|por) hora| all'ora| per uur)"
    rf"|(?<![A-Za-z0-9.,/:#-])(?:{_MONEY} ?)?\d{{3,8}}(?:[.,]\d{{1,2}})?(?![A-Za-z0-9_/:%]|[.,-]\d| ?%)"
)
_GROSS = (
    r"(?:net|netto|nets?|gross|brut\w*|brüt|bruto\w*|brutto|lord[io]|nett[io]|netos?|líquid\w+|"
    r"hrub\w+|čist\w+|meikta|na rękę|на руки|до вычета)"
)
_GROSS_AFTER = re.compile(
    rf" ?(?:€|EUR|Euro?s?|zł|PLN|Kč|kr|TL|лв|руб\.?|lei|Ft|CHF|USD|\$|£)? ?"
    rf"(?:{_GROSS}|(?:an|per|die|pro|par|l'|por|à l'|all'|/ ?)(?: ?)(?:hour|h|hr|Std\.?|Stunde|heure|hora|ora|uur))\b"
    r"|(?:万円|元|円|원|만 ?원)?(?:税前|税后|手取り|세전|세후)",
    re.IGNORECASE,
)
_GROSS_BEFORE = re.compile(rf"\b{_GROSS} ?:? ?(?:€|\$|£|EUR|de )? ?$|(?:税前|税后|手取り|세전|세후) ?$", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")
_PRIVATE = re.compile(
    r"confidential|not a word|eyes only|between us|only (?:he|she|his|her|i |me|we|you|hr|the manager)|nobody|"
    r"don't (?:tell|share|pass|mention)|do not (?:tell|share|circulate)|keep (?:it|this) (?:to|between)|vertraulich|"
    r"weiß (?:es )?noch nicht|nur (?:ich|wir|die|der)|confidentiel|ne pas (?:diffuser|dire)|confidencial|"
    r"no (?:lo )?(?:sabe|comentar)|não comentar|riservat|niet (?:delen|doorvertellen)|poufn|не (?:говорить|знает)|内密|"
    r"共有しない|言わない|保密|不知情|비밀|말하지",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<=[^.!?\n:] )[A-ZÀ-ÞČŠŽŁŚŻĆŞĞİА-ЯЁІЇЄ][a-zà-ÿčšžłśżćńóęąşğıа-яёіїєґ]{2,}(?![\w])")
_FIRST_NAME = re.compile(r"(?:^|[.!?\n:] ?)[A-ZÀ-ÞČŠŽŁŚŻĆŞĞİА-ЯЁІЇЄΑ-Ω][^\W\d_]{2,}(?:'s)? (?:(?:[A-ZÀ-ÞČŠŽŁŚ]\. )|[a-zà-ÿа-я])")
_NO_CAPITALS = re.compile("[\u0590-\u0dff\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts in which a name does not show by its first letter: the benefit of the doubt."""
_REACH = 160
_SALARY_AT, _HEALTH_AT = 1.0, 0.95


class _Surroundings:
    """What stands around a place: found once a text, then looked up."""

    def __init__(self, text: Text) -> None:
        self._text = text
        plain = text.plain
        self._breaks = [match.start() for match in re.finditer("\n\n", plain)]
        self._private = [match.start() for match in _PRIVATE.finditer(plain)]
        self._names = sorted(match.start() for expression in (_NAME, _FIRST_NAME) for match in expression.finditer(plain))
        self._no_capitals = bool(_NO_CAPITALS.search(plain))

    def window(self, start: int, end: int) -> tuple[int, int]:
        """The stretch of text around a range that is about the same: not past an empty line."""
        low, high = start - _REACH, end + _REACH
        index = bisect_left(self._breaks, start)
        if index and self._breaks[index - 1] > low:
            low = self._breaks[index - 1]
        if index < len(self._breaks):
            high = min(high, self._breaks[index])
        return low, high

    def private(self, low: int, high: int) -> bool:
        """Whether the stretch asks to keep something between few."""
        return bisect_left(self._private, high) > bisect_left(self._private, low)

    def persons(self, low: int, high: int) -> float:
        """How much the stretch speaks of somebody: 0 to 1."""
        words = min(2, len(self._text.cues.between("person", low, high)))
        named = self._no_capitals or bisect_left(self._names, high) > bisect_left(self._names, low)
        return min(1.0, 0.4 * words + (0.3 if named else 0.0))


def salaries(text: Text) -> Iterator[Candidate]:
    """An individual's pay: an amount by a word for pay, with somebody whose it is, and none of a budget, an average or a rule."""
    if not any(text.cues.of(kind) for kind in ("salary", "pay_sure", "rate")):
        return
    around = _Surroundings(text)
    for match in _AMOUNT.finditer(text.plain):
        start, end = match.span()
        amount = match.group()
        if (
            _YEAR.fullmatch(amount.strip())
            or re.fullmatch(r"0\d+", amount)
            or (re.fullmatch(r"\d{1,2}[.,]\d\d", amount) and not _GROSS_AFTER.match(text.plain, end))
        ):
            continue
        sure = len(text.cues.between("pay_sure", start - 100, end + 80))
        weak = len(text.cues.between("salary", start - 60, end + 40))
        gross = bool(_GROSS_AFTER.match(text.plain, end) or _GROSS_BEFORE.search(text.plain, max(0, start - 14), start))
        if not weak and not sure and not gross:
            continue
        low, high = around.window(start, end)
        score = min(0.9, 0.6 * sure) + min(0.6, 0.3 * weak) + 0.7 * around.persons(low, high)
        score += 0.3 if text.cued("salary", start, 14, after=len(amount) + 4) else 0.0
        score += 0.6 if gross else 0.0
        score += 0.2 if text.cued("rate", start, 40, after=40) else 0.0
        score += 0.2 if around.private(low, high) else 0.0
        score -= 0.5 * min(2, len(text.cues.between("pooled", low, high)))
        score -= 0.4 if not sure and re.search(r"\d ?[mM]", amount) else 0.0
        if score >= _SALARY_AT:
            yield Candidate("salary", start, end, 0.6)


def health(text: Text) -> Iterator[Candidate]:
    """A person's health: a condition, with somebody whose it is, and not a rule, a product, a study or the public."""
    if not text.cues.of("condition"):
        return
    around = _Surroundings(text)
    last = -1
    for start, end in text.cues.of("condition"):
        if start < last:
            continue
        low, high = around.window(start, end)
        conditions = {text.folded.bare[at : at + 5] for at, _ in text.cues.between("condition", low, high)}
        care = len(text.cues.between("care", low, high))
        score = 0.8 + 0.4 * min(2, len(conditions) - 1) + 0.2 * min(2, care) + 0.6 * around.persons(low, high)
        score += 0.3 if around.private(low, high) else 0.0
        score -= 0.5 * min(2, len(text.cues.between("impersonal", low, high)))
        if score >= _HEALTH_AT:
            last = end
            yield Candidate("health", start, end, 0.6)
