"""Builds the Flask application of a composed MemScope."""

from __future__ import annotations

import hashlib
from datetime import datetime
from mimetypes import guess_type
from pathlib import Path
from typing import Any

from flask import Flask, Response, request, url_for
from flask_login import current_user
from markupsafe import Markup

from memscope.app import MemScope
from memscope.contracts.requests import REQUEST
from memscope.mcp_server.limits import Limits
from memscope.model.ids import new_id
from memscope_admin import charts, errors, extra_pages, factors, keys, navigation, partial, sessions, texts
from memscope_admin.extensions import csrf, login
from memscope_admin.security import behind, guard
from memscope_admin.settings import ConsoleSettings
from memscope_admin.views import PAGES, consent

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
    app.wsgi_app = behind(app.wsgi_app, settings.trusted_proxies, https=https)  # type: ignore[assignment, method-assign]
    app.extensions["memscope"] = memscope
    app.extensions["memscope_console"] = settings
    # Each process counts for itself: what it holds off is floods.
    app.extensions[consent.LIMIT] = Limits(consent.ASKED)
    # Before everything else: neither a forged nor a clear request gets as far as a session.
    guard(app, settings, https=https)
    app.before_request(_numbered)
    partial.settle(app)
    _compressed(app)
    csrf.init_app(app)
    login.init_app(app)
    login.user_loader(sessions.load)
    login.unauthorized_handler(errors.to_sign_in)
    app.before_request(factors.lead)
    errors.register(app)
    for page in PAGES:
        app.register_blueprint(page)
    extra_pages.register(app, memscope)
    _templates(app)
    return app


def _compressed(app: Flask) -> None:
    """Serve the compressed twin of a static file that has one, to whoever takes it."""
    plain = app.send_static_file
    folder = Path(app.static_folder or "")

    def static(filename: str) -> Response:
        zipped = f"{filename}.gz"
        there = filename.startswith("vendor/") and ".." not in filename and (folder / zipped).is_file()
        if not there or request.accept_encodings["gzip"] <= 0:
            return plain(filename)
        response = plain(zipped)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Type"] = app.response_class(mimetype=guess_type(filename)[0] or "").headers["Content-Type"]
        response.vary.add("Accept-Encoding")
        return response

    app.view_functions["static"] = static


def _numbered() -> None:
    """What one request writes into the audit log is found together."""
    REQUEST.set(new_id())


def _templates(app: Flask) -> None:
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    versions: dict[str, str] = {}

    def static(name: str) -> str:
        if name.startswith("vendor/"):
            # Its name carries the version.
            return url_for("static", filename=name)
        if name not in versions:
            versions[name] = hashlib.sha256((Path(app.static_folder or "") / name).read_bytes()).hexdigest()[:12]
        return url_for("static", filename=name, v=versions[name])

    def when(moment: datetime | None) -> Markup:
        zone = "UTC"
        if current_user.is_authenticated:
            zone = sessions.my_preferences().get("zone") or current_user.organization.timezone
        return texts.when(moment, zone)

    def frame() -> dict[str, Any]:
        if not current_user.is_authenticated:
            return {"menu": (), "chosen": {}}
        here = sessions.visitor()
        return {"menu": navigation.menu(here), "chosen": sessions.my_preferences()}

    app.jinja_env.filters.update(
        visible=texts.visible,
        marked=texts.marked,
        words=texts.words,
        when=when,
        several=texts.several,
        listing=texts.listing,
        number=charts.number_text,
    )
    app.jinja_env.globals.update(second_factor_due=factors.enrol_by)
    app.jinja_env.globals.update(static=static, key_table={"everywhere": keys.EVERYWHERE, "review": keys.REVIEW})
    app.context_processor(frame)
