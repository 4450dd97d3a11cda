"""From a text to its findings: fold, look up cue words, run the finders, keep what does not overlap with something better."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from memscope.contracts.secrets import SecretFinding
from memscope.model.memory import Sensitivity

from . import credentials, numbers, persons, semantics
from .candidates import CONTACTS, CREDENTIALS, Candidate, Text
from .cues import lexicon
from .fold import fold

_FINDERS: tuple[Callable[[Text], Iterable[Candidate]], ...] = (
    credentials.formed,
    credentials.aws_secrets,
    numbers.ibans,
    numbers.cards,
    credentials.named_keys,
    credentials.passwords,
    persons.emails,
    numbers.social_security,
    persons.births,
    numbers.passports,
    numbers.national_ids,
    numbers.accounts,
    numbers.phones,
    persons.addresses,
)
"""Where findings of two overlap, the earlier finder's stands."""
_SPOKEN: tuple[Callable[[Text], Iterable[Candidate]], ...] = (semantics.salaries, semantics.health)
"""What is told in words comes last: the digits of an address are nobody's pay."""
_HEAD, _TAIL, _LEAST = 4, 2, 12
_UNSHOWN = frozenset(
    {"password", "basic_auth", "connection_string", "webhook_url", "private_key", "health", "salary", "home_address", "email"}
)


def detect(text: str) -> list[SecretFinding]:
    """The secrets and identifiers in `text`, in the order of their places. Time is linear in its length."""
    folded = fold(text)
    view = Text(folded, lexicon().find(folded.bare))
    kept = list(_without_overlaps(candidate for finder in _FINDERS for candidate in finder(view)))
    taken = {place for candidate in kept for place in range(candidate.start, candidate.end)}
    kept += [candidate for finder in _SPOKEN for candidate in finder(view) if taken.isdisjoint(range(candidate.start, candidate.end))]
    return sorted((_finding(view, candidate) for candidate in kept), key=lambda finding: (finding.start, finding.end))


def _without_overlaps(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Those that overlap with none before them."""
    taken: set[int] = set()
    for candidate in candidates:
        places = range(candidate.start, candidate.end)
        if places and taken.isdisjoint(places):
            taken.update(places)
            yield candidate


def _finding(view: Text, candidate: Candidate) -> SecretFinding:
    start, end = view.folded.span(candidate.start, candidate.end)
    level = Sensitivity.RESTRICTED if candidate.type in CONTACTS else Sensitivity.HIGHLY_RESTRICTED
    masked = _masked(candidate.type, view.plain[candidate.start : candidate.end])
    return SecretFinding(candidate.type, start, end, candidate.confidence, level, candidate.type in CREDENTIALS, masked)


def _masked(type_: str, value: str) -> str:
    """Evidence of at most 16 characters: the ends of a long number or token, nothing of a password or of what is told in words."""
    compact = "".join(value.split())
    if type_ in _UNSHOWN or len(compact) < _LEAST:
        return "•" * 8
    return f"{compact[:_HEAD]}••••{compact[-_TAIL:]}"
