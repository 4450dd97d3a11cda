"""The set-up wizard, from a one-time link to a first call; and the link by which an invited person sets a password."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from flask import Blueprint, Response, redirect, render_template, request, session, url_for
from werkzeug.wrappers import Response as BaseResponse

from memscope.errors import InvalidArgument, MemScopeError
from memscope.model.audience import Scope, Sensitivity
from memscope.model.organization import Confirmation, GroupKind, GroupRole, Organization, SecretsPolicy
from memscope.organizations.client_lines import CLIENTS, lines
from memscope.organizations.connections import connections, create_token
from memscope.organizations.file import check_name, check_slug, check_zone
from memscope.organizations.groups import add_group, set_member
from memscope.organizations.invitations import accept, invite, invited
from memscope.organizations.people import add_person
from memscope.organizations.setting_up import LinkSpent, link_organization, use_link
from memscope.organizations.settings import change_organization
from memscope.organizations.topics import save_topic
from memscope_admin import factors
from memscope_admin.admission import admit
from memscope_admin.forms.accounts import AccountForm, PasswordForm
from memscope_admin.forms.fields import blame
from memscope_admin.forms.organization import OrganizationForm, PasteForm
from memscope_admin.navigation import admins_only
from memscope_admin.sessions import app, ask_again, core, end_sessions, principal, visitor

pages = Blueprint("setup", __name__)
STEPS = (
    ("setup.account", "You"),
    ("setup.factor", "Second factor"),
    ("setup.organization", "Organization"),
    ("setup.people", "People"),
    ("setup.topics", "Topics"),
    ("setup.connect", "Connect an agent"),
)
TOKEN_DAYS = 90
Answer = str | tuple[str, int] | BaseResponse


@pages.get("/setup/<token>")
def enter(token: str) -> Answer:
    """Take the token out of the address; looking at the link does not use it up."""
    try:
        link_organization(core(), token)
    except LinkSpent:
        return _spent()
    session["setup"] = token
    return _without_referrer(redirect(url_for("setup.account")))


@pages.route("/setup/account", methods=["GET", "POST"])
def account() -> Answer:
    """The first administrator."""
    token = session.get("setup", "")
    try:
        organization = link_organization(core(), token)
        form = AccountForm()
        if request.method == "GET":
            return _step("account", form=form)
        if form.validate():
            try:
                data = form.data
                organization, person = use_link(
                    core(), app().identities.passwords, token, name=data["name"], email=data["email"], password=data["password"]
                )
                session.pop("setup", None)
                # With a link for recovery it may be somebody who was in with the password until now.
                end_sessions(organization.id, person.id)
                return admit(organization, person, "link", "/setup/factor")
            except InvalidArgument as error:
                blame(form, error)
    except LinkSpent:
        return _spent()
    return _step("account", form=form), 422


@pages.get("/setup/factor")
def factor() -> Answer:
    """A second factor for the account just made, now or later."""
    if (refused := admins_only()) is not None:
        return refused
    due = factors.enrol_by()
    later = due is None or due > core().clock()
    return _step("factor", due=due, later=later, has=factors.mine().any, site=factors.site())


@pages.route("/setup/organization", methods=["GET", "POST"])
def organization() -> Answer:
    """The organization's name and rules."""
    if (refused := admins_only()) is not None:
        return refused
    known = visitor().organization
    form = OrganizationForm(data=values(known) | ({"confirmation": "console"} if known.slug == "organization" else {}))
    if request.method == "POST" and form.validate():
        try:
            change_organization(core(), principal(), known, settled(known, form))
            return redirect(url_for("setup.people"))
        except InvalidArgument as error:
            blame(form, error)
        except MemScopeError as error:
            form.slug.errors = [error.message]
    return _step("organization", form=form), 422 if form.errors else 200


def values(known: Organization) -> dict[str, object]:
    """The organization as its form shows it."""
    return {
        "name": known.name,
        "slug": known.slug,
        "timezone": known.timezone,
        "default_scope": known.default_scope.value,
        "default_sensitivity": known.default_sensitivity.label,
        "confirmation": known.confirmation.value,
        "secrets": known.secrets.value,
        "trash_days": known.trash_days,
    }


def settled(known: Organization, form: OrganizationForm) -> Organization:
    """The organization as its form says; InvalidArgument."""
    return replace(
        known,
        name=check_name(form.name.data),
        slug=check_slug(form.slug.data),
        timezone=check_zone(form.timezone.data),
        default_scope=Scope(form.default_scope.data),
        default_sensitivity=Sensitivity.parse(form.default_sensitivity.data),
        confirmation=Confirmation(form.confirmation.data),
        secrets=SecretsPolicy(form.secrets.data),
        trash_days=form.trash_days.data,
    )


@dataclass(frozen=True, slots=True)
class Added:
    """Somebody added by the paste, and the link by which they come in."""

    name: str
    email: str
    team: str | None
    link: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A line of the paste that will not do."""

    number: int
    text: str
    reason: str


@pages.route("/setup/people", methods=["GET", "POST"])
def people() -> Answer:
    """People and their teams, pasted."""
    if (found := admins_only()) is not None:
        return found
    # It makes links by which others come in.
    if request.method == "POST" and (asked := ask_again()) is not None:
        return asked
    form = PasteForm()
    if request.method == "GET" or not form.validate():
        return _step("people", form=form, added=[], refused=[])
    added: list[Added] = []
    refused: list[Refused] = []
    for number, line in enumerate((form.people.data or "").splitlines(), 1):
        if line.strip():
            try:
                added.append(_add(line))
            except MemScopeError as error:
                refused.append(Refused(number, line.strip(), error.message))
    form.people.data = "\n".join(line.text for line in refused)
    return _step("people", form=form, added=added, refused=refused), 422 if refused else 200


def _add(line: str) -> Added:
    parts = [part.strip() for part in line.replace("\t", ",").replace(";", ",").split(",")]
    if len(parts) > 3:
        raise InvalidArgument("people", "A line holds at most an address, a name and a team, with commas between them.")
    email, name, team = (*parts, "", "")[:3]
    group = None
    if team:  # first, so that a line is refused before anything of it is done
        group = core().rosters.current(principal().organization).find_group(team, GroupKind.TEAM)
        if group is None:
            slug = "-".join("".join(letter if letter.isascii() and letter.isalnum() else " " for letter in team.casefold()).split())
            group = add_group(core(), principal(), GroupKind.TEAM, slug, team)
    person = add_person(core(), principal(), email, name or email.partition("@")[0])
    if group is not None:
        set_member(core(), principal(), group.id, person.id, GroupRole.MEMBER)
    return Added(
        person.name, person.email, team or None, url_for("setup.welcome", token=invite(core(), principal(), person.id), _external=True)
    )


@pages.route("/setup/topics", methods=["GET", "POST"])
def topics() -> Answer:
    """Which team guards which topic."""
    if (refused := admins_only()) is not None:
        return refused
    roster = visitor().roster
    known = sorted(roster.topics.values(), key=lambda topic: topic.name)
    teams = sorted((group for group in roster.groups.values() if group.kind is GroupKind.TEAM), key=lambda group: group.name)
    if request.method == "POST":
        for topic in known:
            chosen = roster.groups.get(request.form.get(topic.id, ""))
            if chosen is not None and chosen.kind is GroupKind.TEAM and chosen.id not in topic.teams:
                save_topic(core(), principal(), topic, replace(topic, teams=topic.teams | {chosen.id}, guarding=True))
        return redirect(url_for("setup.connect"))
    return _step("topics", topics=known, teams=teams)


@pages.route("/setup/connect", methods=["GET", "POST"])
def connect() -> Answer:
    """A token of one's own, and the lines that connect an agent with it."""
    if (refused := admins_only()) is not None:
        return refused
    if request.method == "POST" and (asked := ask_again()) is not None:
        return asked
    return _step("connect", **connecting())


def connecting() -> dict[str, object]:
    """What a page needs to connect an agent: clients, and after a post the token and lines, told this once."""
    client = request.values.get("client", "claude-code")
    client = client if client in CLIENTS else "generic"
    token = made = None
    if request.method == "POST":
        here = visitor()
        expires = core().clock() + timedelta(days=TOKEN_DAYS)
        tokens, organization = app().identities.tokens, here.principal.organization
        made, token = create_token(core(), tokens, organization, here.person.id, client, expires, actor=here.person.id)
    url = core().settings.server.public_url or request.host_url.rstrip("/")
    return {
        "clients": CLIENTS,
        "client": client,
        "token": token,
        "connection": made,
        "lines": "\n".join(lines(client, url, token)) if token else "",
    }


@pages.get("/setup/lamp/<connection>")
def lamp(connection: str) -> Answer:
    """Whether one's own connection was used yet, as a line of text for the page that waits."""
    if (refused := admins_only()) is not None:
        return refused
    here = visitor()
    used = any(one.id == connection and one.last_used_at for one in connections(core(), here.principal.organization, here.person.id))
    return Response("received" if used else "waiting", mimetype="text/plain")


@pages.get("/welcome/<token>")
def welcome(token: str) -> Answer:
    """Take an invitation's token out of the address."""
    try:
        invited(core(), token)
    except LinkSpent:
        return _spent(invitation=True)
    session["invitation"] = token
    return _without_referrer(redirect(url_for("setup.password")))


@pages.route("/welcome", methods=["GET", "POST"])
def password() -> Answer:
    """An invited person's password."""
    token = session.get("invitation", "")
    form = PasswordForm()
    try:
        organization, person = invited(core(), token)
        if request.method == "POST" and form.validate():
            try:
                organization, person = accept(core(), app().identities.passwords, token, form.password.data)
                # Whoever was in with the password until now is out, and the link stands in for the password alone.
                end_sessions(organization.id, person.id)
                factors.tell(organization.id, person.id, "Your password was set by a one-time link.")
                return admit(organization, person, "link", None)
            except InvalidArgument as error:
                blame(form, error)
    except LinkSpent:
        return _spent(invitation=True)
    page = render_template("setup/password.html", form=form, organization=organization, person=person)
    return page, 422 if form.errors else 200


def _without_referrer(response: BaseResponse) -> BaseResponse:
    """The address of this request holds a token: it is told to no page."""
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _step(name: str, **more: object) -> str:
    at = [endpoint for endpoint, _ in STEPS].index(f"setup.{name}")
    return render_template(f"setup/{name}.html", steps=STEPS, at=at, next=STEPS[at + 1][0] if at + 1 < len(STEPS) else None, **more)


def _spent(*, invitation: bool = False) -> tuple[str, int]:
    session.pop("setup", None)
    session.pop("invitation", None)
    return render_template("setup/spent.html", invitation=invitation), 410
