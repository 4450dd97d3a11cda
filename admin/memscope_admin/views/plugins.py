"""Plugins: what is there, how each does, and switching them."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as BaseResponse

from memscope.errors import InvalidArgument
from memscope.guarding.differences import listed as differences
from memscope.organizations.plugins import PluginView, check_settings, consequences, overview, self_check, switch
from memscope.plugin_states import SHADOW_DAYS
from memscope.usage import Hour
from memscope_admin.charts import Sparkline
from memscope_admin.forms.fields import blame
from memscope_admin.forms.plugins import LinesForm, SwitchForm
from memscope_admin.navigation import admins_only
from memscope_admin.sessions import core, principal, visitor

pages = Blueprint("plugins", __name__, url_prefix="/plugins")
pages.before_request(admins_only)
Answer = str | tuple[str, int] | BaseResponse
STATES = {"active": "on", "shadow": "shadow", "off": "off", "blocked": "blocked", "failed": "not loaded"}
DONE = {"active": "{} is on again.", "shadow": "{} is in shadow mode: it is asked, and has no effect.", "off": "{} is off."}


@pages.get("")
def listed() -> str:
    """Every plugin that was found."""
    return _page()


@pages.route("/<name>/switch", methods=["GET", "POST"])
def turn(name: str) -> Answer:
    """Ask, with figures, and switch a plugin."""
    state = request.values.get("state", "off")
    one = _found(name)
    if state not in DONE:
        abort(404)
    form = SwitchForm(data={"state": state, "days": SHADOW_DAYS})
    if request.method == "POST" and form.validate():
        try:
            switch(core(), principal(), name, state, form.days.data or SHADOW_DAYS)
        except InvalidArgument as error:
            blame(form, error)
        else:
            flash(DONE[state].format(name))
            return redirect(url_for("plugins.listed", _anchor=f"plugin-{name}"))
    told = consequences(core(), name, state)
    shadow = [row for row in differences(core(), principal().organization) if row[0] == name]
    page = render_template("plugins/switch.html", one=one, state=state, form=form, told=told, differences=shadow, words=STATES)
    return page, 422 if form.errors else 200


@pages.post("/<name>/try")
def attempt(name: str) -> Answer:
    """Run a plugin's self-check."""
    return _page(checked={name: self_check(core(), principal(), _found(name).info.name)})


@pages.route("/<name>/lines", methods=["GET", "POST"])
def lines(name: str) -> Answer:
    """Check lines for a plugin's section of the settings file; they are saved nowhere."""
    one = _found(name)
    if one.section is None:
        abort(404)
    form, good = LinesForm(), False
    if request.method == "POST" and form.validate():
        try:
            check_settings(core(), principal(), name, form.lines.data or "")
            good = True
        except InvalidArgument as error:
            blame(form, error)
    return render_template("plugins/lines.html", one=one, form=form, good=good), 422 if form.errors else 200


def _found(name: str) -> PluginView:
    one = next((one for one in overview(core(), principal()) if one.info.name == name), None)
    return one or abort(404)


def _page(checked: dict[str, object] | None = None) -> str:
    here = visitor()
    plugins = overview(core(), principal())
    sparks = {one.info.name: _spark(one.info.name, one.figures.hours) for one in plugins if one.figures and one.figures.hours}
    return render_template(
        "plugins/list.html",
        plugins=plugins,
        sparks=sparks,
        words=STATES,
        checked=checked or {},
        names={person.id: person.name for person in here.roster.people.values()},
        differences=differences(core(), here.principal.organization),
    )


def _spark(plugin: str, hours: Sequence[Hour]) -> Sparkline:
    highest = max((hour.p95_ms or 0 for hour in hours), default=0)
    title = f"Time of {plugin} by hour over 24 hours (95 % within): at most {highest:,.0f} ms"
    return Sparkline(title, [hour.p95_ms for hour in hours])
