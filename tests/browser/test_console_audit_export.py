"""A long export of the audit log: asked for, watched, saved."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from memscope.memories import audit_log
from memscope.model.audience import Scope
from memscope.upkeep import audit_exports


def test_a_long_export_is_watched_and_saved(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_log, "EXPORT_MAX", 2)
    for number in range(5):
        site.remember("Ada", f"Harbour rule {number}", scope=Scope.ORGANIZATION)
    page = site.page("Ada")
    page.goto(f"{site.url}/admin/audit?action=memory.remember")
    page.get_by_role("link", name="Export these as CSV").click()
    page.get_by_role("button", name="Write the file").click()
    expect(page.locator("[data-t=export]")).to_contain_text("action:memory.remember")
    assert "action=memory.remember" in page.url
    audit_exports.run_waiting(site.app.core)
    # The page learns of it by itself.
    with page.expect_download() as saved:
        page.get_by_role("link", name="Save the file").click()
    with Path(saved.value.path()).open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 5
    page.get_by_role("button", name="Discard").click()
    expect(page.locator("[data-t=toast]")).to_contain_text("The export was discarded.")
    expect(page.locator("[data-t=export]")).to_have_count(0)
