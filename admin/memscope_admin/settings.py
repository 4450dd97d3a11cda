"""`[console]`: sessions of the console, and what signing in takes."""

from __future__ import annotations

from dataclasses import dataclass

SECOND_FACTOR = ("admins", "all", "nobody")


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """How long people stay signed in, what they prove, and over what they may be reached."""

    idle_hours: int = 8
    """A session ends after so long without a request."""
    longest_hours: int = 168
    """A session ends after so long in any case."""
    admin_longest_hours: int = 12
    """The same for administrators."""
    second_factor: str = "admins"
    """Who needs one beside the password: `admins`, `all` or `nobody`. Everybody may have one."""
    second_factor_grace_days: int = 7
    """How long after their first sign-in people who need one may do without; 0: not at all."""
    plain_http: bool = False
    """Serve the console without https to other machines too. Passwords then cross the network in clear."""
    trusted_proxies: int = 0
    """Reverse proxies in front of the server, each of which adds to X-Forwarded-For; 0: that header is not believed."""
    threads: int = 10
    """Requests answered at once by each worker."""

    def __post_init__(self) -> None:
        if min(self.idle_hours, self.longest_hours, self.admin_longest_hours, self.threads) < 1:
            raise ValueError("idle_hours, longest_hours, admin_longest_hours and threads must be at least 1")
        if self.second_factor not in SECOND_FACTOR:
            raise ValueError("second_factor must be admins, all or nobody")
        if min(self.second_factor_grace_days, self.trusted_proxies) < 0:
            raise ValueError("second_factor_grace_days and trusted_proxies must not be below 0")
