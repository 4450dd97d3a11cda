"""Which programs may ask people for a grant: the organization's rule, and what administrators decided about each program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any

from memscope.contracts.grants import Client
from memscope.contracts.storage import Operator, Records, Transaction
from memscope.core import Core
from memscope.errors import Conflict, NotFound
from memscope.model.audit import Act
from memscope.model.organization import Roster
from memscope.model.principal import Principal
from memscope.organizations.changes import Outcome, admins, carry_out

RECORDS = "clients"
ASKERS_MAX = 50
WAITING_MAX = 200
"""Programs that wait at once; a person who can sign in could make up any number of them."""


class ClientRule(Enum):
    """Who decides which programs people may connect."""

    ANYBODY = "anybody"
    """Each person decides alone."""
    ASK = "ask"
    """An administrator approves each program once."""
    LISTED = "listed"
    """Programs that an administrator approved, and nobody can ask for others."""


class Standing(Enum):
    """What the organization says of a program."""

    FREE = "free"
    """Nothing, and nothing is needed."""
    UNKNOWN = "unknown"
    """Nothing, and an administrator has to be asked."""
    WAITING = "waiting"
    APPROVED = "approved"
    REFUSED = "refused"
    UNLISTED = "unlisted"
    """Nothing, and asking is of no use."""

    @property
    def allowed(self) -> bool:
        """Whether people may allow it."""
        return self in (Standing.FREE, Standing.APPROVED)


@dataclass(frozen=True, slots=True)
class Program:
    """A program that was asked for or decided about. One program is many registrations: `Client.software` tells them apart."""

    software: str
    name: str
    host: str | None
    """Who publishes its description; None: it registered itself, and could be anything."""
    redirect_uris: tuple[str, ...]
    state: Standing
    """WAITING, APPROVED or REFUSED."""
    asked_by: tuple[str, ...]
    """Person ids."""
    asked_at: datetime
    decided_by: str | None = None
    decided_at: datetime | None = None


def rule(core: Core, organization: str) -> ClientRule:
    """The organization's; anybody decides until an administrator says otherwise."""
    record = _records(core).get(organization, "rule")
    return ClientRule.ANYBODY if record is None else ClientRule(record["rule"])


def set_rule(core: Core, principal: Principal, wanted: ClientRule) -> None:
    """Change the organization's rule. Grants that stand already are not touched: the list of connections finds them."""

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        return Outcome(principal.organization, {"rule": wanted.value})

    carry_out(core, principal, "client.rule", admins, write)
    keep_rule(core, principal.organization, wanted)


def keep_rule(core: Core, organization: str, wanted: ClientRule) -> None:
    """Store the rule. The caller has seen to who may and to the audit row."""
    _records(core).put(organization, "rule", {"rule": wanted.value})


def standing(core: Core, organization: str, client: Client) -> Standing:
    """Whether people of an organization may allow a program now."""
    record = _records(core).get(organization, f"program/{client.software}")
    state = None if record is None else Standing(record["state"])
    kind = rule(core, organization)
    if state is Standing.REFUSED or state is Standing.APPROVED:
        return state
    if kind is ClientRule.ANYBODY:
        return Standing.FREE
    if kind is ClientRule.LISTED:
        return Standing.UNLISTED
    return state or Standing.UNKNOWN


def ask_for(core: Core, principal: Principal, client: Client) -> None:
    """Put a program into the administrators' queue; somebody who asks again stands in it once. Conflict when it is full."""
    organization, now = principal.organization, core.clock().isoformat()
    if waiting(core, organization) >= WAITING_MAX:
        raise Conflict("Very many clients wait for an administrator already.")
    fresh = False

    def asked(known: Mapping[str, Any] | None) -> Mapping[str, Any]:
        nonlocal fresh
        fresh = known is None
        if known is None:
            known = {**_described(client), "state": Standing.WAITING.value, "asked_by": [], "asked_at": now}
        if principal.person in known["asked_by"] or len(known["asked_by"]) >= ASKERS_MAX:
            return known
        return {**known, "asked_by": [*known["asked_by"], principal.person]}

    _records(core).change(organization, f"program/{client.software}", asked)
    if fresh:
        act = Act("client.ask", principal.person, principal.connection, client.software)
        with core.storage.begin(Operator("clients", organization), act):
            pass


def decide(core: Core, principal: Principal, software: str, approve: bool) -> Program:
    """Approve or refuse a program, which ends what it has. NotFound."""
    organization = principal.organization

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        if _records(core).get(organization, f"program/{software}") is None:
            raise NotFound
        of = {} if approve else software_of(core, organization)
        ended = [one for one in transaction.connections() if of.get(one.id) == software and one.revoked_at is None]
        for connection in ended:
            transaction.write_connection(replace(connection, revoked_at=transaction.now))
        return Outcome(software, {"connections_ended": len(ended)})

    carry_out(core, principal, "client.approve" if approve else "client.refuse", admins, write)
    state = Standing.APPROVED if approve else Standing.REFUSED
    decided = {"state": state.value, "decided_by": principal.person, "decided_at": core.clock().isoformat()}
    kept = _records(core).change(organization, f"program/{software}", lambda known: None if known is None else {**known, **decided})
    if kept is None:
        raise NotFound
    return _program(software, kept)


def list_client(core: Core, principal: Principal, client: Client) -> None:
    """Approve a program that an administrator entered, before anybody asked for it."""

    def write(transaction: Transaction, roster: Roster) -> Outcome:
        return Outcome(client.software)

    carry_out(core, principal, "client.approve", admins, write)
    now = core.clock().isoformat()
    state = {"state": Standing.APPROVED.value, "decided_by": principal.person, "decided_at": now}
    _records(core).put(
        principal.organization, f"program/{client.software}", {**_described(client), "asked_by": [], "asked_at": now, **state}
    )


def programs(core: Core, organization: str) -> Sequence[Program]:
    """All that were asked for or decided about: those that wait first, longest first."""
    found = [_program(key.removeprefix("program/"), record) for key, record in _records(core).items(organization, "program/").items()]
    return sorted(found, key=lambda one: (one.state is not Standing.WAITING, one.asked_at))


def waiting(core: Core, organization: str) -> int:
    """How many wait for an administrator."""
    return sum(one.state is Standing.WAITING for one in programs(core, organization))


def note_grant(core: Core, organization: str, connection: str, client: Client) -> None:
    """Remember which program a connection is of."""
    _records(core).put(organization, f"grant/{connection}", {"software": client.software})


def software_of(core: Core, organization: str) -> Mapping[str, str]:
    """Connection id → which program it is of, for connections by OAuth."""
    return {key.removeprefix("grant/"): record["software"] for key, record in _records(core).items(organization, "grant/").items()}


def refused(core: Core, organization: str, connection: str) -> bool:
    """Whether a connection is of a program that an administrator refused."""
    grant = _records(core).get(organization, f"grant/{connection}")
    record = None if grant is None else _records(core).get(organization, f"program/{grant['software']}")
    return record is not None and record["state"] == Standing.REFUSED.value


def _described(client: Client) -> dict[str, Any]:
    return {"name": client.name, "host": client.host, "redirect_uris": list(client.redirect_uris)}


def _program(software: str, record: Mapping[str, Any]) -> Program:
    decided = record.get("decided_at")
    return Program(
        software,
        record["name"],
        record["host"],
        tuple(record["redirect_uris"]),
        Standing(record["state"]),
        tuple(record["asked_by"]),
        datetime.fromisoformat(record["asked_at"]),
        record.get("decided_by"),
        None if decided is None else datetime.fromisoformat(decided),
    )


def _records(core: Core) -> Records:
    return core.storage.records(RECORDS)
