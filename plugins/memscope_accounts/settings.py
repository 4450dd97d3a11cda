"""`[accounts]`: how passwords are hashed and what they must be."""

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

    def __post_init__(self) -> None:
        if self.time_cost < 1 or self.memory_kib < 8 * self.parallelism or self.parallelism < 1:
            raise ValueError("time_cost and parallelism must be at least 1, and memory_kib at least 8 for each lane")
        if self.hashes_at_once < 1:
            raise ValueError("hashes_at_once must be at least 1")
        if not 8 <= self.password_min <= 64:
            raise ValueError("password_min must be 8 to 64")
