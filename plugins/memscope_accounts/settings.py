"""`[accounts]`: how passwords are hashed and what they must be; how long what agents are given lasts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AccountsSettings:
    """The defaults are argon2id as RFC 9106 recommends for servers with memory to spare (section 4, second choice)."""

    time_cost: int = 3
    memory_kib: int = 65536
    parallelism: int = 4
    hashes_at_once: int = 2
    """Each takes `memory_kib` of memory."""
    password_min: int = 12
    grant_days: int = 90
    """How long an agent that signed in through the browser stays allowed, however often it refreshes its tokens."""
    access_minutes: int = 60
    """How long one access token of such an agent lasts. Some clients ask for the next before every call when it is short."""
    refresh_grace_s: int = 60
    """How long a replaced refresh token is still answered: hosts with several windows ask at the same time."""
    client_hours: int = 24
    """How long a client that registered itself is known before anybody allows it."""
    client_documents: bool = True
    """Whether a client may be an https address, from which its description is fetched."""

    def __post_init__(self) -> None:
        if self.time_cost < 1 or self.memory_kib < 8 * self.parallelism or self.parallelism < 1:
            raise ValueError("time_cost and parallelism must be at least 1, and memory_kib at least 8 for each lane")
        if self.hashes_at_once < 1:
            raise ValueError("hashes_at_once must be at least 1")
        if not 8 <= self.password_min <= 64:
            raise ValueError("password_min must be 8 to 64")
        if not 1 <= self.grant_days <= 3650:
            raise ValueError("grant_days must be 1 to 3650")
        if not 5 <= self.access_minutes <= 1440:
            raise ValueError("access_minutes must be 5 to 1440")
        if not 0 <= self.refresh_grace_s <= 600:
            raise ValueError("refresh_grace_s must be 0 to 600")
        if not 1 <= self.client_hours <= 720:
            raise ValueError("client_hours must be 1 to 720")
