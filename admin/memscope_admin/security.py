"""Headers of every answer, and which requests are served at all."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import Flask, Response, abort, render_template, request

from memscope_admin.settings import ConsoleSettings

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
UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})
FOREVER = "public, max-age=31536000, immutable"


def guard(app: Flask, settings: ConsoleSettings, *, https: bool) -> None:
    """Refuse requests that come in clear from elsewhere or from another site's page, and set the headers of each answer."""

    @app.before_request
    def refuse() -> tuple[str, int] | None:
        if not https and not settings.plain_http and not _loopback(request.host):
            return render_template("errors/plain_http.html"), 403
        if request.method in UNSAFE and request.headers.get("Sec-Fetch-Site") == "cross-site":
            abort(403)
        return None

    @app.after_request
    def headers(response: Response) -> Response:
        kept = response.headers
        kept["Content-Security-Policy"] = POLICY
        kept["X-Content-Type-Options"] = "nosniff"
        kept.setdefault("Referrer-Policy", "same-origin")
        kept["Cross-Origin-Opener-Policy"] = "same-origin"
        kept["Cross-Origin-Resource-Policy"] = "same-origin"
        kept["Permissions-Policy"] = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"
        static = request.endpoint == "static" and response.status_code == 200
        kept["Cache-Control"] = FOREVER if static and request.args.get("v") else "no-cache" if static else "no-store"
        if https:
            kept["Strict-Transport-Security"] = "max-age=31536000"
        return response


def _loopback(host: str) -> bool:
    name = urlsplit(f"//{host}").hostname or ""
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
