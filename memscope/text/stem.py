"""A light stemmer: English endings and irregular forms, harmless to other languages.

Our own, so that the terms stored in an index never change with somebody else's release.
"""

from __future__ import annotations

import re
from functools import lru_cache

_IRREGULAR_FORMS = """
bus buses; show shown;
age aged aging; agree agreed agreeing; arise arose arisen; awake awoke awoken; bad worse worst; beat beaten; become became; begin
began begun; bend bent; bite bit bitten; bleed bled; blow blew blown; break broke broken; breed bred; bring brought; build built;
burn burnt; buy bought; catch caught; child children; choose chose chosen; cling clung; come came; creep crept; deal dealt; die
died dying; dig dug; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed
fed; feel felt; fight fought; find found; flee fleeing fled; fly flew flown; foot feet; forbid forbade forbidden; forget forgot
forgotten; forgive forgave forgiven; free freed freeing; freeze froze frozen; get got gotten; give gave given; go goes going went
gone; good better best; goose geese; grow grew grown; guarantee guaranteed; hang hung; hear heard; hide hid hidden; hold held;
keep kept; kneel knelt; know knew known; lay laid; lead led; lean leant; leap leapt; learn learnt; leave left; lend lent; lie lied
lying; lose lost; make made; man men; mean meant; meet met; mouse mice; pay paid; person people; ride rode ridden; ring rang rung;
rise risen; run ran; say said; see seeing saw seen; seek sought; sell sold; send sent; shake shook shaken; shine shone; shoot
shot; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; speak spoke spoken; speed sped;
spend spent; spill spilt; spin spun; spring sprang sprung; stand stood; steal stole stolen; stick stuck; sting stung; strike
struck; strive strove striven; swear swore sworn; sweep swept; swim swam swum; swing swung; take took taken; teach taught; tear
tore torn; tell told; think thought; throw threw thrown; tie tied tying; tooth teeth; understand understood; use used using; wake
woke woken; wear wore worn; weave wove woven; weep wept; wife wives; win won; woman women; write wrote written
"""
_IRREGULAR = {form: forms[0] for line in _IRREGULAR_FORMS.split(";") for forms in [line.split()] for form in forms[1:]}
_ENDING_IS_PART = frozenset(("embed", "hundred", "sacred", "naked", "evening", "morning"))

_VOWEL = re.compile("[aeiouy]")
_SHORT = re.compile("[^aeiouy]*[aeiouy][^aeiouywx]")


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of a folded word: `makes`, `making` and `made` share one. It need not be a word."""
    if not word.isascii() or not word.isalpha():
        return word
    word = _IRREGULAR.get(word, word)
    if len(word) < 4:
        return word
    word = _verb(_plural(word))
    if len(word) > 6 and word.endswith("ly"):
        word = word[:-2]
    if word.endswith("ll"):
        word = word[:-1]
    # `plane` stays apart from `plan`, `release` meets `released`
    if len(word) > 3 and word.endswith("e") and not _SHORT.fullmatch(word[:-1]):
        word = word[:-1]
    if len(word) > 2 and word.endswith("y") and word[-2] not in "aeiou":
        word = word[:-1] + "i"
    return word


def _plural(word: str) -> str:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "zzes", "ches", "shes")):
        return word[:-2]
    return word[:-1]


def _verb(word: str) -> str:
    if word in _ENDING_IS_PART:
        return word
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) > 2 and _VOWEL.search(rest) and not rest.endswith("e"):
            if len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "aeious":
                return rest[:-1]
            # `hiking` comes from `hike`, `visiting` from `visit`
            return rest + "e" if _SHORT.fullmatch(rest) else rest
    return word
