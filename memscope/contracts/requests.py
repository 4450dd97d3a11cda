"""Which request of a person or an agent is being served: rows of the audit log that one request wrote are found together."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar

Detail = str | int | bool | None
REQUEST: ContextVar[str | None] = ContextVar("memscope_request", default=None)
"""An id that says nothing; None outside of requests."""
DETAIL = "request"
"""The key under which storage adds it to an act's detail."""


def noted(detail: Mapping[str, Detail]) -> dict[str, Detail]:
    """The detail of an act with the id of the request that is being served, if there is one."""
    request = REQUEST.get()
    return dict(detail) if request is None else {**detail, DETAIL: request}
