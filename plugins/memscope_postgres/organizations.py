"""Organizations, people, groups, topics, connections: reading a roster and writing one fact."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any, Protocol

from memscope.model.audience import Scope, Sensitivity
from memscope.model.organization import (
    Confirmation,
    Connection,
    ConnectionKind,
    Group,
    GroupKind,
    GroupRole,
    Organization,
    Person,
    Role,
    SecretsPolicy,
    Topic,
)
from memscope_postgres.rows import utc

if TYPE_CHECKING:
    import psycopg

    from memscope_postgres.pool import Values


class Run(Protocol):
    """Runs one statement in the current transaction."""

    def __call__(self, statement: str, values: Values | None = None, /) -> psycopg.Cursor[tuple[Any, ...]]:
        """The cursor with its result."""


ORGANIZATION = "org_id, slug, name, timezone, trash_days, default_scope, default_sensitivity, confirmation, secrets"
CONNECTION = """c.connection_id, c.person_id, c.kind, c.client, c.created_at, c.expires_at, u.last_used_at, c.revoked_at, u.client_version
FROM memscope.connection c LEFT JOIN memscope.connection_use u ON u.org_id = c.org_id AND u.connection_id = c.connection_id"""


def organization(row: tuple[Any, ...]) -> Organization:
    """An organization from a row of `ORGANIZATION`."""
    id_, slug, name, timezone, trash_days, default_scope, default_sensitivity, confirmation, secrets = row
    return Organization(
        id=id_,
        slug=slug,
        name=name,
        timezone=timezone,
        trash_days=trash_days,
        default_scope=Scope(default_scope),
        default_sensitivity=Sensitivity(default_sensitivity),
        confirmation=Confirmation(confirmation),
        secrets=SecretsPolicy(secrets),
    )


def _organization_values(organization: Organization) -> dict[str, Any]:
    return {
        "org": organization.id,
        "slug": organization.slug,
        "name": organization.name,
        "timezone": organization.timezone,
        "trash_days": organization.trash_days,
        "default_scope": organization.default_scope.value,
        "default_sensitivity": int(organization.default_sensitivity),
        "confirmation": organization.confirmation.value,
        "secrets": organization.secrets.value,
    }


def insert_organization(run: Run, organization: Organization) -> bool:
    """Make an organization unless it exists; whether it was made."""
    done = run(
        f"""INSERT INTO memscope.organization ({ORGANIZATION}) VALUES (%(org)s, %(slug)s, %(name)s, %(timezone)s, %(trash_days)s,
              %(default_scope)s, %(default_sensitivity)s, %(confirmation)s, %(secrets)s) ON CONFLICT (org_id) DO NOTHING""",
        _organization_values(organization),
    )
    return done.rowcount == 1


def update_organization(run: Run, organization: Organization) -> None:
    """Store an organization's settings."""
    values = _organization_values(organization)
    run(
        f"UPDATE memscope.organization SET {', '.join(f'{name} = %({name})s' for name in values if name != 'org')} WHERE org_id = %(org)s",
        values,
    )


def raise_epoch(run: Run, org: str) -> None:
    """A policy fact changes: waits until no other transaction of the organization is under way."""
    run("UPDATE memscope.organization SET epoch = epoch + 1, facts_epoch = epoch + 1 WHERE org_id = %s", (org,))


def write_person(run: Run, org: str, person: Person) -> None:
    """Insert or update."""
    run(
        """INSERT INTO memscope.person (org_id, person_id, email, name, role, clearance, active) VALUES (%s, %s, %s, %s, %s, %s, %s)
           ON CONFLICT (org_id, person_id) DO UPDATE SET email = excluded.email, name = excluded.name, role = excluded.role,
             clearance = excluded.clearance, active = excluded.active""",
        (
            org,
            person.id,
            person.email,
            person.name,
            person.role.value,
            None if person.clearance is None else int(person.clearance),
            person.active,
        ),
    )


def write_group(run: Run, org: str, group: Group) -> None:
    """Insert or update."""
    run(
        """INSERT INTO memscope.grp (org_id, group_id, kind, slug, name, aliases, team) VALUES (%s, %s, %s, %s, %s, %s, %s)
           ON CONFLICT (org_id, group_id) DO UPDATE SET kind = excluded.kind, slug = excluded.slug, name = excluded.name,
             aliases = excluded.aliases, team = excluded.team""",
        (org, group.id, group.kind.value, group.slug, group.name, list(group.aliases), group.team),
    )


def remove_group(run: Run, org: str, group: str) -> None:
    """Remove a group without memories, its memberships and mappings; its projects belong to no team then."""
    row = run("SELECT memscope.count_in_group(%s)", (group,)).fetchone()
    assert row is not None
    if row[0]:
        raise ValueError(f"{row[0]} memories lie in the group")
    key = {"org": org, "group": group}
    run("UPDATE memscope.grp SET team = NULL WHERE org_id = %(org)s AND team = %(group)s", key)
    for table in ("guard_team", "membership", "grp"):
        run(f"DELETE FROM memscope.{table} WHERE org_id = %(org)s AND group_id = %(group)s", key)


def write_membership(run: Run, org: str, group: str, person: str, role: GroupRole | None) -> None:
    """Set or, with None, end a membership."""
    if role is None:
        run("DELETE FROM memscope.membership WHERE org_id = %s AND group_id = %s AND person_id = %s", (org, group, person))
        return
    run(
        """INSERT INTO memscope.membership (org_id, group_id, person_id, role) VALUES (%s, %s, %s, %s)
           ON CONFLICT (org_id, group_id, person_id) DO UPDATE SET role = excluded.role""",
        (org, group, person, role.value),
    )


def write_topic(run: Run, org: str, topic: Topic) -> None:
    """Insert or update, guard teams included. `guarding` never falls back."""
    run(
        """INSERT INTO memscope.topic (org_id, topic_id, key, name, aliases, description, phrases, sensitivity, guarding, builtin)
           VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
           ON CONFLICT (org_id, topic_id) DO UPDATE SET key = excluded.key, name = excluded.name, aliases = excluded.aliases,
             description = excluded.description, phrases = excluded.phrases, sensitivity = excluded.sensitivity,
             guarding = topic.guarding OR excluded.guarding, builtin = excluded.builtin, retired = false""",
        (
            org,
            topic.id,
            topic.key,
            topic.name,
            list(topic.aliases),
            topic.description,
            list(topic.phrases),
            int(topic.sensitivity),
            topic.guarding or bool(topic.teams),
            topic.builtin,
        ),
    )
    run("DELETE FROM memscope.guard_team WHERE org_id = %s AND topic_id = %s", (org, topic.id))
    for team in sorted(topic.teams):
        run("INSERT INTO memscope.guard_team (org_id, topic_id, group_id) VALUES (%s, %s, %s)", (org, topic.id, team))


def remove_topic(run: Run, org: str, topic: str) -> None:
    """Retire a topic: it goes on guarding, with nobody."""
    run("UPDATE memscope.topic SET retired = true WHERE org_id = %s AND topic_id = %s", (org, topic))
    run("DELETE FROM memscope.guard_team WHERE org_id = %s AND topic_id = %s", (org, topic))


def write_connection(run: Run, org: str, connection: Connection) -> None:
    """Insert or update. The update waits for transactions that hold the connection."""
    run(
        """INSERT INTO memscope.connection (org_id, connection_id, person_id, kind, client, created_at, expires_at, revoked_at)
           VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
           ON CONFLICT (org_id, connection_id) DO UPDATE SET client = excluded.client, expires_at = excluded.expires_at,
             revoked_at = excluded.revoked_at""",
        (
            org,
            connection.id,
            connection.person,
            connection.kind.value,
            connection.client,
            connection.created_at,
            connection.expires_at,
            connection.revoked_at,
        ),
    )
    if connection.last_used_at is not None:
        run(
            """INSERT INTO memscope.connection_use (org_id, connection_id, last_used_at, client_version) VALUES (%s, %s, %s, %s)
               ON CONFLICT (org_id, connection_id) DO UPDATE SET last_used_at = excluded.last_used_at,
                 client_version = excluded.client_version""",
            (org, connection.id, connection.last_used_at, connection.client_version),
        )


def connections(run: Run, org: str, person: str | None) -> list[Connection]:
    """An organization's or a person's connections, newest first."""
    found = run(
        f"SELECT {CONNECTION} WHERE c.org_id = %s {'' if person is None else 'AND c.person_id = %s'} "
        "ORDER BY c.created_at DESC, c.connection_id DESC",
        (org,) if person is None else (org, person),
    ).fetchall()
    return [connection(row) for row in found]


def connection(row: tuple[Any, ...]) -> Connection:
    """A connection from a row of `CONNECTION`."""
    id_, person, kind, client, created_at, expires_at, last_used_at, revoked_at, client_version = row
    return Connection(
        id=id_,
        person=person,
        kind=ConnectionKind(kind),
        client=client,
        created_at=created_at.astimezone(UTC),
        expires_at=utc(expires_at),
        last_used_at=utc(last_used_at),
        revoked_at=utc(revoked_at),
        client_version=client_version,
    )


def people(run: Run, org: str) -> dict[str, Person]:
    """Everybody, by id."""
    found = run("SELECT person_id, email, name, role, clearance, active FROM memscope.person WHERE org_id = %s ORDER BY email", (org,))
    return {
        id_: Person(id_, email, name, Role(role), None if clearance is None else Sensitivity(clearance), active)
        for id_, email, name, role, clearance, active in found
    }


def groups(run: Run, org: str) -> dict[str, Group]:
    """All teams and projects, by id."""
    found = run("SELECT group_id, kind, slug, name, aliases, team FROM memscope.grp WHERE org_id = %s ORDER BY kind, slug", (org,))
    return {id_: Group(id_, GroupKind(kind), slug, name, tuple(aliases), team) for id_, kind, slug, name, aliases, team in found}


def memberships(run: Run, org: str) -> dict[str, dict[str, GroupRole]]:
    """Group id → person id → role."""
    found: dict[str, dict[str, GroupRole]] = {}
    for group, person, role in run("SELECT group_id, person_id, role FROM memscope.membership WHERE org_id = %s", (org,)):
        found.setdefault(group, {})[person] = GroupRole(role)
    return found


def topics(run: Run, org: str) -> tuple[dict[str, Topic], frozenset[str]]:
    """Topics by id, and the ids of those taken out of the lists that go on guarding."""
    teams: dict[str, set[str]] = {}
    for topic, group in run("SELECT topic_id, group_id FROM memscope.guard_team WHERE org_id = %s", (org,)):
        teams.setdefault(topic, set()).add(group)
    listed: dict[str, Topic] = {}
    removed: set[str] = set()
    found = run(
        """SELECT topic_id, key, name, aliases, description, phrases, sensitivity, guarding, builtin, retired
           FROM memscope.topic WHERE org_id = %s ORDER BY key""",
        (org,),
    )
    for id_, key, name, aliases, description, phrases, sensitivity, guarding, builtin, gone in found:
        if gone:
            if guarding:
                removed.add(id_)
            continue
        listed[id_] = Topic(
            id=id_,
            key=key,
            name=name,
            aliases=tuple(aliases),
            description=description,
            phrases=tuple(phrases),
            sensitivity=Sensitivity(sensitivity),
            teams=frozenset(teams.get(id_, ())),
            guarding=guarding,
            builtin=builtin,
        )
    return listed, frozenset(removed)
