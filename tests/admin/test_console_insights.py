"""Overview, plugins, insights and settings: what they show, what they refuse."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from memscope_admin import colours
from memscope_admin.charts import Chart, Series, as_csv

from memscope.approvals.consent import Consent
from memscope.errors import Forbidden, Unavailable
from memscope.memories.browse import ListMemories, get_memory, list_memories
from memscope.memories.insights import insights
from memscope.memories.recall import Recall, recall
from memscope.memories.remember import Remember, remember
from memscope.memories.review import ReviewMemory, review_memory, review_queue
from memscope.model.audience import Scope
from memscope.model.memory import Kind
from memscope.model.organization import ConnectionKind
from memscope.model.principal import Principal
from memscope.organizations.apply import apply
from memscope.organizations.file import FileError, parse
from memscope.organizations.settings import keep_fixed
from memscope.plugin_states import PluginStates
from memscope.testing.builders import harbor
from memscope.upkeep.backups import note_backup
from memscope.upkeep.census import census
from memscope.upkeep.runner import run_due
from memscope.usage import ALL, SAVED

RAISING = Path(__file__).parents[1] / "data" / "raising_guard.py"
SHARED = Scope.ORGANIZATION
DAY = timedelta(days=1)
AGREED = Consent(True, True)


@pytest.fixture
def broken(set_console: Any) -> Any:
    """Harbor with a classifier that always fails, and no other."""
    return set_console(MEMSCOPE_PLUGINS_FILES=str(RAISING), MEMSCOPE_PLUGINS_BLOCKED="spacy,instructions,secrets")


def held(console: Any, name: str) -> bool:
    """Whether the newest memory that somebody saved is held, and that the review says why."""
    memory = list_memories(console.app.core, console.agent(name), ListMemories(filter="mine", limit=1)).memories[0]
    return bool(memory.held)


def card(page: Any, name: str) -> str:
    """The markup of one plugin's card."""
    return str(page.html).split(f'id="plugin-{name}"', 1)[1].split("</section>", 1)[0]


def number(markup: str, mark: str) -> int:
    """The number in the element with a mark."""
    return int(markup.split(f'data-t="{mark}">', 1)[1].split("<", 1)[0])


# -- plugins ---------------------------------------------------------------------------------------------------------


def test_a_failing_plugin_is_seen_put_in_shadow_and_switched_off(broken: Any) -> None:
    ada = broken.as_("Ada")
    broken.remember("Bo", "The office has new chairs", scope=SHARED)
    assert held(broken, "Bo")
    assert "raising_guard failed or took too long" in broken.as_("Ada").get("/review").text
    before = ada.get("/plugins")
    assert "unwell" in card(before, "raising_guard")
    assert "LookupError: model file missing" in card(before, "raising_guard")
    broken.remember("Bo", "The kitchen is painted", scope=SHARED)
    assert number(card(ada.get("/plugins"), "raising_guard"), "errors") == number(card(before, "raising_guard"), "errors") + 1
    asked = ada.get("/plugins/raising_guard/switch", state="shadow")
    assert "No other plugin judges how sensitive a text is" in asked.element("consequence")
    assert ada.post("/plugins/raising_guard/switch", state="shadow", days="0").status == 422
    assert "shadow mode" in ada.post("/plugins/raising_guard/switch", state="shadow", days="7").element("toast")
    broken.remember("Bo", "The garden is open", scope=SHARED)
    assert not held(broken, "Bo")
    page = ada.get("/plugins")
    assert 'data-state="shadow"' in page.html
    assert "none → LookupError × 1" in page.element("differences")
    assert "1 text" in ada.get("/plugins/raising_guard/switch", state="active").text
    ada.post("/plugins/raising_guard/switch", state="off", days="7")
    calls = number(card(ada.get("/plugins"), "raising_guard"), "calls")
    broken.remember("Bo", "The roof is mended", scope=SHARED)
    assert number(card(ada.get("/plugins"), "raising_guard"), "calls") == calls
    ada.post("/plugins/raising_guard/switch", state="active", days="7")
    broken.remember("Bo", "The door is green", scope=SHARED)
    assert held(broken, "Bo")
    assert broken.audit().count("plugin.switch") == 3


def test_shadow_mode_ends_by_itself_as_off(broken: Any) -> None:
    ada = broken.as_("Ada")
    ada.get("/plugins/raising_guard/switch", state="shadow")
    ada.post("/plugins/raising_guard/switch", state="shadow", days="1")
    broken.clock.ahead += DAY * 2
    broken.remember("Bo", "The office has new chairs", scope=SHARED)
    assert not held(broken, "Bo")
    page = broken.as_("Ada").get("/plugins")
    assert "Its time in shadow mode ended" in card(page, "raising_guard")
    assert 'data-state="off"' in page.html


def test_what_the_server_runs_on_and_what_is_fixed_stays(console: Any) -> None:
    ada = console.as_("Ada")
    for name, why in (
        ("inprocess", "It gives the storage"),
        ("accounts", "It gives a way to sign in"),
        ("minilm", "It gives the embedding model"),
    ):
        assert why in card(ada.get("/plugins"), name)
        refused = ada.post(f"/plugins/{name}/switch", state="off", days="15")
        assert refused.status == 422
        assert why in refused.text
    assert "blocked by the variable MEMSCOPE_PLUGINS_BLOCKED" in card(ada.get("/plugins"), "spacy")
    assert ada.post("/plugins/spacy/switch", state="active", days="15").status == 422
    assert ada.post("/plugins/nothing/switch", state="off", days="15").status == 404
    assert ada.post("/plugins/secrets/switch", state="asleep", days="15").status == 404


def test_where_there_are_several_organizations_plugins_are_switched_by_settings(console: Any) -> None:
    ada = console.as_("Ada")
    ada.get("/plugins/secrets/switch")
    ada.post("/plugins/secrets/switch", state="off", days="15")
    harbor("quay").store(console.app.core.storage)
    assert "several organizations" in ada.post("/plugins/secrets/switch", state="shadow", days="15").element("error-summary")
    assert "secrets is on again" in ada.post("/plugins/secrets/switch", state="active", days="15").element("toast")
    shown = card(ada.get("/plugins"), "secrets")
    assert "several organizations" in shown
    assert "of the whole server" in shown
    assert "Errors" not in shown
    assert ada.post("/plugins/secrets/switch", state="off", days="15").status == 422


def test_lines_for_the_settings_are_checked_with_the_plugins_own_words(console: Any) -> None:
    ada = console.as_("Ada")
    ada.get("/plugins/admin/lines")
    wrong = ada.post("/plugins/admin/lines", lines="colour = 3")
    assert wrong.status == 422
    assert "[console] has no key colour" in wrong.element("error-summary")
    assert "must be at least 1" in ada.post("/plugins/admin/lines", lines="[console]\nidle_hours = 0").element("error-summary")
    assert ada.post("/plugins/admin/lines", lines="idle_hours =").status == 422
    assert "[console]" in ada.post("/plugins/admin/lines", lines="idle_hours = 4").element("good")
    assert ada.get("/plugins/secrets/lines").status == 404


def test_a_plugin_tries_itself(console: Any) -> None:
    ada = console.as_("Ada")
    ada.get("/plugins")
    for name, says in (
        ("secrets", "finds nothing"),
        ("plain_guards", "It says public"),
        ("inprocess", "It answers"),
        ("spacy", "block it"),
    ):
        assert says in ada.post(f"/plugins/{name}/try").element("checked"), name
    assert number(card(ada.get("/plugins"), "plain_guards"), "calls") == 0


def test_the_state_holds_for_every_worker_and_after_a_restart(broken: Any) -> None:
    other = PluginStates(broken.app.core.storage, broken.app.core.usage.home, broken.clock)
    ada = broken.as_("Ada")
    ada.get("/plugins/raising_guard/switch", state="off")
    ada.post("/plugins/raising_guard/switch", state="off", days="1")
    assert other.states() == {"raising_guard": "off"}


# -- insights --------------------------------------------------------------------------------------------------------


def sums(page: Any, chart: str) -> tuple[str, list[str]]:
    """The number of a chart's figure, and the sums under its table."""
    markup = page.html.split(f'id="{chart}"', 1)[1].split("</figure>", 1)[0]
    return re.search(r'data-total="([^"]*)"', markup)[1], re.findall(r"data-sum>([^<]*)<", markup)  # type: ignore[index]


def used(console: Any) -> None:
    """A day's work in harbor."""
    for content, kind in (("Boats leave at nine", Kind.FACT), ("We paint the pier blue", Kind.DECISION), ("The pier has a lamp", None)):
        console.remember("Bo", content, kind=kind, scope=SHARED)
    console.remember("Bo", "The quarterly forecast is grim", scope=SHARED)
    core, bo = console.app.core, console.agent("Bo")
    found = recall(core, bo, Recall("pier")).results
    get_memory(core, bo, found[0].id)
    recall(core, bo, Recall("salary of the captain", topics=("HR",)))
    recall(core, bo, Recall("submarine"))


def test_each_charts_table_sums_to_its_figure(console: Any) -> None:
    used(console)
    run_due(console.app.core)
    page = console.as_("Ada").get("/insights", days="7")
    assert page.url.endswith("/insights?days=7")
    assert 'aria-current="true">7 days' in page.html
    assert sums(page, "saved") == ("4", ["1", "1", "2"])
    assert sums(page, "recalled") == ("3", ["1", "2"])
    assert sums(page, "opened") == ("2", ["1", "1"])
    assert sums(page, "empty")[0] == sums(page, "empty")[1][0] == "2"
    assert "HR" in page.html.split('id="empty"', 1)[1].split("</figure>", 1)[0]
    assert "submarine" not in page.html
    assert "captain" not in page.html
    assert sums(page, "held") == ("1", ["1"])
    for name in ("Engineering", "People-Ops", "Apollo"):
        assert f"{console.organization.groups[name.lower()].name}: too few people to show" in page.html


def test_the_share_within_the_target_is_that_of_decided_reviews(console: Any) -> None:
    for content in ("The quarterly forecast is grim", "The quarterly forecast is late"):
        console.remember("Bo", content, scope=SHARED)
    core, ada = console.app.core, console.agent("Ada")
    first, second = review_queue(core, ada, 10).items
    review_memory(core, ada, ReviewMemory(first.memory.id, "tighten"), AGREED)
    console.clock.ahead += timedelta(hours=30)
    review_memory(core, ada, ReviewMemory(second.memory.id, "tighten"), AGREED)
    page = console.as_("Ada").get("/insights")
    assert sums(page, "waited") == ("3", ["2", "1"])
    assert "15 hours on average; 1 of 2 (50 %) within a day" in page.text
    assert 'class="target"' in page.html


def test_insights_of_nothing_say_when_figures_will_be(console: Any) -> None:
    page = console.as_("Ada").get("/insights")
    assert "There are no figures yet" in page.element("empty")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"since": "2026-03-02", "until": "2026-03-01"}, "The range is reversed"),
        ({"since": "2020-01-01", "until": "2026-03-01"}, "over two years"),
        ({"days": "2000"}, "over two years"),
        ({"days": "0"}, "at least one day"),
        ({"days": "-3"}, "-3 is no number of days"),
        ({"since": "soon"}, "soon is no day"),
        ({"since": "<b>"}, "<b> is no day"),
    ],
)
def test_a_range_that_will_not_do_is_named(console: Any, asked: dict[str, str], says: str) -> None:
    page = console.as_("Ada").get("/insights", **asked)
    assert page.status == 422
    assert says in page.element("error-summary")
    assert console.as_("Ada").get("/insights/saved.csv", **asked).status == 422


def test_a_table_comes_as_csv_without_formulas(console: Any) -> None:
    used(console)
    run_due(console.app.core)
    ada = console.as_("Ada")
    rows = ada.get("/insights/saved.csv", days="7").html.splitlines()
    assert rows[0] == "Day,fact,decision,no kind"
    assert len(rows) == 8
    assert rows[-1].endswith(",1,1,2")
    assert ada.get("/insights/nothing.csv", days="7").status == 404
    assert as_csv(Chart("x", "x", "", ["=1+1"], [Series("-n", [1])])).splitlines() == ["Day,'-n", "'=1+1,1"]


def test_a_group_of_five_is_shown_and_personal_memories_are_in_no_group(console: Any) -> None:
    organization = console.organization
    organization.team("crew", members=["Ada", "Bo", "Cy", "Di"], owners=["Ed"])
    big = harbor("big")
    big.team("crew", members=["Ada", "Bo", "Cy", "Di"], owners=["Ed"])
    core = console.app.core
    big.store(core.storage)
    bo = Principal(big.organization.id, big.people["Bo"].id, big.connections["Bo"].id, ConnectionKind.TOKEN, "test")
    remember(core, bo, Remember("The crew meets at nine", team="crew", scope=Scope.TEAM))
    remember(core, bo, Remember("My own note", scope=Scope.PERSONAL))
    remember(core, bo, Remember("Engineering uses tabs", team="engineering", scope=Scope.TEAM))
    recall(core, bo, Recall("crew"))
    census(core, big.organization.id)
    ada = Principal(big.organization.id, big.people["Ada"].id, big.connections["Ada"].id, ConnectionKind.CONSOLE, "console")
    today = core.usage.today(big.organization.id)
    found = insights(core, ada, today, today)
    by_name = {group.name: (group.saved, group.recalled, group.live) for group in found.groups}
    crew = big.groups["crew"]
    assert by_name == {
        crew.name: (1, 1, 1),
        **{big.groups[slug].name: (None, None, None) for slug in ("engineering", "people-ops", "apollo")},
    }
    assert sum(found.totals[SAVED].values()) == 3
    assert found.census is not None
    assert found.census.live == {ALL: 2, crew.id: 1}
    with pytest.raises(Forbidden):
        insights(core, bo, today, today)


def test_what_nobody_recalls_for_ninety_days_is_stale(console: Any) -> None:
    used(console)
    core, organization = console.app.core, console.organization.organization.id
    assert census(core, organization).stale == {}
    console.clock.ahead += timedelta(days=91)
    assert census(core, organization).stale == {ALL: 3}
    recall(core, console.agent("Bo"), Recall("boats leave"))
    assert census(core, organization).stale[ALL] < 3


# -- overview --------------------------------------------------------------------------------------------------------


def tile(page: Any, name: str) -> str:
    """What a tile says."""
    return str(page.element(f"tile-{name}"))


def test_the_number_on_the_reviews_tile_is_the_queues(console: Any) -> None:
    for number_of in range(3):
        console.remember("Bo", f"The quarterly forecast of part {number_of}", scope=SHARED)
    ada = console.as_("Ada")
    page = ada.get("/")
    assert tile(page, "review").startswith("3 memories wait for your review oldest since")
    assert ada.get("/review").html.count('data-t="review-item"') in (1, 3)
    assert review_queue(console.app.core, console.agent("Ada"), 50).total == 3
    console.remember("Ada", "The quarterly forecast of all parts", scope=SHARED)
    bo = console.as_("Bo")
    assert "3 saved by you" in tile(bo.get("/"), "review")
    assert 'href="/admin/review?mine=yes"' in bo.get("/").html
    assert bo.get("/review?mine=yes").html.count('data-t="review-item"') == 3
    assert "saved by you" not in tile(console.as_("Di").get("/"), "review")


def test_members_see_their_own_tiles_only(console: Any) -> None:
    console.clock.ahead += timedelta(days=31)
    bo = console.as_("Bo").get("/")
    assert re.findall(r'data-t="tile-(\w+)"', bo.html) == ["review", "approvals", "unused"]
    assert 'data-t="audit-row"' not in bo.html
    assert 'data-t="chart"' not in bo.html
    for page in ("/people", "/plugins", "/insights", "/settings"):
        assert console.as_("Bo").get(page).status == 404
        assert f'href="/admin{page}"' not in bo.html
    ada = console.as_("Ada").get("/")
    assert re.findall(r'data-t="tile-(\w+)"', ada.html) == ["review", "approvals", "gaps", "plugins", "unused"]
    assert tile(ada, "gaps").startswith("2 sensitive topics that no team guards Finance and Legal")


def test_unused_connections_are_counted_as_their_list_does(console: Any) -> None:
    console.clock.ahead += timedelta(days=31)
    ada = console.as_("Ada")
    count = int(tile(ada.get("/"), "unused").split()[0])
    assert count >= len(console.organization.connections)
    assert ada.get("/connections", stale="yes", all="yes").html.count("<tr") == count + 1


def test_an_overview_of_nothing_gives_the_lines_to_connect(console: Any) -> None:
    page = console.as_("Bo").get("/", client="codex")
    assert "There is no memory yet" in page.element("empty")
    assert "codex mcp add memscope --url http://localhost/mcp" in page.text
    assert console.as_("Bo").get("/", client="no such").status == 200


def test_a_tile_that_cannot_be_counted_says_so_alone(console: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = console.as_("Ada")

    def away(*_: Any, **__: Any) -> Any:
        raise Unavailable

    monkeypatch.setattr("memscope_admin.views.dashboard.pending", away)
    page = ada.get("/")
    assert page.status == 200
    assert tile(page, "approvals").startswith("? approvals could not be counted")
    assert tile(page, "plugins").startswith("0 plugins are unwell")


def test_a_model_that_stops_shows_at_the_next_look(console: Any) -> None:
    ada = console.as_("Ada")
    assert tile(ada.get("/"), "plugins").startswith("0")
    embedder = stopped(console)
    recall(console.app.core, console.agent("Bo"), Recall("pier"))
    assert tile(ada.get("/"), "plugins").startswith("1 plugin is unwell minilm: Searches go by words alone")
    assert "unwell" in card(ada.get("/plugins"), "minilm")
    embedder.broken = False
    recall(console.app.core, console.agent("Bo"), Recall("pier"))
    assert "It failed within the last hours: OSError" in tile(ada.get("/"), "plugins")


def stopped(console: Any) -> Any:
    """An embedding model that is there and fails."""

    class Broken:
        broken = True
        ready = True
        model = console.app.core.embedding.model

        def embed_query(self, text: str) -> Any:
            if self.broken:
                raise OSError("gone")
            return None

        def close(self) -> None:
            """Nothing to let go of."""

    console.app.core.embedding._embedder = Broken()
    return console.app.core.embedding._embedder


# -- settings --------------------------------------------------------------------------------------------------------


def test_a_section_is_saved_by_itself_and_its_export_changes_nothing(console: Any) -> None:
    ada = console.as_("Ada")
    ada.get("/settings")
    page = ada.post("/settings", section="keeping", trash_days="45")
    assert "Keeping ✓ saved" in page.text
    assert page.url.endswith("/settings?saved=keeping#keeping")
    assert console.app.core.rosters.current(console.organization.organization.id).organization.trash_days == 45
    exported = ada.get("/settings/organization.toml").html
    assert "trash_days = 45" in exported
    assert apply(console.app.core, console.app.identities.passwords, parse(exported), dry_run=True).steps == ()
    assert "would change nothing" in ada.post("/settings/import", text=exported).element("nothing")


@pytest.mark.parametrize(
    ("section", "fields", "says"),
    [
        ("keeping", {"trash_days": "0"}, "From 1 to 3650 days"),
        ("keeping", {"trash_days": "4000"}, "From 1 to 3650 days"),
        ("keeping", {"trash_days": "soon"}, "Days in the trash"),
        ("organization", {"timezone": "Mars/Base"}, "Time zone"),
        ("organization", {"slug": "No Slug"}, "must be lower-case letters"),
        ("saving", {"default_scope": "world"}, "Where a memory goes"),
    ],
)
def test_a_setting_that_will_not_do_is_refused_at_its_field(console: Any, section: str, fields: dict[str, str], says: str) -> None:
    ada = console.as_("Ada")
    ada.get("/settings")
    page = ada.post("/settings", section=section, **fields)
    assert page.status == 422
    assert says in page.element("error-summary")


def test_widening_says_what_follows_before_it_is_saved(console: Any) -> None:
    ada = console.as_("Ada")
    ada.get("/settings")
    page = ada.post("/settings", section="saving", default_scope="organization")
    assert "everybody in the organization (5 people) instead of its author alone" in page.element("consequence")
    known = console.organization.organization.id
    assert console.app.core.rosters.current(known).organization.default_scope is Scope.PERSONAL
    ada.post("/settings", section="saving", default_scope="organization", confirm="yes")
    assert console.app.core.rosters.current(known).organization.default_scope is Scope.ORGANIZATION
    assert "Saving ✓ saved" in ada.post("/settings", section="saving", default_scope="personal").text
    assert "asked less" in ada.post("/settings", section="asking", confirmation="flag").element("consequence")
    assert "erased for good within the hour" in ada.post("/settings", section="keeping", trash_days="3").element("consequence")


def test_who_decides_about_clients_is_a_setting_and_in_the_file(console: Any) -> None:
    ada = console.as_("Ada")
    ada.get("/settings")
    page = ada.post("/settings/clients", rule="listed")
    assert "Connecting ✓ saved" in page.text
    assert page.url.endswith("/settings?saved=clients#clients")
    page = ada.post("/settings/clients", rule="anybody")
    assert "lets in whatever program they like" in page.element("consequence")
    exported = ada.get("/settings/organization.toml").html
    assert 'clients = "listed"' in exported
    assert "would change nothing" in ada.post("/settings/import", text=exported).element("nothing")
    page = ada.post("/settings/import", text=exported.replace('clients = "listed"', 'clients = "ask"'))
    assert "clients listed → ask" in page.text
    ada.post("/settings/clients", rule="anybody", confirm="yes")
    assert 'clients = "anybody"' in ada.get("/settings/organization.toml").html
    assert ada.post("/settings/clients", rule="everybody").status == 422
    assert console.audit().count("client.rule") == 2


def test_what_the_server_fixes_is_locked_with_its_source(set_console: Any) -> None:
    console = set_console(MEMSCOPE_ORGANIZATION_TRASH_DAYS="20", MEMSCOPE_LIMITS_CALLS_PER_MINUTE="90")
    keep_fixed(console.app.core)
    ada = console.as_("Ada")
    page = ada.get("/settings")
    assert "20 locked: fixed by the variable MEMSCOPE_ORGANIZATION_TRASH_DAYS" in page.element("locked")
    assert 'name="trash_days"' not in page.html
    assert "90 locked: set by the variable MEMSCOPE_LIMITS_CALLS_PER_MINUTE" in page.text
    assert "Second factor is required of" in page.text
    refused = ada.post("/settings", section="keeping", trash_days="21")
    assert refused.status == 422
    assert "trash_days is fixed by the variable" in refused.element("error-summary")
    exported = ada.get("/settings/organization.toml").html
    core, passwords = console.app.core, console.app.identities.passwords
    assert apply(core, passwords, parse(exported), dry_run=True).steps == ()
    with pytest.raises(FileError, match="Line 5: trash_days is fixed by the variable"):
        apply(core, passwords, parse(exported.replace("trash_days = 20", "trash_days = 30")))
    assert ada.post("/settings", section="organization", name="Harbour").status == 200


def test_an_accent_that_cannot_be_read_is_refused_with_the_nearest_that_can(console: Any) -> None:
    ada = console.as_("Ada")
    ada.get("/settings")
    page = ada.post("/settings/branding", brand="Harbor memory", accent="#ffcc00")
    assert page.status == 422
    told = re.search(r"The nearest that passes is (#[0-9a-f]{6})", page.element("error-summary"))
    assert told is not None
    assert colours.readable(told[1], colours.LIGHT)
    assert 'value="Harbor memory"' in page.html
    assert "on dark ground" in ada.post("/settings/branding", accent_dark="#000080").element("error-summary")
    for wrong in ("red", "#12345", "#12345g", "url(x)", "#fff;}"):
        assert ada.post("/settings/branding", accent=wrong).status == 422
    assert ada.post("/settings/branding", brand="x" * 41).status == 422
    saved = ada.post("/settings/branding", brand="Harbor memory", accent=told[1])
    assert "Looks ✓ saved" in saved.text
    assert "Harbor memory" in console.as_("Bo").get("/").text
    address = re.search(r'href="/admin(/settings/branding/[0-9a-f]+\.css)"', saved.html)
    assert address is not None
    sheet = console.as_("Bo").get(address[1])
    assert f"--primary:{told[1]}" in sheet.html
    assert sheet.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert ada.get("/settings/branding/other.css").headers["cache-control"] == "no-store"
    assert "organization.branding" in console.audit()


def test_the_grounds_of_accents_are_those_of_the_stylesheet() -> None:
    css = (Path(colours.__file__).parent / "static" / "console.css").read_text()
    for card, page in (colours.LIGHT, colours.DARK):
        assert f"--page: {page}; --card: {card};" in css
    assert colours.contrast("#000000", "#ffffff") == pytest.approx(21)
    for colour in ("#000000", "#ffffff", "#ff0000", "#00ff00", "#123456", "#808080"):
        for grounds in (colours.LIGHT, colours.DARK):
            assert colours.readable(colours.nearest(colour, grounds), grounds)
            assert colours.contrast(colours.ink(colours.nearest(colour, grounds)), colours.nearest(colour, grounds)) >= 4.5


def test_a_file_shows_what_it_would_change_before_it_does(console: Any) -> None:
    ada = console.as_("Ada")
    ada.get("/settings/import")
    exported = ada.get("/settings/organization.toml").html
    text = exported.replace("trash_days = 30", "trash_days = 60")
    page = ada.post("/settings/import", text=text)
    assert "~ organization harbor: trash_days 30 → 60" in page.element("consequence")
    known = console.organization.organization.id
    assert console.app.core.rosters.current(known).organization.trash_days == 30
    seen = re.search(r'name="seen" value="([0-9a-f]+)"', page.html)
    assert seen is not None
    assert "1 change made" in ada.post("/settings/import", text=text, seen=seen[1]).element("toast")
    assert console.app.core.rosters.current(known).organization.trash_days == 60
    stale = ada.post("/settings/import", text=text.replace("60", "61"), seen=seen[1])
    assert "60 → 61" in stale.element("consequence")
    assert console.app.core.rosters.current(known).organization.trash_days == 60


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Paste the file"),
        ("slug = ", "no valid TOML"),
        ('[organization]\nslug = "quay"', "of another organization"),
        ('[organization]\nslug = "harbor"\ntrash_days = 0', "Line 3: trash_days must be a whole number"),
        ('[organization]\nslug = "harbor"\n[[people]]\nemail = "ada@harbor.example"\nrole = "member"', "your own role"),
        (
            '[organization]\nslug = "harbor"\n[[people]]\nemail = "x@harbor.example"\npassword = "a long password"',
            "passwords are not taken",
        ),
        ('[organization]\nslug = "harbor"\n[[teams]]\nslug = "crew"\nmembers = ["nobody@harbor.example"]', "nobody@harbor.example"),
    ],
)
def test_a_file_that_will_not_do_is_named_and_nothing_changes(console: Any, text: str, says: str) -> None:
    ada = console.as_("Ada")
    ada.get("/settings/import")
    before = console.audit()
    page = ada.post("/settings/import", text=text)
    assert page.status == 422
    assert says in page.element("error-summary")
    assert console.audit() == before


def test_backups_are_told(console: Any) -> None:
    ada = console.as_("Ada")
    assert "None was made" in ada.get("/settings").element("backup")
    note_backup(console.app.core)
    assert "The last one" in ada.get("/settings").element("backup")


def test_no_text_and_no_query_is_in_the_figures(console: Any) -> None:
    used(console)
    console.app.core.usage.flush()
    census(console.app.core, console.organization.organization.id)
    kept = repr(console.app.core.storage.records("usage")._values)
    assert "'saved/" in kept
    for word in ("pier", "Boats", "forecast", "captain", "salary", "submarine"):
        assert word not in kept
