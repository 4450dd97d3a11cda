"""`[console]`: sessions of the console."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """How long people stay signed in, and over what they may be."""

    idle_hours: int = 8
    """A session ends after so long without a request."""
    longest_hours: int = 168
    """A session ends after so long in any case."""
    admin_longest_hours: int = 12
    """The same for administrators."""
    plain_http: bool = False
    """Serve the console without https to other machines too. Passwords then cross the network in clear."""
    threads: int = 10
    """Requests answered at once by each worker."""

    def __post_init__(self) -> None:
        if min(self.idle_hours, self.longest_hours, self.admin_longest_hours, self.threads) < 1:
            raise ValueError("idle_hours, longest_hours, admin_longest_hours and threads must be at least 1")
