"""Tokens, passwords, approvals, how to connect."""

from __future__ import annotations

import base64
import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

from memscope.contracts.storage import Operator
from memscope.model.audit import Act
from memscope.organizations.client_lines import CLIENTS
from memscope.organizations.signing_in import authenticate, choose_organization

Terminal = Any


def actions(terminal: Terminal) -> Any:
    app = terminal.app()
    organization = choose_organization(app.core.storage, None)
    with app.core.storage.begin(Operator("test", organization.id)) as transaction:
        return [row.act for row in transaction.audit_rows(0, 1000)]


def test_one_token_stands_alone_on_standard_output(harbor: Terminal) -> None:
    output = harbor.run("token", "create", "bo@harbor.example", "--client", "claude-code")
    token = output.out.strip()
    app = harbor.app()
    principal = authenticate(app.core, app.identities, token)
    assert principal is not None
    assert principal.client == "claude-code"
    assert app.core.rosters.current(principal.organization).people[principal.person].email == "bo@harbor.example"
    assert output.out == f"{token}\n"
    assert output.err == ""


def test_several_tokens_are_lines_of_address_and_token(harbor: Terminal) -> None:
    lines = harbor.run("token", "create", "Bo@harbor.example", "di@harbor.example", "--org", "harbor", "--client", "x").lines
    app = harbor.app()
    assert [line.split("\t")[0] for line in lines] == ["bo@harbor.example", "di@harbor.example"]
    assert all(authenticate(app.core, app.identities, line.split("\t")[1]) for line in lines)


def test_no_token_is_made_when_one_address_is_unknown(harbor: Terminal) -> None:
    output = harbor.run("token", "create", "bo@harbor.example", "nobody@harbor.example", "--client", "x", code=1)
    assert "nobody@harbor.example" in output.err
    assert output.out == ""
    assert len(harbor.run("token", "list").lines) == 1


def test_a_disabled_person_gets_no_token(harbor: Terminal) -> None:
    harbor.run(
        "org",
        "apply",
        harbor.file("off.toml", '[organization]\nslug = "harbor"\n[[people]]\nemail = "bo@harbor.example"\nactive = false\n'),
    )
    assert "disabled" in harbor.run("token", "create", "bo@harbor.example", "--client", "x", code=1).err


def test_a_client_name_must_be_one(harbor: Terminal) -> None:
    assert "name" in harbor.run("token", "create", "bo@harbor.example", "--client", " ", code=1).err


def test_revoking_acts_at_the_next_call_and_twice_is_harmless(harbor: Terminal) -> None:
    token = harbor.run("token", "create", "bo@harbor.example", "--client", "x", "--expires", "30").out.strip()
    listed = harbor.run("token", "list").lines
    assert "valid until" in listed[1]
    identifier = listed[1].split()[0]
    assert harbor.run("token", "revoke", identifier).err == "Revoked: its next call is refused.\n"
    app = harbor.app()
    assert authenticate(app.core, app.identities, token) is None
    assert "revoked before" in harbor.run("token", "revoke", identifier).err
    assert "revoked" in harbor.run("token", "list").lines[1]
    assert "no connection" in harbor.run("token", "revoke", "0", code=1).err


def test_every_credential_is_an_audit_row(harbor: Terminal) -> None:
    harbor.run("token", "create", "bo@harbor.example", "--client", "x")
    harbor.run("token", "revoke", harbor.run("token", "list").lines[1].split()[0])
    harbor.run("person", "reset", "bo@harbor.example")
    found = [act.action for act in actions(harbor)]
    assert found[-3:] == ["token.create", "connection.revoke", "person.reset_password"]
    assert all(act.detail["reason"] for act in actions(harbor))


def test_reset_prints_a_password_that_works_once(harbor: Terminal) -> None:
    password = harbor.run("person", "reset", "bo@harbor.example").out.strip()
    app = harbor.app()
    organization = choose_organization(app.core.storage, None).id
    bo = app.core.rosters.current(organization).find_person("bo@harbor.example")
    assert app.identities.passwords.check_password(organization, bo.id, password)
    harbor.run("person", "reset", "bo@harbor.example", "--password-stdin", stdin="another long one\n")
    assert not app.identities.passwords.check_password(organization, bo.id, password)
    assert app.identities.passwords.check_password(organization, bo.id, "another long one")


def test_reset_refuses_weak_passwords_and_unknown_people(harbor: Terminal) -> None:
    assert "12 to" in harbor.run("person", "reset", "bo@harbor.example", "--password-stdin", stdin="short\n", code=1).err
    assert "nobody@" in harbor.run("person", "reset", "nobody@harbor.example", code=1).err
    assert "no terminal" in harbor.run("person", "reset", "bo@harbor.example", "--ask", code=1).err


PASSWORD = "ada's long password"


def ticket(harbor: Terminal) -> Any:
    """A ticket that waits for Ada: forgetting one of her memories."""
    from memscope.approvals.consent import Consent
    from memscope.errors import ConfirmRequired
    from memscope.memories.remember import Remember, remember
    from memscope.memories.trash import Forget, forget_memory

    harbor.run("org", "apply", harbor.file("strict.toml", '[organization]\nslug = "harbor"\nconfirmation = "console"\n'))
    token = harbor.run("token", "create", "ada@harbor.example", "--client", "agent").out.strip()
    app = harbor.app()
    principal = authenticate(app.core, app.identities, token)
    assert principal is not None
    memory = remember(app.core, principal, Remember("The lighthouse is painted in May.")).memory.id
    wanted = Forget(memory, reason='clean up\n"x"')

    def forget() -> Any:
        return forget_memory(app.core, principal, wanted, Consent(confirm_human=True))

    try:
        forget()
    except ConfirmRequired:
        return forget
    raise AssertionError("forgetting was not asked for")


def test_approvals_are_listed_and_decided_after_the_password(harbor: Terminal) -> None:
    forget = ticket(harbor)
    wrong = harbor.run("approvals", "list", "--person", "ada@harbor.example", "--password-stdin", stdin="wrong\n", code=1)
    assert "password is wrong" in wrong.err
    listed = harbor.run("approvals", "list", "--person", "ada@harbor.example", "--password-stdin", stdin=f"{PASSWORD}\n").lines
    assert "forget_memory on memory" in listed[0]
    assert listed[-1] == "  the agent's reason: " + json.dumps('clean up\n"x"')
    assert "lighthouse" not in "".join(listed)
    identifier = listed[0].split()[0]
    harbor.run("approvals", "approve", identifier, "--person", "ada@harbor.example", "--password-stdin", stdin=f"{PASSWORD}\n")
    assert forget().memory_id
    assert actions(harbor)[-1].approved_via.value == "person"


def test_a_refused_approval_is_a_no(harbor: Terminal) -> None:
    import pytest

    from memscope.errors import Forbidden

    forget = ticket(harbor)
    identifier = harbor.run("approvals", "list", "--person", "ada@harbor.example", "--password-stdin", stdin=PASSWORD).lines[0].split()[0]
    harbor.run("approvals", "refuse", identifier, "--person", "ada@harbor.example", "--password-stdin", stdin=PASSWORD)
    with pytest.raises(Forbidden, match="said no"):
        forget()
    again = harbor.run("approvals", "approve", identifier, "--person", "ada@harbor.example", "--password-stdin", stdin=PASSWORD, code=1)
    assert "decided already" in again.err


def test_nobody_decides_for_somebody_else(harbor: Terminal) -> None:
    ticket(harbor)
    harbor.run("person", "reset", "bo@harbor.example", "--password-stdin", stdin="bo's long password\n")
    identifier = harbor.run("approvals", "list", "--person", "ada@harbor.example", "--password-stdin", stdin=PASSWORD).lines[0].split()[0]
    other = harbor.run(
        "approvals", "approve", identifier, "--person", "bo@harbor.example", "--password-stdin", stdin="bo's long password", code=1
    )
    assert "waits for bo@harbor.example" in other.err


def test_client_config_names_the_address_and_valid_json(terminal: Terminal) -> None:
    for client in CLIENTS:
        text = terminal.run("client-config", client, "--url", "https://memory.example.com/mcp", "--token", "T0").out
        assert "https://memory.example.com/mcp" in text or "memscope" in text
        assert "/mcp/mcp" not in text
        browser = terminal.run("client-config", client, "--url", "https://memory.example.com").out
        assert "https://memory.example.com/mcp" in browser
        assert "token" not in browser.casefold()
        for block in re.findall(r"^\{.*?^\}", text, re.MULTILINE | re.DOTALL):
            assert "memscope" in json.dumps(json.loads(block))
    assert "http://127.0.0.1:8765/mcp" in terminal.run("client-config", "claude-code").out
    link = terminal.run("client-config", "cursor").lines[-1]
    config = json.loads(base64.b64decode(parse_qs(urlsplit(link).query)["config"][0]))
    assert config == {"url": "http://127.0.0.1:8765/mcp"}
    assert "YOUR-TOKEN" in terminal.run("client-config", "generic", "--token").out


def test_client_config_uses_the_public_address(terminal: Terminal) -> None:
    terminal.patch.setenv("MEMSCOPE_SERVER_PUBLIC_URL", "https://m.example.com")
    assert "https://m.example.com/mcp" in terminal.run("client-config", "codex").out


def test_an_audit_row_that_was_changed_is_named(harbor: Terminal) -> None:
    from dataclasses import replace

    assert harbor.run("audit", "verify").out == "harbor: 1 rows, whole\n"
    for _ in range(3):
        harbor.run("person", "reset", "bo@harbor.example")
    assert harbor.run("audit", "verify", "--org", "harbor").out == "harbor: 4 rows, whole\n"
    (storage,) = harbor.kept.storages.values()
    (tenant,) = storage._tenants.values()
    whole = tenant.audit
    tenant.audit = (*whole[:2], replace(whole[2], act=Act("person.reset_password", target="somebody else")), whole[3])
    assert "row 3 is broken: its content" in harbor.run("audit", "verify", code=1).out
    tenant.audit = (*whole[:1], *whole[2:])
    assert "row 2 is broken: it is missing" in harbor.run("audit", "verify", code=1).out
