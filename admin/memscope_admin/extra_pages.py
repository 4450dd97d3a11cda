"""Pages that other plugins add: served as our own are, or left out with their plugin shown as unwell."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from flask import Blueprint, Flask, abort, request
from werkzeug.wrappers import Response

from memscope.app import MemScope
from memscope_admin import errors, navigation
from memscope_admin.hookspecs import ADMINS, EVERYBODY, OWNERS, ConsolePage
from memscope_admin.sessions import Visitor

HOOK = "memscope_admin_pages"
TITLE_MAX = 40
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_ROLES: dict[str, tuple[Callable[[], Response | None], Callable[[Visitor], bool]]] = {
    EVERYBODY: (navigation.signed_in, navigation.everybody),
    OWNERS: (navigation.owners_only, navigation.owners),
    ADMINS: (navigation.admins_only, navigation.admins),
}


def register(app: Flask, memscope: MemScope) -> None:
    """Serve the pages of all plugins under /x/<name>/."""
    hooks = memscope.core.hooks
    served: list[navigation.Entry] = []
    plugins: dict[str, str] = {}
    for plugin, pages in hooks.additions(HOOK, ConsolePage, {"app": memscope}):
        for page in pages:
            try:
                landing = _checked(page, app.blueprints)
            except Exception as error:
                hooks.refuse(plugin, HOOK, error)
                continue
            _serve(app, plugin, page)
            plugins[page.blueprint.name] = plugin
            taken = {entry.key for entry in (*navigation.ENTRIES, *served)}
            key = page.key if len(page.key) == 1 and page.key not in taken else ""
            served.append(navigation.Entry(landing, page.title, key, _shown(memscope, plugin, _ROLES[page.for_whom][1])))
    app.extensions[navigation.EXTRA] = tuple(served)

    def failed(error: Exception) -> None:
        plugin = next((plugins[name] for name in request.blueprints if name in plugins), None)
        if plugin is not None:
            hooks.refuse(plugin, HOOK, error)

    app.extensions[errors.PAGE_FAILED] = failed


def _checked(page: ConsolePage, taken: Collection[str]) -> str:
    """The endpoint to which the menu leads; raises ValueError, or what Flask raises, for a page that cannot be served."""
    if not isinstance(page.blueprint, Blueprint):
        raise TypeError(f"the page {page.title} has no Flask blueprint")
    name = page.blueprint.name
    if page.for_whom not in _ROLES:
        raise ValueError(f"the page {name} does not say for whom it is: {', '.join(_ROLES)}")
    if not _NAME.fullmatch(name):
        raise ValueError(f"the page's name {name} is not made of lower-case letters, digits and _")
    if not 0 < len(page.title) <= TITLE_MAX:
        raise ValueError(f"the title of the page {name} must have 1 to {TITLE_MAX} characters")
    if name in taken:
        raise ValueError(f"another page is named {name}")
    # What cannot be registered must not be registered by half.
    trial = Flask("trial", static_folder=None)
    trial.register_blueprint(page.blueprint, url_prefix=_address(page))
    for rule in trial.url_map.iter_rules():
        if rule.rule == f"{_address(page)}/" and "GET" in (rule.methods or ()):
            return str(rule.endpoint)
    raise ValueError(f"the page {name} has no view of its empty path")


def _serve(app: Flask, plugin: str, page: ConsolePage) -> None:
    gate = _ROLES[page.for_whom][0]

    def allowed() -> Response | None:
        found = gate()
        memscope: MemScope = app.extensions["memscope"]
        if found is None and memscope.core.hooks.state(plugin) != "active":
            abort(404)
        return found

    # Before any function of the plugin's own, and for blueprints nested in it too.
    app.before_request_funcs.setdefault(page.blueprint.name, []).insert(0, allowed)
    app.register_blueprint(page.blueprint, url_prefix=_address(page))


def _shown(memscope: MemScope, plugin: str, role: Callable[[Visitor], bool]) -> Callable[[Visitor], bool]:
    return lambda visitor: role(visitor) and memscope.core.hooks.state(plugin) == "active"


def _address(page: ConsolePage) -> str:
    return f"/x/{page.blueprint.name}"
