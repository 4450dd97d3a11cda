"""Connections and access tokens: made, listed, revoked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memscope.contracts.identity import Tokens
from memscope.contracts.storage import Operator
from memscope.core import Core
from memscope.model.audit import Act
from memscope.model.ids import new_id
from memscope.model.organization import Connection, ConnectionKind
from memscope.organizations.file import check_name


def create_token(
    core: Core, tokens: Tokens, organization: str, person: str, client: str, expires_at: datetime | None = None, *, actor: str | None = None
) -> tuple[Connection, str]:
    """A new connection of a person and its access token, which is told this once.

    The caller has made sure that it may: an operator on the server's machine, or the person in the console (`actor`).
    """
    connection = Connection(new_id(), person, ConnectionKind.TOKEN, check_name(client), core.clock(), expires_at)
    act = Act("token.create", actor, target=connection.id, detail={"person": person, "expires": expires_at is not None})
    with core.storage.begin(Operator("token create", organization), act) as transaction:
        transaction.write_connection(connection)
    # The hash comes second: a connection without a token admits nobody.
    return connection, tokens.issue_token(organization, person, connection.id)


def connections(core: Core, organization: str, person: str | None = None) -> Sequence[Connection]:
    """The connections of a person or of everybody, newest first."""
    with core.storage.begin(Operator("list connections", organization)) as transaction:
        return transaction.connections(person)


def revoke(core: Core, tokens: Tokens, organization: str, connection: Connection, *, actor: str | None = None) -> bool:
    """End a connection: its next call is refused, and a running one does not commit. Returns whether it was live."""
    if connection.revoked_at is not None:
        return False
    act = Act("connection.revoke", actor, target=connection.id, detail={"person": connection.person})
    with core.storage.begin(Operator("revoke", organization), act) as transaction:
        transaction.write_connection(replace(connection, revoked_at=transaction.now))
    tokens.drop_token(organization, connection.id)
    return True
