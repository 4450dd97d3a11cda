"""A real server and the system's Chromium: few tests, each a person's errand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from memscope.app import MemScope
from memscope.memories.remember import Remember, remember
from memscope.model.organization import ConnectionKind
from memscope.model.principal import Principal
from memscope.serving.process import server as http_server
from memscope.serving.workers import listening, url
from memscope.settings import load
from memscope.testing.builders import Builder, harbor

PLAIN_GUARDS = Path(__file__).parents[1] / "data" / "plain_guards.py"
RAISING = PLAIN_GUARDS.with_name("raising_guard.py")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE localhost , EXCLUDE 127.0.0.1",
]
PASSWORD = "a long password of {}"
AXE = Axe().axe_script
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
# Themes differ in colours alone (test_console_assets), so that the other rules need one run a size.
SIZES: tuple[tuple[int, int, dict[Literal["light", "dark"], Any]], ...] = (
    (320, 800, {"light": RULES, "dark": COLOURS}),
    (1280, 900, {"dark": RULES, "light": COLOURS}),
)
expect.set_options(timeout=20_000)


@dataclass
class Site:
    """A served organization, and what pages did that they should not."""

    app: MemScope
    url: str
    organization: Builder
    browser: Browser
    complaints: list[str] = field(default_factory=list)

    def page(self, name: str | None = None, **options: Any) -> Page:
        """A page of a new browser profile; of somebody signed in when named."""
        page = self.browser.new_context(**options).new_page()
        page.on("console", lambda message: self.complaints.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(self.url) else self.complaints.append(request.url))
        if name is not None:
            person = self.organization.people[name]
            passwords, organization = self.app.identities.passwords, self.organization.organization.id
            if not passwords.has_password(organization, person.id):
                passwords.set_password(organization, person.id, PASSWORD.format(name))
            page.goto(f"{self.url}/admin/login")
            page.get_by_label("E-mail address").fill(person.email)
            page.get_by_label("Password").fill(PASSWORD.format(name))
            page.get_by_role("button", name="Sign in").click()
            page.get_by_role("heading", name="Overview").wait_for()
        return page

    def violations(self, page: Page) -> list[str]:
        """What is wrong with a page as it stands, light and dark, on a desk and on a small telephone."""
        return violations(page)

    def remember(self, name: str, content: str, **more: Any) -> int:
        """A memory saved by somebody's agent; its number."""
        connection = self.organization.connections[name]
        agent = Principal(self.organization.organization.id, connection.person, connection.id, ConnectionKind.TOKEN, connection.client)
        return remember(self.app.core, agent, Remember(content, **more)).memory.number


def violations(page: Page) -> list[str]:
    """What axe finds on a page, and whether it scrolls sideways: "320 dark: ..."."""
    told = []
    for width, height, themes in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for theme, rules in themes.items():
            page.emulate_media(color_scheme=theme)
            told += [f"{width} {theme}: {' '.join(text.split())}" for text in _axe(page, rules)]
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            wide = page.evaluate(
                "[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
                ".slice(0, 4).map(e => e.outerHTML.slice(0, 120))"
            )
            told.append(f"{width}: scrolls sideways: {wide}")
    page.emulate_media(color_scheme="null")
    return told


def _axe(page: Page, rules: Any) -> list[str]:
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE)
    # Of rules that hold it would word every element, which takes three times as long.
    found = page.evaluate("options => axe.run(options).then(found => found.violations)", {"runOnly": rules, "resultTypes": ["violations"]})
    return [f"{one['id']}: {node['target']} {node.get('failureSummary', '')}" for one in found for node in one["nodes"]]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The system's Chromium; not longer than a module, since its driver keeps an event loop running in this thread."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        yield browser
        browser.close()


def _serve(folder: Path, chromium: Browser, organization: Builder | None, **more: str) -> Iterator[Site]:
    environ = {
        "MEMSCOPE_STORAGE_PROVIDER": "inprocess",
        "MEMSCOPE_PLUGINS_FILES": str(PLAIN_GUARDS),
        "MEMSCOPE_PLUGINS_BLOCKED": "spacy,instructions",
        "MEMSCOPE_ACCOUNTS_TIME_COST": "1",
        "MEMSCOPE_ACCOUNTS_MEMORY_KIB": "64",
        **more,
    }
    ready = threading.Event()
    others = list(chromium.contexts)
    with listening("127.0.0.1", 0) as listener, MemScope.from_settings(load(None, environ, data_dir=folder / "data")) as app:
        if organization is not None:
            organization.store(app.core.storage)
        server = http_server(app, ready.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        assert ready.wait(30)
        site = Site(app, url(listener), organization or harbor(), chromium)
        try:
            yield site
        finally:
            for context in chromium.contexts:
                if context not in others:
                    context.close()
            server.should_exit = True
            thread.join(15)
        assert site.complaints == []


@pytest.fixture
def site(tmp_path: Path, chromium: Browser) -> Iterator[Site]:
    """Harbor, served. Afterwards: no console message, no request to elsewhere."""
    yield from _serve(tmp_path, chromium, _harbor())


@pytest.fixture(scope="module")
def lasting(serve_lasting: Callable[..., Site]) -> Site:
    """The same for all tests of a module, which only look."""
    return serve_lasting(_harbor())


@pytest.fixture
def broken(tmp_path: Path, chromium: Browser) -> Iterator[Site]:
    """Harbor with a classifier that always fails and no other, and a value fixed by the environment."""
    more = {"MEMSCOPE_PLUGINS_FILES": str(RAISING), "MEMSCOPE_PLUGINS_BLOCKED": "spacy,instructions,secrets"}
    yield from _serve(tmp_path, chromium, _harbor(), **more, MEMSCOPE_ORGANIZATION_SECRETS="redact")


def _harbor() -> Builder:
    organization = harbor()
    organization.topics["HR"] = replace(organization.topics["HR"], phrases=("salary",))
    organization.topics["Finance"] = replace(organization.topics["Finance"], phrases=("quarterly forecast",))
    return organization


@pytest.fixture
def serve(tmp_path: Path, chromium: Browser) -> Iterator[Callable[..., Site]]:
    """Serves an organization as a test built it, with one-file plugins: serve(organization, plugins)."""
    yield from _server(tmp_path, chromium)


@pytest.fixture(scope="module")
def serve_lasting(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Callable[..., Site]]:
    """The same, served until the module's last test."""
    yield from _server(tmp_path_factory.mktemp("lasting"), chromium)


def _server(folder: Path, chromium: Browser) -> Iterator[Callable[..., Site]]:
    served: list[Iterator[Site]] = []

    def start(organization: Builder, plugins: Sequence[Path] = ()) -> Site:
        files = ",".join(str(path) for path in (PLAIN_GUARDS, *plugins))
        served.append(_serve(folder / str(len(served)), chromium, organization, MEMSCOPE_PLUGINS_FILES=files))
        return next(served[-1])

    yield start
    for one in served:
        next(one, None)


@pytest.fixture
def fresh(tmp_path: Path, chromium: Browser) -> Iterator[Site]:
    """A server that nobody has set up."""
    yield from _serve(tmp_path, chromium, None)
