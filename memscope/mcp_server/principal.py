"""Who is calling: the principal of a request, and the client's own statement of its version."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import anyio.to_thread
from mcp.server.context import ServerRequestContext

from memscope.core import Core
from memscope.errors import Forbidden
from memscope.model.principal import Principal

SCOPE_KEY = "memscope.principal"
"""Where the HTTP layer leaves the principal of one request, in its ASGI scope."""
Local = Callable[[], Principal | None]
"""Who calls where there is no HTTP request (stdio): asked at each call; None once that person may no longer."""

#: What a client says of itself is kept only when it looks like a version: too short a word to carry a message.
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,31}")


def bound(context: ServerRequestContext[Any, Any]) -> Principal | None:
    """The principal that the HTTP layer authenticated this very request as; None where there is no HTTP request.

    It is of the message, never of the session: a legacy session lives longer than a credential.
    """
    principal = None if context.request is None else context.request.scope.get(SCOPE_KEY)
    return principal if isinstance(principal, Principal) else None


async def caller(core: Core, context: ServerRequestContext[Any, Any], local: Local | None) -> Principal:
    """Who calls, with the client's version as last stated. Raises Forbidden when nobody may."""
    principal = bound(context)
    if principal is None and local is not None:
        principal = await anyio.to_thread.run_sync(local)
    if principal is None:
        raise Forbidden("This connection is no longer allowed in.", hint="Ask the person to connect MemScope again.")
    stated = stated_version(context)
    if stated is None or stated == principal.client_version:
        return principal
    await anyio.to_thread.run_sync(core.storage.note_use, principal.organization, principal.connection, stated)
    return replace(principal, client_version=stated)


def stated_version(context: ServerRequestContext[Any, Any]) -> str | None:
    """The version that the client gave at `initialize` (legacy) or with this request (modern)."""
    params = context.session.client_params
    version = None if params is None else params.client_info.version
    return version if version and _VERSION.fullmatch(version) else None
