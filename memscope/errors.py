"""Errors: what callers are told. Messages tell an agent or a person what to do next, and hold no memory text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class MemScopeError(Exception):
    """An error of the contract (DESIGN section 5): a stable code, a message, a hint, and details for programs."""

    code = "unavailable"

    def __init__(self, message: str, *, hint: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: Mapping[str, Any] = details

    def envelope(self) -> dict[str, Any]:
        """The JSON object that tools answer with."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.hint is not None:
            error["hint"] = self.hint
        return {"error": error | dict(self.details)}


class InvalidArgument(MemScopeError):
    """A parameter has a wrong type or value. `parameter` names it."""

    code = "invalid_argument"

    def __init__(self, parameter: str, message: str, *, hint: str | None = None, **details: Any) -> None:
        super().__init__(message, hint=hint, parameter=parameter, **details)
        self.parameter = parameter


class UnknownTeam(MemScopeError):
    """No team of the organization has this id, slug, name or alias."""

    code = "unknown_team"


class UnknownProject(MemScopeError):
    """No project of the organization has this id, slug, name or alias."""

    code = "unknown_project"


class NotFound(MemScopeError):
    """Nothing there that this person may read: one answer for what never existed and what is hidden."""

    code = "not_found"

    def __init__(self) -> None:
        super().__init__(
            "No memory with this id can be read by the signed-in person.",
            hint="Check the id, or search with recall or list_memories.",
        )


class Forbidden(MemScopeError):
    """The person may read it and may not do this."""

    code = "forbidden"


class ConfirmRequired(MemScopeError):
    """The person has to be asked first."""

    code = "confirm_required"


class Conflict(MemScopeError):
    """The state does not allow it, or somebody was faster."""

    code = "conflict"


class SecretRejected(MemScopeError):
    """The organization refuses memories with credentials."""

    code = "secret_rejected"


class RateLimited(MemScopeError):
    """Too many calls on this connection."""

    code = "rate_limited"

    def __init__(self, retry_after_s: int) -> None:
        super().__init__(
            f"This connection made too many calls. Wait {retry_after_s} s and try again.",
            retry_after_s=retry_after_s,
        )


class Unavailable(MemScopeError):
    """Something MemScope needs did not answer. Nothing was saved."""

    code = "unavailable"

    def __init__(self, message: str = "MemScope could not do this now. Nothing was saved; try again in a moment.", **details: Any) -> None:
        super().__init__(message, **details)


class StartError(Exception):
    """The server or a command cannot start; the text says why and what to do."""
