"""What pages load: files of other people with their sums and licences, kept by browsers for good, and nothing from elsewhere."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import memscope_admin
from memscope_admin.colours import stylesheet
from memscope_admin.vendor.vendor import FILES, RECORD, digest

PACKAGE = Path(memscope_admin.__file__).parent
LOCK = json.loads((PACKAGE / "vendor" / "package-lock.json").read_text())
VENDORED = PACKAGE / "static" / "vendor"


def test_vendored_files_are_those_whose_sums_were_written_down() -> None:
    record = json.loads((VENDORED / RECORD).read_text())
    expected = {RECORD}
    for package in record:
        locked = LOCK["packages"][f"node_modules/{package['name']}"]
        assert (package["version"], package["integrity"], package["licence"]) == (locked["version"], locked["integrity"], locked["license"])
        assert (VENDORED / package["licence_text"]).read_text().strip()
        expected |= {package["licence_text"], *package["files"], *(f"{name}.gz" for name in package["files"])}
        for name, found in package["files"].items():
            content = (VENDORED / name).read_bytes()
            assert digest(content) == found
            assert gzip.decompress((VENDORED / f"{name}.gz").read_bytes()) == content
            assert package["version"] in name
            assert b"sourceMappingURL" not in content
    assert {package["name"] for package in record} == FILES.keys()
    assert {path.name for path in VENDORED.iterdir()} == expected


def test_the_lock_pins_exact_versions_and_names_no_address() -> None:
    text = (PACKAGE / "vendor" / "package-lock.json").read_text()
    assert LOCK["lockfileVersion"] == 3
    assert "http" not in text
    assert "resolved" not in text
    wanted = json.loads((PACKAGE / "vendor" / "package.json").read_text())["dependencies"]
    assert wanted.keys() == FILES.keys()
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values())


def test_versioned_files_are_kept_for_good_and_come_compressed(console: Any) -> None:
    browser = console.browser()
    (script,) = re.findall(r'src="/admin(/static/vendor/[^"]+)"', browser.get("/login").html)
    zipped = browser.client.get(f"/admin{script}", headers={"Accept-Encoding": "gzip"})
    plain = browser.client.get(f"/admin{script}", headers={"Accept-Encoding": "identity"})
    assert zipped.content == plain.content == (PACKAGE / script.lstrip("/")).read_bytes()
    assert zipped.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert zipped.headers["content-type"] == plain.headers["content-type"] == "text/javascript; charset=utf-8"
    for answer in (zipped, plain):
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert "Accept-Encoding" in zipped.headers["vary"]
    record = browser.client.get("/admin/static/vendor/VENDOR.json")
    assert record.headers["cache-control"] == "no-cache"


def test_only_files_of_this_origin_are_loaded() -> None:
    for template in (PACKAGE / "templates").rglob("*.html"):
        text = template.read_text()
        assert not re.search(r'(src|href|action)="(https?:)?//', text), template
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|hx-on|\bjs:", text), template
        assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", text)), template


def test_a_part_of_a_page_is_never_filled_with_a_whole_one(console: Any) -> None:
    browser = console.as_("Ada")
    asking = {"HX-Request": "true", "HX-Current-URL": "http://localhost/admin/memories?q=tide"}
    missing = browser.client.get("/admin/nothing", headers=asking)
    assert missing.status_code == 404
    assert (missing.headers["hx-retarget"], missing.headers["hx-reselect"]) == ("#main", "#main")
    assert "hx-push-url" not in missing.headers
    whole = browser.client.get("/admin/me?x=1", headers=asking)
    assert whole.headers["hx-push-url"] == "/admin/me?x=1"
    assert "hx-retarget" not in browser.client.get("/admin/me").headers
    forged = browser.client.post("/admin/review/undo", headers=asking)
    assert forged.status_code == 400
    assert forged.headers["hx-retarget"] == "#main"


def test_htmx_is_sent_to_sign_in_and_back_to_the_page_it_stood_on(console: Any) -> None:
    browser = console.browser()
    asking = {"HX-Request": "true", "HX-Current-URL": "http://localhost/admin/memories?q=tide"}
    answer = browser.client.get("/admin/memories", headers=asking)
    assert answer.status_code == 204
    assert answer.headers["hx-redirect"] == "/admin/login?next=/memories?q%3Dtide"
    elsewhere = browser.client.get("/admin/memories", headers={**asking, "HX-Current-URL": "https://evil.example/admin/x"})
    assert elsewhere.headers["hx-redirect"] == "/admin/login"


def test_themes_differ_in_colours_alone() -> None:
    css = (PACKAGE / "static" / "console.css").read_text() + stylesheet("#1650a8", "#8ab8ff")
    rules = re.findall(r':root(?:\[data-theme="dark"\]|:not\(\[data-theme="light"\]\)) *\{([^}]*)\}', css)
    assert len(rules) == css.count("data-theme") == 6
    assert css.count("prefers-color-scheme") == 3
    assert all(
        re.fullmatch(r"\s*((color-scheme: dark|--[\w-]+: ?#[0-9a-f]{6});\s*)*", rule.rstrip().rstrip(";") + ";") for rule in rules
    ), rules
