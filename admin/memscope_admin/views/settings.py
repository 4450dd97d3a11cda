"""The organization's settings, section by section; how the console looks; the organization as a file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from flask import Blueprint, Response, abort, flash, redirect, render_template, request, url_for
from flask_login import current_user
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response as BaseResponse

from memscope.errors import Conflict, InvalidArgument
from memscope.model.audience import Scope
from memscope.model.organization import Confirmation, Organization
from memscope.organizations.branding import Branding, branding, change_branding, check_colour
from memscope.organizations.clients import ClientRule, rule, set_rule, waiting
from memscope.organizations.file import write
from memscope.organizations.importing import import_file
from memscope.organizations.settings import change_organization
from memscope.settings import ORGANIZATION_KEYS
from memscope.upkeep.backups import last_backup
from memscope_admin import colours
from memscope_admin.forms.connections import RuleForm
from memscope_admin.forms.fields import blame
from memscope_admin.forms.organization import BrandingForm, ImportForm, OrganizationForm
from memscope_admin.navigation import admins_only, signed_in
from memscope_admin.sessions import app, core, principal, recently_authenticated, visitor
from memscope_admin.settings import ConsoleSettings
from memscope_admin.stale import CHANGED, stale, stamp
from memscope_admin.texts import several
from memscope_admin.views.setup import settled, values

pages = Blueprint("settings", __name__, url_prefix="/settings")
Answer = str | tuple[str, int] | BaseResponse
SECTIONS = {
    "organization": ("The organization", ("name", "slug", "timezone")),
    "saving": ("Saving", ("default_scope", "default_sensitivity", "secrets")),
    "asking": ("Asking the person", ("confirmation",)),
    "keeping": ("Keeping", ("trash_days",)),
}
ABOUT = {
    "name": "Shown in the console and when an agent is connected. It changes nothing that anybody may do.",
    "slug": "For whoever has it written in scripts: those must be changed.",
    "timezone": "In it plain dates end, and times are shown to everybody. What is stored keeps its times.",
    "default_scope": "For everybody's memories that are saved without a place, from the next one on. What is stored stays where it is.",
    "default_sensitivity": "The least level of everything that anybody saves, from the next memory on. What is stored keeps its level.",
    "secrets": "For every text with a password, token or key in it, whoever saves it, from the next one on.",
    "confirmation": "For every agent of everybody, from its next call on.",
    "trash_days": "For everything that anybody forgets. Less: what has been in the trash longer is erased for good within the hour.",
}
WIDTH = (Scope.PERSONAL, Scope.PROJECT, Scope.TEAM, Scope.ORGANIZATION)
OPENNESS = (ClientRule.LISTED, ClientRule.ASK, ClientRule.ANYBODY)
STRICTNESS = (Confirmation.FLAG, Confirmation.ASK, Confirmation.CONSOLE)
SERVER = (
    ("server", "public_url", "Address that people type"),
    ("server", "workers", "Worker processes"),
    ("storage", "provider", "Storage"),
    ("embedding", "provider", "Embedding model"),
    ("limits", "calls_per_minute", "Calls a minute of each connection"),
    ("guarding", "timeout_ms", "Milliseconds that a plugin may take"),
    ("log", "level", "Log"),
)
SIGN_IN = (
    ("second_factor", "Second factor is required of"),
    ("second_factor_grace_days", "Days to set one up"),
    ("idle_hours", "Hours without a request that end a session"),
    ("longest_hours", "Hours that a session lasts at most"),
    ("admin_longest_hours", "The same for administrators"),
)


@dataclass(frozen=True, slots=True)
class Locked:
    """A value of the server's, with where it is set."""

    title: str
    value: object
    source: str


@pages.before_request
def for_administrators() -> BaseResponse | None:
    """Settings are for administrators; the stylesheet is for everybody who is signed in."""
    return signed_in() if request.endpoint == "settings.stylesheet" else admins_only()


@pages.route("", methods=["GET", "POST"])
def edit() -> Answer:
    """What the organization chose. A post saves one section, or all of them when it names none."""
    known = visitor().organization
    if request.method == "GET":
        return _page(known)
    if (section := request.form.get("section", "")) not in ("", *SECTIONS):
        abort(404)
    current = {key: str(value) for key, value in values(known).items()}
    form = OrganizationForm(MultiDict({**current, **request.form.to_dict()}))
    if stale(known):
        form.name.errors = [CHANGED]
        return _page(known, form, section), 409
    if form.validate():
        try:
            after = settled(known, form)
            told = widening(known, after)
            if told and request.form.get("confirm") != "yes":
                return _page(known, form, section, told)
            change_organization(core(), principal(), known, after)
        except InvalidArgument as error:
            blame(form, error)
        except Conflict as error:
            form.slug.errors = [error.message]
        else:
            flash("Saved.")
            return redirect(url_for("settings.edit", saved=section or "all", _anchor=section or None))
    return _page(known, form, section), 422


def widening(known: Organization, after: Organization) -> list[str]:
    """What a change lets more people read, or do unasked, in sentences."""
    told = []
    people = sum(person.active for person in visitor().roster.people.values())
    readers = {Scope.PERSONAL: "its author alone", Scope.PROJECT: "the author's project", Scope.TEAM: "the author's team"}
    readers[Scope.ORGANIZATION] = f"everybody in the organization ({several(people, 'person', 'people')})"
    if WIDTH.index(after.default_scope) > WIDTH.index(known.default_scope):
        told.append(
            f"From now on a memory saved without a place is for {readers[after.default_scope]} instead of {readers[known.default_scope]}. "
            "What is stored stays where it is."
        )
    if after.default_sensitivity < known.default_sensitivity:
        told.append(
            f"From now on a memory may be as low as {after.default_sensitivity.label.replace('_', ' ')}, which people with less clearance read too."
        )
    if STRICTNESS.index(after.confirmation) < STRICTNESS.index(known.confirmation):
        told.append("From now on agents are asked less before they forget something or show it to more people.")
    if after.trash_days < known.trash_days:
        told.append(f"What has been in the trash for more than {several(after.trash_days, 'day')} is erased for good within the hour.")
    return told


@pages.post("/clients")
def connecting() -> Answer:
    """Who decides which programs may connect."""
    form, now = RuleForm(), rule(core(), principal().organization)
    if not form.validate():
        return _page(visitor().organization, connecting=form), 422
    wanted = ClientRule(form.rule.data)
    if OPENNESS.index(wanted) > OPENNESS.index(now) and request.form.get("confirm") != "yes":
        told = {
            ClientRule.ANYBODY: "From now on each person lets in whatever program they like, but for those that an administrator refused.",
            ClientRule.ASK: "From now on people can ask for programs that no administrator approved; they wait under Clients.",
        }
        return _page(visitor().organization, section="clients", told=[told[wanted]], connecting=form)
    set_rule(core(), principal(), wanted)
    flash("Saved.")
    return redirect(url_for("settings.edit", saved="clients", _anchor="clients"))


@pages.post("/branding")
def brand() -> Answer:
    """Name and accent colours."""
    form = BrandingForm()
    if form.validate():
        try:
            chosen = _brand(form)
            if not form.errors:
                change_branding(core(), principal(), chosen)
                flash("Saved.")
                return redirect(url_for("settings.edit", saved="branding", _anchor="branding"))
        except InvalidArgument as error:
            blame(form, InvalidArgument("brand" if error.parameter == "name" else error.parameter, error.message))
    return _page(visitor().organization, brand=form), 422


def _brand(form: BrandingForm) -> Branding:
    """The branding that a form asks for; a colour that cannot be read is refused at its field, with the nearest that can."""
    chosen: dict[str, str] = {}
    for field, grounds, where in ((form.accent, colours.LIGHT, "light"), (form.accent_dark, colours.DARK, "dark")):
        given = (field.data or "").strip()
        colour = check_colour(field.name, given) if given else ""
        if colour and not colours.readable(colour, grounds):
            ratio = min(colours.contrast(colour, ground) for ground in grounds)
            field.errors = [
                f"{colour} has a contrast of {ratio:.1f} to 1 on {where} ground, and text needs 4.5. The nearest that passes is {colours.nearest(colour, grounds)}."
            ]
        chosen[field.name] = colour
    if chosen["accent"] and not chosen["accent_dark"]:
        chosen["accent_dark"] = colours.nearest(chosen["accent"], colours.DARK)
    return Branding(form.brand.data or "", **chosen)


@pages.get("/branding/<version>.css")
def stylesheet(version: str) -> Response:
    """The accents as a stylesheet; its address changes with it."""
    chosen = branding(core(), principal().organization)
    text = colours.stylesheet(chosen.accent, chosen.accent_dark)
    response = Response(text, mimetype="text/css")
    if version == stylesheet_version(chosen):
        response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
    return response


def stylesheet_version(chosen: Branding) -> str:
    """What the address of the stylesheet carries."""
    return hashlib.sha256(colours.stylesheet(chosen.accent, chosen.accent_dark).encode()).hexdigest()[:12]


@pages.app_context_processor
def branded() -> dict[str, object]:
    """What every page needs of the branding."""
    if not current_user.is_authenticated:
        return {"branding": None}
    chosen = branding(core(), principal().organization)
    return {"branding": chosen, "accents": stylesheet_version(chosen) if chosen.accent or chosen.accent_dark else None}


@pages.route("/import", methods=["GET", "POST"])
@recently_authenticated
def bring() -> Answer:
    """An organization file: first what it would change, then doing it."""
    form, steps = ImportForm(), None
    if request.method == "POST":
        upload = request.files.get("file")
        try:
            if upload is not None and upload.filename:
                form.text.data = upload.stream.read().decode("utf-8-sig")
            if not (form.text.data or "").strip():
                raise InvalidArgument("text", "Paste the file's text, or choose a file.")
            would = _import(form.text.data, dry_run=True)
            if form.seen.data and form.seen.data == _seen(form.text.data, would):
                _import(form.text.data, dry_run=False)
                flash(f"{several(len(would), 'change')} made.")
                return redirect(url_for("settings.edit", saved="import", _anchor="import"))
            steps, form.seen.data = would, _seen(form.text.data, would)
        except UnicodeDecodeError:
            form.file.errors = ["This file is no UTF-8 text."]
        except InvalidArgument as error:
            blame(form, error)
        except Conflict as error:
            form.text.errors = [error.message]
    return render_template("settings/import.html", form=form, steps=steps), 422 if form.errors else 200


def _import(text: str, *, dry_run: bool) -> Sequence[str]:
    return import_file(core(), app().identities.passwords, principal(), text, dry_run=dry_run).steps


def _seen(text: str, steps: Sequence[str]) -> str:
    """Of the very file, whose steps may be told in the same words as another's; browsers change how lines end."""
    return core().keys.digest("console/import", [principal().person, text.strip().splitlines(), list(steps)])


@pages.get("/organization.toml")
@recently_authenticated
def export() -> Answer:
    """The organization as a file that `memscope org apply` takes."""
    roster = core().rosters.current(principal().organization)
    headers = {"Content-Disposition": f'attachment; filename="{roster.organization.slug}.toml"'}
    return Response(write(roster, rule(core(), roster.organization.id)), mimetype="application/toml", headers=headers)


def _page(
    known: Organization,
    form: OrganizationForm | None = None,
    section: str = "",
    told: Sequence[str] = (),
    brand: BrandingForm | None = None,
    connecting: RuleForm | None = None,
) -> str:
    settings = core().settings
    console = ConsoleSettings() if "console" not in {one.name for one in core().hooks.sections} else _console()
    chosen = branding(core(), principal().organization)
    if brand is None:
        # Not from the request, which may be another section's.
        brand = BrandingForm(None, data={"brand": chosen.name, "accent": chosen.accent, "accent_dark": chosen.accent_dark})
    organization = principal().organization
    if connecting is None:
        connecting = RuleForm(None, data={"rule": rule(core(), organization).value})
    fixed = {key: source for key in ORGANIZATION_KEYS if (source := settings.fixed_by("organization", key)) is not None}
    return render_template(
        "settings/edit.html",
        form=form or OrganizationForm(None, data=values(known)),
        section=section,
        sections=SECTIONS,
        about=ABOUT,
        fixed=fixed,
        told=told,
        seen=stamp(known),
        saved=request.args.get("saved", "") if request.method == "GET" else "",
        brand=brand,
        connecting=connecting if app().identities.grants is not None else None,
        clients_waiting=waiting(core(), organization),
        chosen_brand=chosen,
        sign_in=[_locked("console", key, title, getattr(console, key)) for key, title in SIGN_IN if hasattr(console, key)],
        server=[_locked(part, key, title, getattr(getattr(settings, part), key)) for part, key, title in SERVER],
        backup=last_backup(core()),
    )


def _console() -> ConsoleSettings:
    section = next(one for one in core().hooks.sections if one.name == "console")
    found: ConsoleSettings = core().settings.section(section)
    return found


def _locked(section: str, key: str, title: str, value: object) -> Locked:
    return Locked(title, "none" if value is None else value, core().settings.fixed_by(section, key) or "its default")
