"""What the finders work on and what they hand over."""

from __future__ import annotations

from dataclasses import dataclass

from .cues import Cues
from .fold import Folded

CREDENTIALS = frozenset(
    (
        *("aws_access_key", "aws_secret_key", "github_token", "gitlab_token", "slack_token", "stripe_key", "google_api_key", "npm_token"),
        *("sendgrid_key", "webhook_url", "api_key", "jwt", "private_key", "connection_string", "password", "basic_auth"),
    )
)
"""Types that open something."""
CONTACTS = frozenset(["phone", "email", "home_address", "date_of_birth"])
"""Types that are a person's contact data: restricted. All other types are highly restricted."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A range of a folded text that may be a secret of a type."""

    type: str
    start: int
    end: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Text:
    """A text as the finders see it: both plain forms, and its cue words."""

    folded: Folded
    cues: Cues

    @property
    def plain(self) -> str:
        """Look-alikes folded, case and accents kept."""
        return self.folded.plain

    def cued(self, kind: str, position: int, reach: int = 40, after: int = 0) -> bool:
        """Whether a cue of this kind begins at most `reach` characters before `position`, or at most `after` behind it."""
        return bool(self.cues.between(kind, position - reach, position + after))

    def last(self, kinds: tuple[str, ...], position: int, reach: int = 48) -> str | None:
        """Which of the kinds has the cue that is nearest before `position`; between equals, the first named."""
        best, found = -1, None
        for kind in kinds:
            before = self.cues.between(kind, position - reach, position)
            if before and before[-1][1] <= position + 1 and before[-1][1] > best:
                best, found = before[-1][1], kind
        return found
