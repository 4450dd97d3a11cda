"""The console: a Flask application under `/admin`, a plugin like any other. It decides nothing: it calls what the tools call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from memscope.contracts.plugins import SettingsSection, WebPart
from memscope.hookspecs import hookimpl
from memscope_admin.hookspecs import ConsoleHooks
from memscope_admin.settings import ConsoleSettings

if TYPE_CHECKING:
    from memscope.app import MemScope

MEMSCOPE_HOOKSPECS = (ConsoleHooks,)
"""Hooks of the console, for plugins that add to it."""
PATH = "/admin"
_chosen = [ConsoleSettings()]


@hookimpl
def memscope_settings() -> SettingsSection:
    """Own `[console]`."""
    return SettingsSection("console", ConsoleSettings)


@hookimpl
def memscope_configure(section: ConsoleSettings) -> None:
    """Remember `[console]`."""
    _chosen[0] = section


@hookimpl
def memscope_web(app: MemScope) -> Sequence[WebPart]:
    """Serve the console, and let agents sign in through it where an identity provider keeps grants."""
    # Flask is imported only when the console is served.
    from a2wsgi import WSGIMiddleware

    from memscope_admin.factory import create_app

    console = WebPart(PATH, WSGIMiddleware(cast(Any, create_app(app, _chosen[0])), workers=_chosen[0].threads))
    if (grants := app.identities.grants) is None:
        return [console]
    from memscope_admin import oauth

    server = oauth.Server(app, grants, _chosen[0].trusted_proxies)
    return [console, WebPart(oauth.PATH, server.endpoints), WebPart(oauth.DOCUMENTS_PATH, server.documents)]
