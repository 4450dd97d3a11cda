"""Error pages: each says what happened and what to do, and nothing of the inside."""

from __future__ import annotations

import logging
import re
import secrets
from typing import Any

from flask import Flask, current_app, flash, g, redirect, render_template, request, session, url_for
from flask_login import AnonymousUserMixin, current_user
from flask_wtf.csrf import CSRFError
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response

from memscope.contracts.requests import REQUEST
from memscope.errors import Conflict, Forbidden, InvalidArgument, MemScopeError, NotFound, RateLimited, Unavailable
from memscope_admin import partial
from memscope_admin.texts import several

log = logging.getLogger(__name__)
PAGE_FAILED = "memscope_page_failed"
"""Where the application keeps what is told of every unexpected exception: a page of another plugin counts as its failure."""
_SECRET = re.compile("password|token|seen|code|secret|credential|recovery|^old$|^kept$|^approval$")
_PATH = re.compile(r"/[^/\\\s][^\\\s]*|/")
_WORDS = {
    400: ("This request cannot be read", "Go back and try again."),
    403: ("This is not allowed", "A page of another site sent this, or you may not do it."),
    404: ("There is nothing here", "What you look for does not exist, or you may not see it."),
    405: ("This address does not take that", "Go back and use the page's own buttons."),
    413: ("That is too much", "The text or form is larger than the console takes."),
    409: ("Somebody was faster", "Nothing was changed. Load the page again and look at it anew."),
    422: ("This value will not do", "Nothing was changed. Go back and use the page's own fields."),
    429: ("Too many tries", "Wait a little and try again."),
    503: ("Not available at the moment", "Nothing was changed. Try again in a moment."),
}


def register(app: Flask) -> None:
    """Answer every error with a page."""
    app.register_error_handler(CSRFError, _too_old)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(MemScopeError, _service)
    app.register_error_handler(Exception, _unexpected)


def to_sign_in() -> Response:
    """To the sign-in page, and back afterwards to what was asked for."""
    if partial.asked():
        return partial.redirect_to(url_for("sign_in.form", next=partial.where()))
    if request.method == "GET":
        target = request.full_path.rstrip("?")
        return redirect(url_for("sign_in.form", next=target) if target != "/" else url_for("sign_in.form"))
    if session:
        flash("Your session has ended. Sign in and do it again.")
    return redirect(url_for("sign_in.form"))


def back(target: str | None) -> str:
    """An address of the console for a path that a request named; the overview for anything else."""
    if target and _PATH.fullmatch(target):
        return request.script_root + target
    return request.script_root + "/"


def page(status: int, title: str, text: str, **more: Any) -> tuple[str, int]:
    """An error page."""
    if status >= 500 and not hasattr(g, "_login_user"):
        # Who it is could not be told: where storage is away, asking Flask-Login once more would fail once more.
        g._login_user = AnonymousUserMixin()
    signed_in = current_user.is_authenticated
    return render_template("errors/error.html", status=status, title=title, text=text, signed_in=signed_in, **more), status


def _too_old(error: CSRFError) -> tuple[str, int]:
    log.warning("console: a form without its token for %s", request.endpoint)
    kept = {name: value for name, value in request.form.items() if len(value) > 20 and not _SECRET.search(name)}
    return page(
        400, "This form was open too long", "Nothing was changed. Load the page again and repeat it.", kept=kept, reload=request.full_path
    )


def _http(error: HTTPException) -> tuple[str, int] | Response:
    status = error.code or 500
    if status < 400:
        return error.get_response(request.environ)
    return page(status, *_WORDS.get(status, ("This did not work", "Go back and try again.")))


def _service(error: MemScopeError) -> tuple[str, int]:
    match error:
        case NotFound():
            return page(404, *_WORDS[404])
        case Forbidden():
            return page(403, "You may not do this", error.message)
        case Conflict():
            return page(409, "Somebody was faster", f"{error.message} {error.hint or ''}".strip(), reload=request.full_path)
        case InvalidArgument():
            return page(422, "This value will not do", error.message)
        case RateLimited():
            wait = several(int(error.details.get("retry_after_s", 60)), "second")
            return page(429, "Too many tries", f"Nothing was changed. Wait {wait} and try again.")
        case Unavailable():
            return page(503, *_WORDS[503])
    return page(422, "This did not work", error.message)


def _unexpected(error: Exception) -> tuple[str, int]:
    number = REQUEST.get() or secrets.token_hex(8)
    log.error("console request %s failed: %s", number, type(error).__name__, exc_info=error)
    current_app.extensions[PAGE_FAILED](error)
    return page(500, "Something went wrong", f"Nothing more is known here. The server's log has it under request {number}.")
