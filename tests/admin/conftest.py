"""The console as a browser sees it, without one: the real ASGI application, storage in memory, guards that judge by plain words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from memscope.app import MemScope
from memscope.memories.remember import Remember, remember
from memscope.model.organization import ConnectionKind
from memscope.model.principal import Principal
from memscope.serving.asgi import build
from memscope.settings import load
from memscope.testing.builders import Builder, harbor

PLAIN_GUARDS = Path(__file__).parents[1] / "data" / "plain_guards.py"
PASSWORD = "a long password of {}"
_CSRF = re.compile(r'name="csrf_token" type="hidden" value="([^"]+)"|name="csrf_token" value="([^"]+)"')
_TAGS = re.compile(r"<[^>]+>")


class Clock:
    """A clock that a test can move."""

    def __init__(self) -> None:
        self.ahead = timedelta()
        self.away: Exception | None = None
        """Raised when it is asked: something that MemScope needs does not answer."""

    def __call__(self) -> datetime:
        if self.away is not None:
            raise self.away
        return datetime.now(UTC) + self.ahead


@dataclass
class Page:
    """An answer."""

    status: int
    html: str
    headers: Any
    url: str

    @property
    def text(self) -> str:
        """What is read on it."""
        return " ".join(unescape(_TAGS.sub(" ", self.html)).split())

    def element(self, mark: str) -> str:
        """The text from the element marked `data-t` on."""
        assert f'data-t="{mark}"' in self.html, self.text
        return " ".join(unescape(_TAGS.sub(" ", self.html.split(f'data-t="{mark}"', 1)[1].split(">", 1)[1])).split())


@dataclass
class Browser:
    """Somebody's browser: cookies, and the token of the form last seen."""

    client: TestClient
    token: str = ""

    def get(self, path: str, **params: Any) -> Page:
        """Open an address below /admin, following redirects."""
        return self._page(self.client.get(f"/admin{path}", params=params or None))

    def post(self, path: str, *, token: str | None = None, follow: bool = True, **fields: Any) -> Page:
        """Send a form."""
        data = {"csrf_token": self.token if token is None else token, **fields}
        return self._page(self.client.post(f"/admin{path}", data=data, follow_redirects=follow))

    def _page(self, response: Any) -> Page:
        if found := _CSRF.search(response.text):
            self.token = found[1] or found[2]
        return Page(response.status_code, response.text, response.headers, str(response.url))


@dataclass
class Console:
    """The organization harbor behind the console: Ada is admin, Bo in engineering, Cy a guest, Di owns people-ops, Ed owns apollo."""

    app: MemScope
    clock: Clock
    organization: Builder
    asgi: Any
    clients: list[TestClient] = field(default_factory=list)

    def browser(self) -> Browser:
        """A new one."""
        client = TestClient(self.asgi, base_url="http://localhost")
        self.clients.append(client)
        return Browser(client)

    def as_(self, name: str) -> Browser:
        """The browser of somebody who has signed in."""
        person = self.organization.people[name]
        passwords = self.app.identities.passwords
        if not passwords.has_password(self.organization.organization.id, person.id):
            passwords.set_password(self.organization.organization.id, person.id, PASSWORD.format(name))
        browser = self.browser()
        browser.get("/login")
        page = browser.post("/login", email=person.email, password=PASSWORD.format(name))
        assert page.status == 200, page.text
        assert "Sign out" in page.text
        return browser

    def agent(self, name: str) -> Principal:
        """Somebody's agent."""
        connection = self.organization.connections[name]
        return Principal(self.organization.organization.id, connection.person, connection.id, ConnectionKind.TOKEN, connection.client)

    def remember(self, name: str, content: str, **more: Any) -> int:
        """A memory saved by somebody's agent; its number."""
        return remember(self.app.core, self.agent(name), Remember(content, **more)).memory.number

    def audit(self) -> list[str]:
        """The actions in the audit log."""
        with self.app.core.storage.begin(self.organization.operator) as transaction:
            return [row.act.action for row in transaction.audit_rows(0, 1000)]


def open_console(folder: Path, **environ: str) -> tuple[MemScope, Clock]:
    """A MemScope with storage in memory, as an operator would set it."""
    clock = Clock()
    settings = load(
        None,
        {
            "MEMSCOPE_STORAGE_PROVIDER": "inprocess",
            "MEMSCOPE_PLUGINS_FILES": str(PLAIN_GUARDS),
            "MEMSCOPE_PLUGINS_BLOCKED": "spacy,instructions",
            "MEMSCOPE_ACCOUNTS_TIME_COST": "1",
            "MEMSCOPE_ACCOUNTS_MEMORY_KIB": "64",
            **environ,
        },
        data_dir=folder / "data",
    )
    return MemScope.from_settings(settings, clock=clock).open(), clock


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Console]:
    """Harbor, with phrases that the plain guards know."""
    yield from _harbor(tmp_path)


@pytest.fixture
def set_console(tmp_path: Path) -> Iterator[Callable[..., Console]]:
    """Makes the same with settings of the environment's."""
    served: list[Iterator[Console]] = []

    def make(**environ: str) -> Console:
        served.append(_harbor(tmp_path / str(len(served)), **environ))
        return next(served[-1])

    yield make
    for one in served:
        next(one, None)


def _harbor(folder: Path, **environ: str) -> Iterator[Console]:
    app, clock = open_console(folder, **environ)
    organization = harbor()
    organization.topics["HR"] = replace(organization.topics["HR"], phrases=("salary",))
    organization.topics["Finance"] = replace(organization.topics["Finance"], phrases=("quarterly forecast",))
    organization.store(app.core.storage)
    console = Console(app, clock, organization, build(app))
    yield console
    for client in console.clients:
        client.close()
    app.close()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Console]:
    """A server that nobody has set up."""
    app, clock = open_console(tmp_path)
    console = Console(app, clock, harbor(), build(app))
    yield console
    for client in console.clients:
        client.close()
    app.close()


@pytest.fixture
def console_kit() -> Any:
    """What this module is made of, for tests with settings of their own."""
    import sys

    return sys.modules[__name__]
