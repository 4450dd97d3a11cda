"""Headers of every answer, and which requests are served at all."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from flask import Flask, Response, abort, g, render_template, request
from werkzeug.middleware.proxy_fix import ProxyFix

from memscope_admin.settings import ConsoleSettings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

log = logging.getLogger(__name__)
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "object-src 'none'",
        "frame-ancestors 'none'",
    )
)
FLOW = ("/authorize", "/consent/")
"""Pages in a client's sign-in. The client may have opened them in a window of its own, and waits for what that ends with."""
UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})
FOREVER = "public, max-age=31536000, immutable"
_VERSIONED = re.compile(r"/vendor/[\w.]+-\d+\.\d+\.\d+\.[\w.]+$")


def guard(app: Flask, settings: ConsoleSettings, *, https: bool) -> None:
    """Refuse requests that come in clear from elsewhere or from another site's page, and set the headers of each answer."""

    @app.before_request
    def refuse() -> tuple[str, int] | None:
        if not https and not settings.plain_http and not _loopback(request.host):
            return render_template("errors/plain_http.html"), 403
        if request.method in UNSAFE and request.headers.get("Sec-Fetch-Site") == "cross-site":
            log.warning("console: a page of another site tried to send a form to %s", request.endpoint)
            abort(403)
        return None

    @app.after_request
    def headers(response: Response) -> Response:
        kept = response.headers
        kept["Content-Security-Policy"] = g.get("content_policy", POLICY)
        kept["X-Content-Type-Options"] = "nosniff"
        kept.setdefault("Referrer-Policy", "same-origin")
        if not _in_a_flow():
            kept["Cross-Origin-Opener-Policy"] = "same-origin"
        kept["Cross-Origin-Resource-Policy"] = "same-origin"
        kept["Permissions-Policy"] = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"
        static = request.endpoint == "static" and response.status_code in (200, 304)
        fixed = request.args.get("v") or _VERSIONED.search(request.path)
        kept["Cache-Control"] = FOREVER if static and fixed else "no-cache" if static else kept.get("Cache-Control", "no-store")
        if https:
            kept["Strict-Transport-Security"] = "max-age=31536000; includeSubDomains"
        return response


def behind(inner: WSGIApplication, proxies: int, *, https: bool) -> WSGIApplication:
    """Take the browser's address from the last proxies' X-Forwarded-For, and the scheme from the public address alone."""
    if proxies:
        inner = ProxyFix(inner, x_for=proxies, x_proto=0, x_host=0)

    def served(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if https:
            environ["wsgi.url_scheme"] = "https"
        return inner(environ, start_response)

    return served


def without_scripts(*form_targets: str) -> None:
    """Let the answer run no script, and its form be answered with a redirect to one of the targets (Chromium follows `form-action` there)."""
    targets = " ".join(("form-action 'self'", *form_targets))
    g.content_policy = POLICY.replace("script-src 'self'", "script-src 'none'").replace("form-action 'self'", targets)


def _in_a_flow() -> bool:
    target = request.args.get("next", "") if request.endpoint is not None and request.endpoint.startswith("sign_in.") else request.path
    return target.startswith(FLOW)


def _loopback(host: str) -> bool:
    name = urlsplit(f"//{host}").hostname or ""
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
