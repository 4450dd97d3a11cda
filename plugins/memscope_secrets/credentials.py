"""Finders of credentials: those with a form of their own, and those that only their surroundings tell."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from .candidates import Candidate, Text
from .patterns import compiled
from .validators import classes, is_mixed, is_template

_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{36,44}={0,2}(?![A-Za-z0-9+/=])")
_AWS_CUE = re.compile(r"aws_?secret|secret_?access_?key|secret access key|aws secret|secretaccesskey", re.IGNORECASE)
_QUOTED = re.compile(r"""["'`]([^"'`\n]{3,80})["'`]|[「『«‹„“]([^」』»›“”\n]{3,80})[」』»›“”]""")
_SCRIPTS = "\u0590-\u08ff\u0900-\u0dff\u0e00-\u0eff\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef"
_TOKEN = re.compile(rf"""[^\s"'`「」『』«»()<>,;，。、；：？！|{_SCRIPTS}]{{3,200}}""")
_KEY_TOKEN = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z0-9][A-Za-z0-9_\-./+~]{9,400}+={0,2}")
_NOT_PASSWORD = re.compile(
    r"""\d{1,4}[-./:]\d{1,4}(?:[-./:]\d{1,4})?(?:[T:].*)? | v?\d+(?:\.\d+)+\w* | (?-i:[A-Z]{1,10}[-_#/]?\d+(?:-\d+)?) | \#\d+
    | (?:ticket|case|issue|inc|req|task|story|bug|change)[-_#]?\d+ | \d+[-.]?[A-Za-z%]{1,12} | \d+-[A-Za-z]+-[A-Za-z]+ | [a-z]+/[\w-]+
    | (?:\w+://|www\.|mailto:).* | [\w.+-]+@[\w-]+\.[\w.]+ | [~.]?/[\w./-]*
    | \w+\.(?:com|org|net|io|example|md|txt|py|json|ya?ml|env|docx?|pdf|sh|kdbx|toml|ini|conf|html?|php|js)\b.*
    | (?:oauth|sha|aes|tls|wpa|md|base|utf|rfc|iso|argon|bcrypt|scrypt|pbkdf|windows|win|office|python|ipv|log|x|h|mp|pkcs|ed|rsa|p|q|kw|fy
        |cw|hash|level|phase|step|room|raum|lab|floor|building|version|ver|node|server|host|db|web|app|users?|days?|week|team|group|tier
        |zone|port|vlan|pin|id|tv|no|nr)[-_v.]?\d[\w.-]*
    | 1password.* | keepass\w* | [23]fa | k8s | s3 | web3 | h2o | b2[bc] | [A-Za-zÀ-ÿ]+(?:[-/][A-Za-zÀ-ÿ]+)? | [A-Z]\d[A-Z]?\d?
    | \d+(?:st|nd|rd|th|er|º|ª)?""",
    re.IGNORECASE | re.VERBOSE,
)
"""Dates, versions, tickets, units, addresses, files, names of standards and rooms, plain words."""
_LINK = re.compile(
    r"""(?:[:=→⇒»>|~]|->|=>|\b(?:is|are|was|now|to|ist|lautet|jetzt|neu|est|es|ahora|é|agora|è|ora|jest|je|er|är|on|olarak|это|теперь|"""
    r"""является|nu|là|adalah|ialah))[\s"'`「『«*_]*$|(?:は|が|を|是|为|為|改为|改成|:|：|को|है|هي|هو|는|은)[\s"'`「『«]*$""",
    re.IGNORECASE,
)
"""What leads from a word to its value: `:`, `=`, `is`."""
_AFTER_LINK = re.compile(
    r"""["'`」』»)\]]?\s*(?:(?:as|als|como|come|comme|jako|som|olarak|как|is|ist|est|es|è|é|jest|on|war|was|for|für|pour|para|per|voor)\s+)?"""
    r"""(?:(?:the|das|der|die|el|la|le|il|a|an|o|het|de|our|new|neue[sn]?|temporary|admin|root|shared|initial|default|meine?|wifi|wlan)"""
    r"""\s+){0,4}$|["'」』»)]?\s?(?:が|は|を|に|という|是|作为|作為|这个|를|을|이|가|는|은|라는|को|ही)\s?(?:新しい|新)?$""",
    re.IGNORECASE,
)
"""What leads from a value to its word: `... as the password`."""
_PAIR = re.compile(
    r"(?<=[\w.@+-])(?: ?[/|] ?|:| (?:and|und|et|y|e|en|och|og|ja|i|a|и|та|ve|és|și|και|with|mit|avec|con|com|met|"
    r"med) )(?=([^\s/|\"'`,;()<>:]{5,64}))"
)
_LONGEST = 64
"""Characters that a password has at most; what is longer is a key, or no secret."""
_ASSIGN = re.compile(r"""["'\]]?\s?(?:=|:=|=>|:)\s?["'`]?""")
_CODE_WORD = re.compile(r"pin|puk|kod|kood|kód|code|cod|код|κωδ|番号|번호|비번|码|碼|combination", re.IGNORECASE)
_CODE = re.compile(
    r"[^\d.!?;\n]{1,40}?(?<![A-Za-z0-9])(?!(?:19|20)\d\d(?!\d))(\d{4,8}[#*]?|\d{2,4}[A-ZА-Я]\d{1,4}|"
    r"\d{3}-\d{3})(?![\w%]|[.,:/-]\d| ?(?:€|EUR|kr|zł|Kč))"
)
_TELLING = re.compile(
    rf"(?<![^\s(\[\"'`:「『«,{_SCRIPTS}])(?=[^\s]{{0,40}}[A-Za-z])(?=[^\s]{{0,40}}\d"
    rf")[A-Za-z0-9._-]{{1,30}}[!#$%&*?^@][A-Za-z0-9._!#$%&*?^-]{{1,30}}"
)
_TRANSITION = re.compile(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])|[a-z](?=[A-Z])")


def formed(text: Text) -> Iterator[Candidate]:
    """Credentials that show by their form, see `patterns`."""
    plain = text.plain
    for pattern, expression in compiled():
        if not any(mark in plain for mark in pattern.marks):
            continue
        for match in expression.finditer(plain):
            inner = (match["v"] if "v" in expression.groupindex else None) or match.group()
            if is_template(inner) or (pattern.vague and not is_mixed(inner)):
                continue
            yield Candidate(pattern.type, match.start(), _trimmed(plain, match.start(), match.end()), pattern.confidence)


def aws_secrets(text: Text) -> Iterator[Candidate]:
    """Secret access keys: forty characters of base64 near an access key or named as such."""
    plain = text.plain
    anchors = [found.start() for found in re.finditer(r"AKIA|ASIA", plain)]
    if "secret" in text.folded.bare:
        anchors += [found.start() for found in _AWS_CUE.finditer(plain)]
    anchors.sort()
    if not anchors:
        return
    for match in _AWS_SECRET.finditer(plain):
        value = match.group()
        at = bisect_left(anchors, match.start() - 250)
        near = at < len(anchors) and anchors[at] <= match.start() + 250
        if near and not value.isupper() and classes(value) >= 2 and not is_template(value) and not value.startswith(("AKIA", "ASIA")):
            yield Candidate("aws_secret_key", match.start(), match.end(), 0.8)


def named_keys(text: Text) -> Iterator[Candidate]:
    """Keys and tokens without a form of their own, in the reach of a word such as `api_key`, `Token` or `密钥`."""
    if not text.cues.of("token"):
        return
    plain = text.plain
    for match in _KEY_TOKEN.finditer(plain):
        value = match.group().rstrip("./-") if not match.group().endswith("=") else match.group()
        before = text.cues.between("token", match.start() - 90, match.start())
        end = max((end for _, end in before if end <= match.start()), default=None)
        if end is None:
            continue
        gap = plain[end : match.start()]
        if re.search(r"[.!?]\s|[。！？]|\n.*\n", gap):
            continue
        direct = len(gap) <= 40 and bool(_LINK.search(gap))
        if _is_key(value, direct):
            yield Candidate("api_key", match.start(), match.start() + len(value), 0.8 if direct else 0.6)


def _is_key(value: str, direct: bool) -> bool:
    """Whether a token next to the word key or token may be one; `direct` when a colon or the like leads to it."""
    if (
        len(value) < (12 if direct else 16)
        or "://" in value
        or is_template(value)
        or value.startswith("/")
        or re.search(r"\.\w{2,4}(?:/|$)", value)
    ):
        return False
    digits = sum(char.isdigit() for char in value)
    changes = len(_TRANSITION.findall(value))
    if re.fullmatch(r"\d{4}-\d\d-\d\d.*|[\d.:/-]+|[a-z]+(?:[-_./][a-z]+)*(?:[-_./]?v?\d{1,4})?|[A-Z_]+", value):
        return False
    return digits >= 2 and changes >= (2 if direct else 3)


def passwords(text: Text) -> Iterator[Candidate]:
    """Passwords in prose and settings: what follows a word for it (or, in some languages, goes before), and login pairs.

    Each word looks no further than the next one, so that all together read the text once.
    """
    plain = text.plain
    before = 0
    for start, end, limit in _reaches(text, "password", 80):
        if plain[end : end + 1] != "@" and (
            "://" not in plain[max(0, start - 60) : start].rpartition(" ")[2] or plain[end : end + 1] == "="
        ):
            code = _digits(plain, end) if _CODE_WORD.search(plain, start, end) or text.cued("lock", start, 30, after=30) else None
            found = _after(plain, start, end, limit) or code or _before(plain, max(before, start - 100), start)
            if found:
                yield Candidate("password", *found)
        before = end
    for found in _telling(text):
        yield Candidate("password", *found)
    for start, end in text.cues.of("code") if text.cues.of("lock") else ():
        if text.cued("lock", start, 40, after=40) and (found := _digits(plain, end)):
            yield Candidate("password", *found)
    for _, end in text.cues.of("password_set"):
        found = _assigned(plain, end)
        if found:
            yield Candidate("password", *found)
    for start, end, limit in _reaches(text, "login", 70):
        found = _pair(plain, start, limit) or _network_key(plain, start, end, limit)
        if found:
            yield Candidate("password", *found)


def _telling(text: Text) -> Iterator[tuple[int, int, float]]:
    """Tokens that are hardly anything but a password (letters, digits and marks mixed) in a sentence that speaks of a login."""
    for token in _TELLING.finditer(text.plain):
        value = _stripped(token.group())
        low = max(text.plain.rfind(sign, 0, token.start()) for sign in (". ", "\n", "。", "; "))
        high = min((at for at in (text.plain.find(sign, token.end()) for sign in (". ", "\n", "。")) if at >= 0), default=len(text.plain))
        near = any(
            text.cues.between(kind, max(low, token.start() - 70), min(high, token.end() + 60))
            for kind in ("login", "password", "password_set")
        )
        if near and _is_strong(value) and not is_template(value):
            yield token.start(), token.start() + len(value), 0.6


def _reaches(text: Text, kind: str, reach: int) -> Iterator[tuple[int, int, int]]:
    """The cues of a kind, each with the end of what it may speak of: the next cue, or so many characters."""
    cues = text.cues.of(kind)
    for index, (start, end) in enumerate(cues):
        last = index + 1 == len(cues)
        after = len(text.plain) if last else cues[index + 1][0]
        if last or after > end + 2:
            yield start, end, min(end + reach, after)


def _pair(plain: str, start: int, limit: int) -> tuple[int, int, float] | None:
    """The password of a login pair: `admin / S3cret!x`."""
    for match in _PAIR.finditer(plain, start + 1, limit):
        value = match[1].rstrip(".,")
        user = re.search(r"[^\s\"'`(「:]*$", plain[max(0, match.start() - 60) : match.start()])
        if (
            user
            and re.fullmatch(r"[\w.@+-]{2,60}", user.group())
            and _is_strong(value)
            and not is_template(value)
            and re.search(r"[A-Z!$%&#@*+?]", value)
        ):
            return match.start(1), match.start(1) + len(value), 0.6
    return None


def _network_key(plain: str, start: int, end: int, limit: int) -> tuple[int, int, float] | None:
    """The key of a wireless network: `guest wifi: S3cret!x`."""
    if not re.match(r"(?:wi-?fi|wlan|ssid|red|gast|guest)", plain[start:end], re.IGNORECASE):
        return None
    sign = re.compile(r"[:：=→]\s*").search(plain, end, limit)
    if sign and not re.search(r"[.!?;\n]\s", plain[end : sign.start()]) and (token := _TOKEN.match(plain, sign.end())):
        value = _stripped(token.group())
        if _is_strong(value):
            return sign.end(), sign.end() + len(value), 0.6
    return None


def _after(plain: str, start: int, end: int, limit: int) -> tuple[int, int, float] | None:
    """The value that follows the password word in `plain[start:end]`, beginning before `limit`."""
    stop = re.compile(r"[.!?](?:\s|$)|[。！？]|\n").search(plain, end, limit)
    if stop and not re.fullmatch(r"[\s:：は]*", plain[end : stop.start()]) and stop.group() not in ("。", "\n"):
        limit = stop.start() + 1
    if found := _assigned(plain, end):
        return found
    position = end
    quoted = _QUOTED.search(plain, end, limit)
    while (token := _TOKEN.search(plain, position, min(len(plain), limit + 64))) and token.start() < limit:
        if quoted and quoted.start() < token.start():
            value = quoted[1] or quoted[2]
            if (
                " " not in value
                and not is_template(value)
                and (
                    _is_fair(value)
                    or (_LINK.search(plain[end : quoted.start() + 1]) and classes(value) >= 2 and not _NOT_PASSWORD.fullmatch(value))
                )
            ):
                return quoted.start() + 1, quoted.start() + 1 + len(value), 0.8
            quoted = None
        value = _stripped(token.group())
        linked = bool(_LINK.search(plain[max(end - 1, token.start() - 24) : token.start()]))
        if (_is_strong(value) or (linked and _is_fair(value))) and not is_template(value):
            return token.start(), token.start() + len(value), 0.8 if linked else 0.6
        position = token.end()
    return None


def _assigned(plain: str, end: int) -> tuple[int, int, float] | None:
    """The value that `=` or `:` gives to the word that ends at `end`."""
    sign = _ASSIGN.match(plain, end)
    if sign and (token := _TOKEN.match(plain, sign.end())):
        value = _stripped(token.group())
        if _is_assigned(value, "=" in sign.group(), plain[token.end() : token.end() + 1]):
            return token.start(), token.start() + len(value), 0.8
    return None


def _digits(plain: str, end: int) -> tuple[int, int, float] | None:
    """The first number in the reach of a word for a PIN or a code, if it may be one: no year, no date, nothing longer."""
    found = _CODE.match(plain, end)
    return (found.start(1), found.end(1), 0.6) if found else None


def _is_assigned(value: str, set_: bool, follower: str) -> bool:
    """Whether a token right behind `password:` or (`set_`) `password=` is one; plain words count after `=` alone."""
    if len(value) > _LONGEST or is_template(value):
        return False
    return _is_fair(value) or (
        set_
        and len(value) >= 5
        and (not _NOT_PASSWORD.fullmatch(value) or (value.isalpha() and len(value) >= 6 and not follower.isspace()))
    )


def _before(plain: str, low: int, start: int) -> tuple[int, int, float] | None:
    """The value that goes before the password word at `start`: `Foo-77 as the password`, `「Foo-77」がパスワード`."""
    for token in reversed(list(_TOKEN.finditer(plain, low, start))[-8:]):
        value = _stripped(token.group())
        gap = plain[token.start() + len(value) : start]
        if (
            _is_strong(value)
            and not is_template(value)
            and (_AFTER_LINK.match(gap) or (classes(value) == 4 and not re.search(r"[.!?;\n。]", gap)))
        ):
            return token.start(), token.start() + len(value), 0.6
    return None


def _stripped(token: str) -> str:
    return token.rstrip(".,:;?*_)]}").lstrip("*([{=:→>")  # Markdown emphasis and sentence marks are not part of it.


def _is_fair(value: str) -> bool:
    """Whether a token that a colon or the like leads to may be a password."""
    if re.fullmatch(r"\d{4,12}[#*]?|\d{3,6}-\d{3,6}", value):
        return not re.fullmatch(r"(?:19|20)\d\d", value)
    if not 5 <= len(value) <= _LONGEST or not re.search(r"[^\W\d_]", value):
        return False
    return (classes(value) >= 3 or bool(re.search(r"\d", value)) or value.count("-") >= 2) and not _NOT_PASSWORD.fullmatch(value)


def _is_strong(value: str) -> bool:
    """Whether a token has so little of a word that it may be a password without a colon before it."""
    if not 7 <= len(value) <= _LONGEST or not re.search(r"[\d!$%&#@*+?]", value) or not re.search(r"[^\W\d_]", value) or classes(value) < 3:
        return False
    return not _NOT_PASSWORD.fullmatch(value) and not re.fullmatch(r"[A-Z][A-Za-z]*(?:'s|-[a-z]+)", value)


def _trimmed(plain: str, start: int, end: int) -> int:
    """`end` without the punctuation of the sentence that a value closes."""
    while end - 1 > start and plain[end - 1] in ".,;:!?)]}'\"":
        end -= 1
    return end
