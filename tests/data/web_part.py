"""A one-file plugin that adds a page to the server, and claims an address that is MemScope's own when told to."""

import os
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from memscope.contracts.plugins import WebPart
from memscope.hookspecs import hookimpl


async def page(scope: Scope, receive: Receive, send: Send) -> None:
    """Says where it is."""
    await PlainTextResponse(f"{scope['root_path']} of a plugin")(scope, receive, send)


@hookimpl
def memscope_web(app: Any) -> list[WebPart]:
    """One page."""
    return [WebPart(os.environ.get("WEB_PART_PATH", "/extra"), page)]
