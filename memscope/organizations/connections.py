"""Connections and access tokens: made, listed, revoked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memscope.contracts.identity import Tokens
from memscope.contracts.storage import Operator
from memscope.core import Core
from memscope.errors import InvalidArgument
from memscope.guarding.examine import Setting, doubtful
from memscope.model.audience import Scope
from memscope.model.audit import Act
from memscope.model.ids import new_id
from memscope.model.organization import Connection, ConnectionKind
from memscope.organizations.clients import Standing, programs, software_of
from memscope.organizations.file import check_name
from memscope.usage import CALLS, FLAGGED_SAVES

STALE_AFTER = timedelta(days=30)
"""Unused for so long, a connection is likely forgotten."""


def create_token(
    core: Core, tokens: Tokens, organization: str, person: str, client: str, expires_at: datetime | None = None, *, actor: str | None = None
) -> tuple[Connection, str]:
    """A new connection of a person and its access token, which is told this once.

    The caller has made sure that it may: an operator on the server's machine, or the person in the console (`actor`). Others
    are shown the client's name beside what it saves, so what a person calls it is judged: InvalidArgument for a name that
    holds a credential or reads like orders to an AI.
    """
    name = check_name(client)
    if actor is not None:
        roster = core.rosters.current(organization)
        if doubtful(core, roster, name, Setting(Scope.ORGANIZATION, None, roster.people[person].role, None, None)):
            raise InvalidArgument("client", "Others are shown this name. Choose one without a password or key that is no order to an AI.")
    connection = Connection(new_id(), person, ConnectionKind.TOKEN, name, core.clock(), expires_at)
    act = Act("token.create", actor, target=connection.id, detail={"person": person, "expires": expires_at is not None})
    with core.storage.begin(Operator("token create", organization), act) as transaction:
        transaction.write_connection(connection)
    # The hash comes second: a connection without a token admits nobody.
    return connection, tokens.issue_token(organization, person, connection.id)


def connections(core: Core, organization: str, person: str | None = None) -> Sequence[Connection]:
    """The connections of a person or of everybody, newest first."""
    with core.storage.begin(Operator("list connections", organization)) as transaction:
        return transaction.connections(person)


@dataclass(frozen=True, slots=True)
class Shown:
    """A connection as a list tells of it."""

    connection: Connection
    state: str
    """`valid`, `expired` or `ended`."""
    stale: bool
    """Whether it is valid and nobody used it for a month."""
    unapproved: bool
    """Whether it is valid and of a program that no administrator approved."""
    calls: int
    """Within seven days."""
    flagged_saves: int
    """Within seven days: saves that opened a review."""
    hint: str | None
    """How its access token begins and ends."""


def overview(core: Core, tokens: Tokens, organization: str, person: str | None = None) -> Sequence[Shown]:
    """The connections of a person or of everybody with what they did lately, newest first."""
    known = connections(core, organization, person)
    now, since = core.clock(), core.usage.today(organization) - timedelta(days=6)
    calls, flagged = (core.usage.totals(organization, figure, since) for figure in (CALLS, FLAGGED_SAVES))
    hints = tokens.token_hints(organization)
    program = software_of(core, organization)
    approved = {one.software for one in programs(core, organization) if one.state is Standing.APPROVED}
    shown = []
    for one in known:
        ended = "ended" if one.revoked_at is not None else "expired" if one.expires_at is not None and one.expires_at <= now else None
        shown.append(
            Shown(
                one,
                ended or "valid",
                ended is None and now - (one.last_used_at or one.created_at) >= STALE_AFTER,
                ended is None and one.kind is ConnectionKind.OAUTH and program.get(one.id) not in approved,
                calls.get(one.id, 0),
                flagged.get(one.id, 0),
                hints.get(one.id),
            )
        )
    return shown


def revoke(core: Core, tokens: Tokens, organization: str, connection: Connection, *, actor: str | None = None) -> bool:
    """End a connection: its next call is refused, and a running one does not commit. Returns whether it was live."""
    if connection.revoked_at is not None:
        return False
    act = Act("connection.revoke", actor, target=connection.id, detail={"person": connection.person})
    with core.storage.begin(Operator("revoke", organization), act) as transaction:
        transaction.write_connection(replace(connection, revoked_at=transaction.now))
    tokens.drop_token(organization, connection.id)
    return True
