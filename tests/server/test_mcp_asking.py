"""Asking the person through the client, in both protocol eras."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from memscope.model.organization import Confirmation

Office = Any
STORAGE = "inprocess"
SECRET = "The vault code word is marigold."


class Person:
    """Somebody in front of a client, who answers each question the same way and remembers it."""

    def __init__(self, action: str, content: dict[str, str] | None = None) -> None:
        self.reply = ElicitResult.model_validate({"action": action, **({} if content is None else {"content": content})})
        self.asked: list[ElicitRequestFormParams] = []

    def __call__(self, params: ElicitRequestParams) -> ElicitResult:
        """Answer."""
        assert isinstance(params, ElicitRequestFormParams)
        self.asked.append(params)
        return self.reply


@pytest.fixture(autouse=True)
def ask(office: Office) -> None:
    """The default confirmation."""
    office.write(confirmation=Confirmation.ASK)


def test_the_flag_comes_first_and_nobody_is_asked_without_it(office: Office, era: str) -> None:
    person = Person("accept", {"decision": "forget"})
    ben = office.as_("ben", era, elicit=person)
    memory = ben.remember(SECRET)
    assert ben.refused("forget_memory", memory_id=memory["id"])["code"] == "confirm_required"
    assert person.asked == []


def test_a_person_who_agrees_lets_the_change_happen(office: Office, era: str) -> None:
    person = Person("accept", {"decision": "forget"})
    ben = office.as_("ben", era, elicit=person)
    memory = ben.remember(SECRET)
    ben.call("forget_memory", memory_id=memory["id"], confirm_human=True)
    (question,) = person.asked
    choice = question.requested_schema["properties"]["decision"]
    assert question.requested_schema["required"] == ["decision"]
    assert choice["enum"][0] == "forget"
    assert "default" not in choice
    assert ben.refused("get_memory", memory_id=memory["id"])["code"] == "not_found"
    with office.live.app.core.storage.begin(office.operator()) as transaction:
        assert transaction.audit_rows(0, 1000)[-1].act.approved_via.value == "client"


def test_the_question_holds_number_and_audiences_and_no_text(office: Office, era: str) -> None:
    person = Person("decline")
    ben = office.as_("ben", era, elicit=person)
    memory = ben.remember(SECRET)
    ben.refused(
        "change_scope",
        memory_id=memory["id"],
        scope="team",
        team="platform",
        reason="Because of marigold",
        agent="marigold",
        confirm_widen=True,
    )
    (question,) = person.asked
    assert str(memory["number"]) in question.message
    assert "platform" in question.message
    assert "marigold" not in question.message.lower()


@pytest.mark.parametrize(
    ("person", "code"),
    [
        (Person("decline"), "forbidden"),
        (Person("accept", {"decision": "leave it as it is"}), "forbidden"),
        (Person("cancel"), "confirm_required"),
    ],
    ids=["declined", "chose to keep it", "cancelled"],
)
def test_a_person_who_does_not_agree_changes_nothing(office: Office, era: str, person: Person, code: str) -> None:
    ben = office.as_("ben", era, elicit=person)
    memory = ben.remember(SECRET)
    error = ben.refused("forget_memory", memory_id=memory["id"], confirm_human=True)
    assert error["code"] == code
    if code == "forbidden":
        assert "person said no" in error["message"]
    assert ben.call("get_memory", memory_id=memory["id"])["memory"]["content"] == SECRET


def test_an_accept_without_the_required_choice_is_nobodys_word(office: Office) -> None:
    """The SDK's client refuses to send one, so it is sent by hand: some clients accept an empty form when nobody is there."""
    ben = office.as_("ben")
    memory = ben.remember(SECRET)
    arguments = {"memory_id": memory["id"], "confirm_human": True}
    for content in ({}, None, {"decision": "yes"}, {"decision": ""}, {"other": "forget"}):
        state = ask_by_hand(office, ben.token, arguments)
        reply = {"action": "accept", **({} if content is None else {"content": content})}
        answer = call_by_hand(office, ben.token, arguments, inputResponses={"confirm": reply}, requestState=state)
        assert answer["structuredContent"]["error"]["code"] == "confirm_required", content
    assert ben.call("get_memory", memory_id=memory["id"])["memory"]["content"] == SECRET


def ask_by_hand(office: Office, token: str, arguments: dict[str, Any]) -> str:
    result = call_by_hand(office, token, arguments)
    assert result["resultType"] == "input_required"
    state = result["requestState"]
    assert isinstance(state, str)
    assert "forget" not in state
    return state


def call_by_hand(office: Office, token: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    status, message = by_hand(office, token, arguments, **more)
    assert status == 200, message
    result = message["result"]
    assert isinstance(result, dict)
    return result


def by_hand(office: Office, token: str, arguments: dict[str, Any], **more: Any) -> tuple[int, dict[str, Any]]:
    capable: dict[str, Any] = {"elicitation": {"form": {}}}
    status, message = office.post(token, "tools/call", {"name": "forget_memory", "arguments": arguments, **more}, capabilities=capable)
    return status, json.loads(json.dumps(message))


YES = {"confirm": {"action": "accept", "content": {"decision": "forget"}}}


def test_an_answer_belongs_to_one_question_one_caller_and_one_call(office: Office) -> None:
    ben, cleo = office.as_("ben"), office.as_("cleo")
    one, two = ben.remember(SECRET), ben.remember("Another one.")
    arguments = {"memory_id": one["id"], "confirm_human": True}
    state = ask_by_hand(office, ben.token, arguments)
    for token, other in (
        (cleo.token, arguments),
        (office.token("ben"), arguments),
        (ben.token, {**arguments, "memory_id": two["id"]}),
    ):
        status, message = by_hand(office, token, other, inputResponses=YES, requestState=state)
        assert (status, message["error"]["code"]) == (400, -32602)
    assert call_by_hand(office, ben.token, arguments, inputResponses=YES)["resultType"] == "input_required"
    assert call_by_hand(office, ben.token, arguments, inputResponses=YES, requestState=state)["structuredContent"]["memory_id"] == one["id"]


def test_an_answer_about_an_earlier_state_is_asked_anew(office: Office) -> None:
    ben = office.as_("ben")
    memory = ben.remember(SECRET)
    arguments = {"memory_id": memory["id"], "confirm_human": True}
    state = ask_by_hand(office, ben.token, arguments)
    ben.call("correct_memory", memory_id=memory["id"], new_content="The vault code word is tulip.")
    again = call_by_hand(office, ben.token, arguments, inputResponses=YES, requestState=state)
    assert again["resultType"] == "input_required"
    assert (
        call_by_hand(office, ben.token, arguments, inputResponses=YES, requestState=again["requestState"])["structuredContent"]["memory_id"]
        == memory["id"]
    )


def test_a_client_that_cannot_ask_is_taken_at_its_word(office: Office, era: str) -> None:
    ben = office.as_("ben", era)
    memory = ben.remember(SECRET)
    assert ben.call("forget_memory", memory_id=memory["id"], confirm_human=True)["memory_id"] == memory["id"]
    with office.live.app.core.storage.begin(office.operator()) as transaction:
        assert transaction.audit_rows(0, 1000)[-1].act.approved_via.value == "flag"


def test_reading_asks_nobody(office: Office, era: str) -> None:
    person = Person("accept", {"decision": "forget"})
    ben = office.as_("ben", era, elicit=person)
    ben.remember(SECRET)
    ben.found("vault")
    ben.call("list_memories")
    assert person.asked == []
