"""The console's own hook: pages of other plugins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memscope.hookspecs import hookspec

if TYPE_CHECKING:
    from flask import Blueprint

    from memscope.app import MemScope

EVERYBODY, OWNERS, ADMINS = "everybody", "owners", "admins"


@dataclass(frozen=True, slots=True)
class ConsolePage:
    """A page, or several under one address, that a plugin adds to the console.

    `blueprint` is served under `/admin/x/<its name>/`; its view of the empty path (`@blueprint.get("/")`) is where the menu leads.
    Templates may extend `base.html` and import from `macros.html`. Sign-in, role, CSRF, CSP and the other headers hold for it as
    for the console's own pages. `memscope_admin.sessions` gives `core()`, `principal()` and `visitor()`: a page reads and changes
    through the core's services in the name of whoever looks at it.
    """

    blueprint: Blueprint
    title: str
    """In the menu, at most 40 characters."""
    for_whom: str
    """`everybody` who is signed in, `owners` of a group and administrators, or `admins`. To others the page does not exist."""
    key: str = ""
    """A letter pressed after `g`; none when another page has it."""


class ConsoleHooks:
    """What plugins add to the console."""

    @hookspec
    def memscope_admin_pages(self, app: MemScope) -> Sequence[ConsolePage]:
        """Add pages to the console.

        Called once, when the console is built; `app` is the open MemScope. An exception, a value that is no page, a page that does
        not say for whom it is, and a name or address that is taken lose that plugin's pages alone: the console shows the plugin as
        unwell. An exception in a page's view answers that request with the console's error page. A plugin that should also load
        where there is no console marks its implementation with `hookimpl(optionalhook=True)`.
        """
        return ()
