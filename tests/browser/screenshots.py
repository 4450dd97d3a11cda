"""Takes the pictures of docs/screenshots from the organization of `memscope demo`: python tests/browser/screenshots.py [FOLDER]

Needs Playwright and the system's Chromium, as the browser tests do. Nothing leaves this computer.
"""

from __future__ import annotations

import base64
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from memscope.app import MemScope
from memscope.cli.demo import load as load_demo
from memscope.memories.browse import ListMemories, list_memories
from memscope.memories.review import review_queue
from memscope.model.principal import Principal
from memscope.organizations.signing_in import console_connection
from memscope.serving.process import server as http_server
from memscope.serving.workers import listening, url
from memscope.settings import load

ROOT = Path(__file__).parents[2]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage"]
SIZE = {"width": 1280, "height": 960}
QUALITY = 80
WHO = "ines@tidewater.example"
OFFICE = "The office in Porto"
PAGES = {
    "dashboard": "/",
    "review": "/review?memory={waiting}",
    "memories": "/memories",
    "memory": "/memories/{office}",
    "access": "/access?memory={waiting}&person={yuki}",
    "topics": "/topics/hr",
    "people": "/people",
    "connections": "/connections?all=yes",
    "audit": "/audit",
    "insights": "/insights",
}
ENVIRON = {
    "MEMSCOPE_STORAGE_PROVIDER": "inprocess",
    # Pages that ask for a second factor first would be no pictures of themselves.
    "MEMSCOPE_ACCOUNTS_TIME_COST": "1",
    "MEMSCOPE_ACCOUNTS_MEMORY_KIB": "64",
}


def main(folder: Path) -> None:
    """Serve the demo, sign in, and take every page light and dark."""
    folder.mkdir(parents=True, exist_ok=True)
    ready = threading.Event()
    with (
        tempfile.TemporaryDirectory() as data,
        listening("127.0.0.1", 0) as listener,
        MemScope.from_settings(load(None, ENVIRON, data_dir=Path(data))) as app,
    ):
        app.core.embedding.load()
        credentials = load_demo(app)
        addresses = {name: path.format(**_named(app)) for name, path in PAGES.items()}
        server = http_server(app, ready.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        if not ready.wait(60):
            raise SystemExit("The server did not start.")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
            for theme in ("light", "dark"):
                page = browser.new_context(viewport=SIZE, color_scheme=theme).new_page()  # type: ignore[arg-type]
                _sign_in(page, url(listener), credentials["password"])
                for name, path in addresses.items():
                    page.goto(f"{url(listener)}/admin{path}")
                    page.wait_for_load_state("networkidle")
                    _take(page, folder / f"{name}-{theme}.webp")
            browser.close()
        server.should_exit = True
        thread.join(15)


def _named(app: MemScope) -> dict[str, Any]:
    organization = next(iter(app.core.storage.organizations()))
    people = {person.email.partition("@")[0]: person for person in app.core.rosters.current(organization.id).people.values()}
    found = console_connection(app.core, organization.id, people["ines"].id)
    here = Principal(organization.id, found.person, found.id, found.kind, found.client)
    waiting = next(item for item in review_queue(app.core, here, 100).items if item.review_kind == "audience")
    office = next(
        line for line in list_memories(app.core, here, ListMemories(limit=100)).memories if (line.preview or "").startswith(OFFICE)
    )
    return {"waiting": waiting.memory.number, "office": office.number, "yuki": people["yuki"].id}


def _sign_in(page: Page, address: str, password: str) -> None:
    page.goto(f"{address}/admin/login")
    page.get_by_label("E-mail address").fill(WHO)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("heading", name="Overview").wait_for()


def _take(page: Page, path: Path) -> None:
    client = page.context.new_cdp_session(page)
    taken = client.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    path.write_bytes(base64.b64decode(taken["data"]))
    client.detach()
    print(f"{path.name}: {path.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "screenshots")
