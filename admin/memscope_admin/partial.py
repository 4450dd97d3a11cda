"""Answers to htmx, which asks for a part of a page where a browser without script would load the page."""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Flask, Response, request

_FULL = b"<!doctype html"


def asked() -> bool:
    """Whether a part of the page is wanted: htmx asks."""
    return request.headers.get("HX-Request") == "true"


def where() -> str | None:
    """Path and query of the page that htmx asks from; None where it says nothing of this origin."""
    address = urlsplit(request.headers.get("HX-Current-URL", ""))
    if address.netloc != request.host or not address.path.startswith(f"{request.script_root}/"):
        return None
    path = address.path.removeprefix(request.script_root)
    return f"{path}?{address.query}" if address.query else path


def redirect_to(address: str) -> Response:
    """An answer after which the whole browser goes to an address, not only the part that asked."""
    return Response(status=204, headers={"HX-Redirect": address})


def settle(app: Flask) -> None:
    """Never let a whole page land in a part of one.

    htmx swaps every answer into the target of whoever asked, errors and pages after a redirect too. A whole page takes the place
    of the page's main part instead, and the address follows where it was one to look at.
    """

    @app.after_request
    def whole(response: Response) -> Response:
        if not asked() or "HX-Retarget" in response.headers or response.mimetype != "text/html" or response.direct_passthrough:
            return response
        response.headers.add("Vary", "HX-Request")
        if response.status_code < 400 and request.headers.get("HX-Request-Type") == "full":
            # The asking element picks its part out of a whole page by itself.
            return response
        if response.get_data()[: len(_FULL)].lower() == _FULL:
            response.headers.update({"HX-Retarget": "#main", "HX-Reselect": "#main", "HX-Reswap": "outerHTML"})
            if request.method == "GET" and response.status_code == 200 and "HX-Push-Url" not in response.headers:
                response.headers["HX-Push-Url"] = request.script_root + request.full_path.rstrip("?")
        return response
