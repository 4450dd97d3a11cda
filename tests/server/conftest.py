"""A live server for tests: one per process and storage, and a fresh organization for each test.

`office` is the organization, `office.as_("ben")` a person's MCP session over HTTP, to be used like a plain object:

    ben = office.as_("ben")
    saved = ben.call("remember", content="...")
    error = ben.refused("get_memory", memory_id="...")
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import anyio.from_thread
import httpx2
import pytest
import uvicorn
from anyio.from_thread import BlockingPortal
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, Implementation, TextContent

from memscope.app import MemScope
from memscope.contracts.storage import Operator
from memscope.model.audience import Sensitivity
from memscope.model.audit import Act
from memscope.model.ids import new_id
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
from memscope.serving.process import server as http_server
from memscope.serving.workers import listening, url
from memscope.settings import Settings, load

Elicited = Callable[[ElicitRequestParams], ElicitResult]
ERAS = {"legacy": "legacy", "modern": "auto"}
"""Protocol eras, and how the SDK's client is told to speak them."""
MODERN = "2026-07-28"
DATA = Path(__file__).parents[1] / "data"
PLAIN_GUARDS = DATA / "plain_guards.py"
WEB_PART = DATA / "web_part.py"
_numbers = itertools.count(1)


@dataclass
class Live:
    """A server that listens."""

    app: MemScope
    url: str
    portal: BlockingPortal
    http: httpx2.Client
    """Without credentials."""


@contextmanager
def serving(app: MemScope) -> Iterator[Live]:
    """An open MemScope behind HTTP on a free port, and a portal for asynchronous clients."""
    ready = threading.Event()
    with listening("127.0.0.1", 0) as listener, anyio.from_thread.start_blocking_portal() as portal, httpx2.Client(timeout=60) as http:
        server: uvicorn.Server = http_server(app, ready.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        assert ready.wait(30), "the server did not start"
        try:
            yield Live(app, url(listener), portal, http)
        finally:
            server.should_exit = True
            thread.join(15)


@contextmanager
def data_folder() -> Iterator[Path]:
    """A folder that any user may enter: an embedded database of root's runs as somebody else."""
    folder = Path(tempfile.mkdtemp(prefix="memscope-test-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def settings(folder: Path, storage: str, **environ: str) -> Settings:
    """Settings as an operator would give them, with more variables. Guarding is by plain words."""
    plain = {"MEMSCOPE_PLUGINS_FILES": str(PLAIN_GUARDS), "MEMSCOPE_PLUGINS_BLOCKED": "spacy,instructions,admin"}
    patient = {"MEMSCOPE_GUARDING_TIMEOUT_MS": "30000"}
    return load(None, {"MEMSCOPE_STORAGE_PROVIDER": storage, **plain, **patient, **environ}, data_dir=folder / "data")


@dataclass
class Session:
    """One person's MCP session; every call goes over the wire."""

    live: Live
    client: Client
    token: str

    def raw(self, tool: str, /, **arguments: Any) -> CallToolResult:
        """The result as it came."""
        result: CallToolResult = self.live.portal.call(self.client.call_tool, tool, arguments)
        return result

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The answer of a call that succeeds."""
        result = self.raw(tool, **arguments)
        assert not result.is_error, result.structured_content
        return both(result)

    def refused(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The error of a call that is refused."""
        result = self.raw(tool, **arguments)
        assert result.is_error, result.structured_content
        error = both(result)["error"]
        assert isinstance(error, dict)
        return error

    def remember(self, content: str, **arguments: Any) -> dict[str, Any]:
        """The memory that a save makes."""
        memory = self.call("remember", content=content, **arguments)["memory"]
        assert isinstance(memory, dict)
        return memory

    def found(self, query: str, **arguments: Any) -> list[str]:
        """Contents of what recall finds, best first."""
        return [result["content"] for result in self.call("recall", query=query, **arguments)["results"]]


def both(result: CallToolResult) -> dict[str, Any]:
    """The structured content, which the text block repeats."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    assert json.loads(block.text) == result.structured_content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


@dataclass
class Office:
    """One organization and its people.

    ada is an admin; ben a member of team platform and project billing; cleo owns both; dora is in none; gus is a guest;
    hana is in team people-ops, which guards the topic hr; topic finance has no guard team.
    """

    live: Live
    stack: ExitStack
    organization: Organization
    people: dict[str, Person] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    topics: dict[str, Topic] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    connections: dict[str, str] = field(default_factory=dict)
    sessions: dict[tuple[str, str], Session] = field(default_factory=dict)
    """The usual one of each person (and client version), opened once."""

    def operator(self) -> Operator:
        """Somebody on the server's machine."""
        return Operator("test", self.organization.id)

    def change(self, act: str) -> AbstractContextManager[Any]:
        """A transaction of an operator."""
        return self.live.app.core.storage.begin(self.operator(), Act(act))

    def token(self, person: str, client: str = "test client") -> str:
        """A new token of a person, on a connection of its own."""
        connection = Connection(new_id(), self.people[person].id, ConnectionKind.TOKEN, client, datetime.now(UTC))
        with self.change("connection.create") as transaction:
            transaction.write_connection(connection)
        token = self.live.app.identities.tokens.issue_token(self.organization.id, connection.person, connection.id)
        self.connections[token] = connection.id
        return token

    def revoke(self, token: str) -> None:
        """Revoke a token's connection."""
        with self.change("connection.revoke") as transaction:
            (known,) = [one for one in transaction.connections() if one.id == self.connections[token]]
            transaction.write_connection(replace(known, revoked_at=datetime.now(UTC)))

    def write(self, act: str = "organization.change", **changes: Any) -> None:
        """Change the organization's own settings."""
        self.organization = replace(self.organization, **changes)
        with self.change(act) as transaction:
            transaction.write_organization(self.organization)

    def join(self, group: str, person: str, role: GroupRole | None = GroupRole.MEMBER) -> None:
        """Put a person into a group, or take them out with None."""
        with self.change("group.member") as transaction:
            transaction.write_membership(self.groups[group].id, self.people[person].id, role)

    def expire(self, memory: dict[str, Any]) -> None:
        """Let a memory's `valid_until` have passed an hour ago."""
        with self.change("memory.correct") as transaction:
            known = transaction.memory(memory["id"], lock=True)
            transaction.update(known, replace(known, valid_until=datetime.now(UTC) - timedelta(hours=1)))

    def disable(self, person: str) -> None:
        """Disable a person."""
        known = self.people[person]
        self.people[person] = replace(known, active=False)
        with self.change("person.disable") as transaction:
            transaction.write_person(self.people[person])

    def post(
        self, token: str, method: str, params: dict[str, Any], capabilities: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """One modern request as bytes of our own making: status and JSON-RPC message."""
        meta = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": capabilities or {}}
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": method} | ({"Mcp-Name": params["name"]} if "name" in params else {})
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}})
        response = self.live.http.post(f"{self.live.url}/mcp", headers=headers, content=body.encode())
        return response.status_code, response.json()

    def as_(
        self, person: str, era: str = "modern", *, token: str | None = None, elicit: Elicited | None = None, version: str = "1.0"
    ) -> Session:
        """A session of a person; `elicit` answers questions put to them, and without it the client cannot ask."""
        usual = token is None and elicit is None and era == "modern"
        if usual and (person, version) in self.sessions:
            return self.sessions[person, version]
        if token is None:
            token = self.tokens.setdefault(person, "") or self.token(person)
            self.tokens[person] = token

        async def answer(context: object, params: ElicitRequestParams) -> ElicitResult:
            assert elicit is not None
            return elicit(params)

        # Nothing is encrypted here; loading certificates would be half of the work.
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60, verify=False)
        client = Client(
            streamable_http_client(f"{self.live.url}/mcp", http_client=http),
            mode=ERAS[era],
            elicitation_callback=None if elicit is None else answer,
            client_info=Implementation(name="test-client", version=version),
        )
        self.stack.enter_context(self.live.portal.wrap_async_context_manager(http))
        self.stack.enter_context(self.live.portal.wrap_async_context_manager(client))
        session = Session(self.live, client, token)
        if usual:
            self.sessions[person, version] = session
        return session


def found_office(live: Live, stack: ExitStack) -> Office:
    """A new organization with its people, groups and topics."""
    number = next(_numbers)
    organization = Organization(
        new_id(), f"office-{os.getpid()}-{number}", f"Office {number}", "UTC", confirmation=Confirmation.FLAG, secrets=SecretsPolicy.HOLD
    )
    storage = live.app.core.storage
    with storage.begin(Operator("test", None), Act("organization.create")) as transaction:
        transaction.write_organization(organization)
    office = Office(live, stack, organization)
    roles = {"ada": Role.ADMIN, "gus": Role.GUEST}
    for name in ("ada", "ben", "cleo", "dora", "gus", "hana"):
        office.people[name] = Person(new_id(), f"{name}@example.com", name.capitalize(), roles.get(name, Role.MEMBER))
    office.groups["platform"] = Group(new_id(), GroupKind.TEAM, "platform", "Platform Team", ("infra",))
    office.groups["people-ops"] = Group(new_id(), GroupKind.TEAM, "people-ops", "People Operations")
    office.groups["billing"] = Group(new_id(), GroupKind.PROJECT, "billing", "Billing API", ("invoices",), office.groups["platform"].id)
    with office.change("organization.fill") as transaction:
        for person in office.people.values():
            transaction.write_person(person)
        for group in office.groups.values():
            transaction.write_group(group)
        for slug, member, role in (
            ("platform", "ben", GroupRole.MEMBER),
            ("platform", "cleo", GroupRole.OWNER),
            ("people-ops", "hana", GroupRole.MEMBER),
            ("billing", "ben", GroupRole.MEMBER),
            ("billing", "cleo", GroupRole.OWNER),
        ):
            transaction.write_membership(office.groups[slug].id, office.people[member].id, role)
    known = {topic.key: topic for topic in storage.roster(organization.id).topics.values()}
    for key, name, phrases, teams in (
        ("hr", "HR", ("salary", "severance"), frozenset({office.groups["people-ops"].id})),
        ("finance", "Finance", ("quarterly forecast",), frozenset[str]()),
        ("legal", "Legal", ("lawsuit",), frozenset[str]()),
    ):
        earlier = known.get(key)
        topic = Topic(
            earlier.id if earlier else new_id(), key, name, (), f"{name} matters", phrases, Sensitivity.RESTRICTED, teams, builtin=True
        )
        office.topics[key] = topic
        with office.change("topic.write") as transaction:
            transaction.write_topic(topic)
    return office


@contextmanager
def _live(storage: str, **environ: str) -> Iterator[Live]:
    with data_folder() as folder, MemScope.from_settings(settings(folder, storage, **environ)) as app:
        app.core.embedding.load()
        with serving(app) as live:
            yield live


@pytest.fixture(scope="session")
def data_folder_factory() -> Callable[[], AbstractContextManager[Path]]:
    """Makes data folders."""
    return data_folder


@pytest.fixture(scope="session")
def plain_guards() -> Path:
    """The plugin that judges by plain words."""
    return PLAIN_GUARDS


@pytest.fixture(scope="session")
def start() -> Callable[..., AbstractContextManager[Live]]:
    """Starts a server of a test's own: `start("inprocess", MEMSCOPE_...="...")`."""
    return _live


@pytest.fixture(scope="session")
def settle() -> Callable[[Live, ExitStack], Office]:
    """Founds a new organization on a server."""
    return found_office


@pytest.fixture
def solid(postgres: Live, settle: Callable[..., Office]) -> Iterator[Office]:
    """An organization on PostgreSQL, for tests of a file whose others do with any storage."""
    with ExitStack() as stack:
        yield settle(postgres, stack)


@pytest.fixture
def gate() -> Iterator[Any]:
    """Where a save whose text says "wait here" waits for the test; `seen` holds what the classifier was shown."""
    module: Any = ModuleType("memscope_test_gate")
    module.reached, module.go, module.seen = threading.Event(), threading.Event(), []
    sys.modules[module.__name__] = module
    yield module
    module.go.set()
    del sys.modules[module.__name__]


@pytest.fixture(scope="session")
def inprocess() -> Iterator[Live]:
    """A server on the in-process storage."""
    with _live("inprocess") as live:
        yield live


@pytest.fixture(scope="session")
def postgres() -> Iterator[Live]:
    """A server on its own embedded PostgreSQL."""
    with _live("postgres") as live:
        yield live


@pytest.fixture
def live(request: pytest.FixtureRequest) -> Live:
    """The server that a test runs against: on PostgreSQL, unless its module's STORAGE or `MEMSCOPE_TEST_STORAGE` says otherwise."""
    storage = os.environ.get("MEMSCOPE_TEST_STORAGE") or str(getattr(request.module, "STORAGE", "postgres"))
    return cast(Live, request.getfixturevalue(storage))


@pytest.fixture
def office(live: Live) -> Iterator[Office]:
    """A fresh organization on the live server."""
    with ExitStack() as stack:
        yield found_office(live, stack)


@pytest.fixture(scope="session")
def _limited() -> Iterator[Live]:
    with _live(
        "inprocess",
        MEMSCOPE_LIMITS_CALLS_PER_MINUTE="5",
        MEMSCOPE_SERVER_METRICS_TOKEN="figures-only",
        MEMSCOPE_PLUGINS_FILES=f"{PLAIN_GUARDS},{WEB_PART}",
    ) as live:
        yield live


@pytest.fixture
def limited(_limited: Live) -> Iterator[Office]:
    """An organization on a server that allows five calls a minute."""
    with ExitStack() as stack:
        yield found_office(_limited, stack)


@pytest.fixture
def other_office(live: Live) -> Iterator[Office]:
    """A second organization on the same server, with people of the same addresses."""
    with ExitStack() as stack:
        yield found_office(live, stack)


@pytest.fixture(params=list(ERAS))
def era(request: pytest.FixtureRequest) -> str:
    """Both protocol eras, one after the other."""
    return cast(str, request.param)
