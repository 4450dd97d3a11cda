"""Builds the Flask application of a composed MemScope."""

from __future__ import annotations

import hashlib
from datetime import datetime
from pathlib import Path
from typing import Any

from flask import Flask, url_for
from flask_login import current_user
from markupsafe import Markup

from memscope.app import MemScope
from memscope_admin import errors, navigation, sessions, texts
from memscope_admin.extensions import csrf, login
from memscope_admin.security import guard
from memscope_admin.settings import ConsoleSettings
from memscope_admin.views import PAGES

LARGEST_FORM = 256 * 1024
"""Bytes of a request's body: eight thousand characters of any script, and the rest of a form."""


def create_app(memscope: MemScope, settings: ConsoleSettings | None = None) -> Flask:
    """The console of an open MemScope."""
    settings = settings or ConsoleSettings()
    public = memscope.core.settings.server.public_url or ""
    https = public.startswith("https://")
    app = Flask("memscope_admin")
    app.config.update(
        SECRET_KEY=memscope.core.keys.derive("console/cookie"),
        # A cookie with the prefix is refused by browsers unless it is Secure and of this host alone.
        SESSION_COOKIE_NAME="__Host-memscope" if https else "memscope-local",
        SESSION_COOKIE_SECURE=https,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_PATH="/",
        MAX_CONTENT_LENGTH=LARGEST_FORM,
        MAX_FORM_MEMORY_SIZE=LARGEST_FORM,
        WTF_CSRF_TIME_LIMIT=None,
        WTF_CSRF_SSL_STRICT=False,
    )
    app.extensions["memscope"] = memscope
    app.extensions["memscope_console"] = settings
    # Before everything else: neither a forged nor a clear request gets as far as a session.
    guard(app, settings, https=https)
    csrf.init_app(app)
    login.init_app(app)
    login.user_loader(sessions.load)
    login.unauthorized_handler(errors.to_sign_in)
    errors.register(app)
    for page in PAGES:
        app.register_blueprint(page)
    _templates(app)
    return app


def _templates(app: Flask) -> None:
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    versions: dict[str, str] = {}

    def static(name: str) -> str:
        if name not in versions:
            versions[name] = hashlib.sha256((Path(app.static_folder or "") / name).read_bytes()).hexdigest()[:12]
        return url_for("static", filename=name, v=versions[name])

    def when(moment: datetime | None) -> Markup:
        zone = current_user.organization.timezone if current_user.is_authenticated else "UTC"
        return texts.when(moment, zone)

    def frame() -> dict[str, Any]:
        if not current_user.is_authenticated:
            return {"menu": (), "chosen": {}}
        here = sessions.visitor()
        chosen = sessions.preferences(here.principal.organization, here.principal.person)
        return {"menu": navigation.menu(here), "chosen": chosen}

    app.jinja_env.filters.update(
        visible=texts.visible, marked=texts.marked, words=texts.words, when=when, several=texts.several, listing=texts.listing
    )
    app.jinja_env.globals.update(static=static)
    app.context_processor(frame)
