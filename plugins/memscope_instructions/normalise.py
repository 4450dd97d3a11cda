"""One plain form of a text, with the way back: every character of it knows which character of the original it stands for.

Writing that hides words (invisible characters, look-alike letters, spaced letters) is undone and noted.
Emoji, flags and the joiners that Persian and Indian scripts need are left as they are.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
)
INVISIBLE += "\U000e0000-\U000e01ef"
_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
_BIDI = re.compile("[\u202d\u202e](.+?)(?:\u202c|$)", re.S)
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e007a]{2,6}\U000e007f")
_ZERO_WIDTH = frozenset("\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff\u00ad\u180e\u034f")
# Joiners between letters of these scripts, and between signs, are spelling. Arabic to Malayalam and Sinhala, Khmer, Mongolian.
_JOINED = re.compile("[\u0600-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc]")
_WORD = re.compile(r"[^\W_]+")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")

# Letters of other scripts that look like Latin ones. Small capitals and crossed letters stand at the end.
_LOOKS = dict(
    zip(
        "аеорсухіјѕһԁԛԝвкмнтгпьзАВЕКМНОРСТУХІЈЅԌԚԜЗУбѵѡοαερτυνικγηωχβΑΒΕΖΗΙΚΜΝΟΡΤΥΧօսնհցіոԱՏՕ",
        "aeopcyxijshdqwbkmhtrnb3ABEKMHOPCTYXIJSGQW3Y6vwoaeptuvikynwxBABEZHIKMNOPTYXounhgiuUSO",
        strict=True,
    )
) | dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢøđłħıɡɑ", "abcdefghijklmnoprstuvwyzodlhiga", strict=True))
_CYRILLIC = dict(zip("aeopcyxijsABEKMHOPCTYX", "аеорсухіјѕАВЕКМНОРСТУХ", strict=True))
_SMALL_CAPITALS = frozenset("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɡɑ")
_SPACED = re.compile(r"(?<![^\W_])(?:[^\W\d_]([ .\-_*·|,/~+]{1,2})(?:[^\W\d_]\1)+[^\W\d_])(?![^\W_])")


@dataclass(slots=True)
class View:
    """A normalised text. `origin[i]` is the place in the original of its character `i`; `notes` say what was undone."""

    text: str
    origin: list[int]
    notes: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """What was found (`tags`, `selectors`, `zero_width`, `bidi`, `look_alikes`, `styled`, `spaced`), as ranges of the original."""
    payloads: list[tuple[str, str, int, int]] = field(default_factory=list)
    """Texts written in invisible characters: kind, text, and where in the original."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The range of the original that the half-open range of this view stands for."""
        if start >= end:
            return (self.origin[start], self.origin[start]) if start < len(self.origin) else (0, 0)
        return self.origin[start], self.origin[end - 1] + 1

    def note(self, what: str, start: int, end: int) -> None:
        """Remember where something was undone; neighbours become one."""
        found = self.notes.setdefault(what, [])
        if found and start <= found[-1][1] + 2:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))


def normalise(text: str) -> View:
    """The plain form of a text. Linear in its length."""
    view = View(text, list(range(len(text))))
    if not text.isascii():
        _drop_invisible(view, text)
        _compatible(view)
        _fold_look_alikes(view)
    _join_spaced(view)
    return view


def show(text: str, most: int = 80) -> str:
    """An excerpt of at most `most` characters in which nothing is invisible: such characters are written as U+XXXX."""
    out: list[str] = []
    length = 0
    for character in text:
        hidden = unicodedata.category(character) in ("Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp") or _INVISIBLE.match(character)
        piece = " " if character in "\n\r\t" else f"U+{ord(character):04X}" if hidden else character
        length += len(piece)
        if length > most - 1:
            out.append("…")
            break
        out.append(piece)
    return "".join(out)


def _drop_invisible(view: View, text: str) -> None:
    kept_flags = {place for match in _FLAG.finditer(text) for place in range(*match.span())}
    drop: set[int] = set()
    broken: list[tuple[int, int]] = []
    for match in _INVISIBLE.finditer(text):
        start, end = match.span()
        if start in kept_flags:
            continue
        run = match.group()
        tags = "".join(chr(ord(c) - 0xE0000) for c in run if 0xE0020 <= ord(c) <= 0xE007E)
        if len(tags) >= 2:
            view.note("tags", start, end)
            view.payloads.append(("invisible", tags, start, end))
        elif len(payload := _selectors(run)) >= 3:
            view.note("selectors", start, end)
            view.payloads.append(("invisible", payload, start, end))
        elif len(payload := _bits(run)) >= 3:
            view.note("zero_width", start, end)
            view.payloads.append(("invisible", payload, start, end))
        before, after = text[start - 1 : start], text[end : end + 1]
        spelling = (
            len(run) <= 2
            and set(run) <= set("\u200c\u200d\ufe0e\ufe0f")
            and (
                _JOINED.match(before)
                or _JOINED.match(after)
                or (before and ord(before) > 0x2000)
                or unicodedata.category(before or "x") == "So"
            )
        )
        if spelling or run == "\ufe0f":
            continue
        drop.update(range(start, end))
        if (set(run) & _ZERO_WIDTH) and (before.isalpha() or after.isalpha()):
            broken.append((start, end))
    if len(broken) >= 3:
        for start, end in broken:
            view.note("zero_width", start, end)
    for match in _BIDI.finditer(text):
        if sum(c.isalpha() for c in match.group(1)) >= 4:
            view.note("bidi", *match.span())
            inner = _INVISIBLE.sub("", match.group(1))
            view.payloads.append(("reversed", inner[::-1], *match.span()))
    if drop:
        view.origin = [place for place in view.origin if place not in drop]
        view.text = "".join(text[place] for place in view.origin)


def _selectors(run: str) -> str:
    """Bytes hidden as variation selectors: the first 16 stand for 0 to 15, the supplementary ones for 16 to 255."""
    data = bytes(
        code - 0xFE00 if code <= 0xFE0F else code - 0xE0100 + 16
        for code in map(ord, run)
        if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF
    )
    return data.decode("utf-8", "replace") if len(data) >= 4 else ""


def _bits(run: str) -> str:
    """Text hidden as bits of two zero-width characters, eight to a byte."""
    if len(run) < 24 or len(letters := sorted(set(run))) != 2:
        return ""
    for zero in letters:
        bits = "".join("0" if c == zero else "1" for c in run)
        data = bytes(int(bits[n : n + 8], 2) for n in range(0, len(bits) - 7, 8))
        if all(32 <= byte < 127 or byte == 10 for byte in data):
            return data.decode("ascii")
    return ""


def _compatible(view: View) -> None:
    if unicodedata.is_normalized("NFKC", view.text):
        return
    characters: list[str] = []
    origin: list[int] = []
    styled = 0
    for place, character in zip(view.origin, view.text, strict=True):
        styled += character > "\u2000" and unicodedata.normalize("NFKC", character).isascii() and character.isalpha()
        for plain in unicodedata.normalize("NFKC", character):
            characters.append(plain)
            origin.append(place)
    # a few are unit signs and acronyms among wide characters
    if styled >= 16 and 2 * styled >= sum(c.isalpha() for c in view.text):
        places = [n for n, c in enumerate(view.text) if c > "\u2000" and c.isalpha()]
        view.note("styled", *view.span(places[0], places[-1] + 1))
    view.text, view.origin = "".join(characters), origin


def _fold_look_alikes(view: View) -> None:
    characters: list[str] | None = None
    suspects: list[tuple[int, int, str]] = []
    for match in _WORD.finditer(view.text):
        word = match.group()
        if word.isascii():
            continue
        foreign = sum(c in _LOOKS for c in word)
        latin = len(_LATIN.findall(word))
        small = any(c in _SMALL_CAPITALS for c in word)
        other = sum(c.isalpha() for c in word) - foreign - latin
        if foreign and other == 0 and (latin or small) and not set(word) <= set("øđłħıØ") | set(filter(_LATIN.match, word)):
            suspects.append((*match.span(), "latin"))
        elif latin and other and 2 * latin <= len(word) and all("\u0400" <= c <= "\u04ff" or c in _CYRILLIC for c in word):
            suspects.append((*match.span(), "cyrillic"))
        elif foreign == len(word) > 2 and not latin:
            suspects.append((*match.span(), "whole"))
    mixed = any(how != "whole" for _, _, how in suspects)
    for start, end, how in suspects:
        if how == "whole" and not mixed:
            continue
        characters = characters or list(view.text)
        table = _CYRILLIC if how == "cyrillic" else _LOOKS
        characters[start:end] = [table.get(c, c) for c in characters[start:end]]
        if how != "whole":
            view.note("look_alikes", *view.span(start, end))
    if characters:
        view.text = "".join(characters)


def _join_spaced(view: View) -> None:
    matches = list(_SPACED.finditer(view.text))
    # abbreviations such as U.S.A. are short
    if sum(sum(map(str.isalpha, match.group())) for match in matches) < 9:
        return
    keep = [True] * len(view.text)
    for match in matches:
        gap = match.group(1)
        for place in range(match.start() + 1, match.end()):
            if (place - match.start()) % (1 + len(gap)):
                keep[place] = False
        view.note("spaced", *view.span(*match.span()))
    view.origin = [place for place, kept in zip(view.origin, keep, strict=True) if kept]
    view.text = "".join(c for c, kept in zip(view.text, keep, strict=True) if kept)
