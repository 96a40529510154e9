"""What a run remembers of its provider, and when it may build on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.gateway import provider_state
from treadle.gateway.connections.connection import Connection
from treadle.gateway.formats import openai_compatible
from treadle.gateway.gateway import FORMATS, ModelGateway
from treadle.gateway.outgoing import Outgoing
from treadle.gateway.provider_state import HTTP, SOCKET, Continuation
from treadle.gateway.transports.http import HttpTransport
from treadle.graph.errors import ModelFailed
from treadle.graph.jsontext import Json
from treadle.graph.messages import Message, ModelResponse, NativePart, Role, TextPart
from treadle.testkit.ports import ManualClock
from treadle.testkit.replies import Call, Reply, calls, error
from treadle.testkit.simulators.chat_completions import ChatCompletionsServer

from .traps import trap
from .words import KEY, TOOLS, MemorySecrets, payload

HERE = Connection("custom", "openai_responses", "http://localhost:9/v1", "m")
ANSWER = ModelResponse(Message(Role.ASSISTANT, (TextPart("hi"), NativePart("openai_responses", b"{}"))), id="resp_1")
MINIMAL: dict[str, Json] = {"sessionId": "s", "previousResponseId": "resp_1", "messageCursor": 2}


def made(
    at: Connection = HERE,
    response: ModelResponse = ANSWER,
    count: int = 2,
    *,
    native: str | None = "openai_responses",
    transport: str = SOCKET,
    continues: bool = True,
) -> dict[str, Json]:
    return provider_state.updated("s", at, response, count, native=native, transport=transport, continues=continues)


def held(state: Json, at: Connection = HERE, count: int = 5, *, continues: bool = True) -> Continuation:
    return provider_state.continuation(state, at, count, continues=continues)


def refusal(state: Json, count: int = 5, *, continues: bool = True) -> ModelFailed:
    with pytest.raises(ModelFailed) as refused:
        held(state, count=count, continues=continues)
    assert (refused.value.error_code, refused.value.retryable) == ("agent.provider_state_invalid", False)
    return refused.value


def test_the_first_state_is_the_session_alone() -> None:
    assert provider_state.initial("run-1") == {"sessionId": "run-1"}
    assert held(provider_state.initial("run-1:inv_root")) == Continuation("run-1:inv_root")


@pytest.mark.parametrize("state", [None, {}, [], "s", 7, {"sessionId": None}, {"sessionId": ""}, {"sessionId": " \n"},
                                   {"sessionId": 7}, {**MINIMAL, "sessionId": ""}])  # fmt: skip
@pytest.mark.parametrize("continues", [True, False])
def test_a_state_without_a_session_is_refused_before_anything_is_sent(state: Json, *, continues: bool) -> None:
    assert "sessionId" in refusal(state, continues=continues).message


def test_the_state_after_an_answer_over_a_socket_has_all_fields() -> None:
    assert made() == {
        "sessionId": "s",
        "chatCompletionSource": "custom",
        "providerFormat": "openai_responses",
        "connectionKey": HERE.key,
        "model": "m",
        "messageCursor": 2,
        "lastResponseId": "resp_1",
        "nativeContinuation": {"provider": "openai_responses", "partCount": 1},
        "transport": SOCKET,
        "previousResponseId": "resp_1",
    }


def test_over_http_there_is_nothing_to_build_on() -> None:
    state = made(transport=HTTP)

    assert (state["transport"], state["lastResponseId"]) == (HTTP, "resp_1")
    assert "previousResponseId" not in state
    assert held(state) == Continuation("s", 2, None, HTTP)


def test_a_format_that_does_not_continue_has_neither_transport_nor_previous_answer() -> None:
    state = made(continues=False, native=None)

    assert state.keys() == {
        "sessionId", "chatCompletionSource", "providerFormat", "connectionKey", "model", "messageCursor", "lastResponseId",
    }  # fmt: skip


@trap(62)
def test_a_missing_response_id_is_null_or_where_it_is_built_on_an_error() -> None:
    nameless = replace(ANSWER, id=None)

    assert made(response=nameless, continues=False)["lastResponseId"] is None
    with pytest.raises(ModelFailed, match="response id") as refused:
        made(response=nameless)
    assert refused.value.error_code == "agent.provider_state_invalid"


@trap(48)
def test_native_parts_of_the_format_alone_are_counted() -> None:
    ours = NativePart("openai_responses", b"{}")
    parts = (NativePart("claude", b"{}"), TextPart("x"), ours, ours)
    two = made(response=replace(ANSWER, message=Message(Role.ASSISTANT, parts)))
    none = made(response=replace(ANSWER, message=Message(Role.ASSISTANT, ())))

    assert two["nativeContinuation"] == {"provider": "openai_responses", "partCount": 2}
    assert none["nativeContinuation"] == {"provider": "openai_responses", "partCount": 0}


@trap(38)
def test_what_a_state_says_is_what_the_next_request_may_build_on() -> None:
    assert held(made(), count=5) == Continuation("s", 2, "resp_1", SOCKET)
    assert held(made(), count=2) == Continuation("s", 2, "resp_1", SOCKET)
    assert held(MINIMAL) == Continuation("s", 2, "resp_1", None)


@trap(37)
@pytest.mark.parametrize("cursor", [None, -1, True, False, "2", 2.0, [2], {}])
def test_an_answer_to_build_on_without_a_cursor_is_refused(cursor: Json) -> None:
    assert "messageCursor is missing" in refusal({**MINIMAL, "messageCursor": cursor}).message
    without = {key: value for key, value in MINIMAL.items() if key != "messageCursor"}
    assert "messageCursor is missing" in refusal(without).message


@trap(37)
@pytest.mark.parametrize("continues", [True, False])
def test_a_cursor_past_the_transcript_is_refused(*, continues: bool) -> None:
    assert "exceeds the 5 messages" in refusal({**MINIMAL, "messageCursor": 9}, 5, continues=continues).message
    assert held({**MINIMAL, "messageCursor": 5}).cursor == 5


@pytest.mark.parametrize("previous", [None, "", " ", 7, ["resp_1"]])
def test_without_a_previous_answer_a_cursor_may_be_missing(previous: Json) -> None:
    state = {"sessionId": "s", "previousResponseId": previous}

    assert held(state) == Continuation("s")
    assert held({**state, "messageCursor": -1}) == Continuation("s")
    assert held({**state, "messageCursor": 2}) == Continuation("s", 2)


def test_a_format_that_does_not_continue_never_builds_on_an_answer() -> None:
    assert held(MINIMAL, continues=False) == Continuation("s", 2)


ELSEWHERE = [
    replace(HERE, model="other"),
    replace(HERE, base_url="http://localhost:9/v2"),
    replace(HERE, source="openai"),
    replace(HERE, format="claude_messages"),
    replace(HERE, secret_ref="another"),
]


@trap(47)
@pytest.mark.parametrize("elsewhere", ELSEWHERE, ids=["model", "address", "source", "format", "key"])
def test_what_another_connection_remembers_is_not_built_on(elsewhere: Connection) -> None:
    state = made()

    assert held(state, elsewhere) == Continuation("s")
    assert held({**state, "messageCursor": 99}, elsewhere) == Continuation("s")
    assert held({**state, "messageCursor": None}, elsewhere) == Continuation("s")


@trap(47)
@pytest.mark.parametrize("key", ["chatCompletionSource", "providerFormat", "connectionKey"])
def test_what_a_state_does_not_name_is_taken_for_the_same(key: str) -> None:
    state = made()

    assert held({name: value for name, value in state.items() if name != key}).previous == "resp_1"
    assert held({**state, key: None}).previous == "resp_1"
    assert held({**state, key: "another"}) == Continuation("s")
    assert provider_state.is_same({**state, key: 7}, HERE) is False


@trap(47)
def test_after_a_switch_and_back_nothing_stale_is_left() -> None:
    """Responses, then Claude, then Responses at another address: each update is made anew."""
    claude = replace(HERE, format="claude_messages")
    between = made(claude, replace(ANSWER, id="msg_1"), 7, native="claude", transport=HTTP, continues=False)
    moved = replace(HERE, base_url="http://localhost:9/v2")

    assert "previousResponseId" not in between
    for back in (HERE, moved):
        assert held(between, back, 9) == Continuation("s")


_WORDS = st.sampled_from(["", " ", "s", "resp_1", HERE.key, HERE.format, SOCKET])
_KEYS = st.sampled_from([*MINIMAL, "connectionKey", "providerFormat", "transport"])


@given(st.dictionaries(_KEYS, st.one_of(st.none(), st.booleans(), st.integers(-3, 9), _WORDS)))
def test_any_state_is_built_on_within_the_transcript_or_refused(state: dict[str, Json]) -> None:
    try:
        found = held(state)
    except ModelFailed as refused:
        assert refused.error_code == "agent.provider_state_invalid"
        return

    assert found.session.strip()
    assert 0 <= found.cursor <= 5
    assert found.previous is None or isinstance(state["messageCursor"], int)


def test_what_is_told_holds_no_session_no_key_and_no_native_value() -> None:
    assert provider_state.told(made()) == {
        "chatCompletionSource": "custom",
        "providerFormat": "openai_responses",
        "transport": SOCKET,
        "messageCursor": 2,
        "lastResponseId": "resp_1",
        "previousResponseId": "resp_1",
        "nativeContinuation": {"provider": "openai_responses", "partCount": 1},
    }
    plain = provider_state.told(made(continues=False, native=None))
    assert (plain["transport"], plain["previousResponseId"], plain["nativeContinuation"]) == (HTTP, None, None)


@pytest.fixture
async def gateway() -> AsyncIterator[ModelGateway]:
    made = ModelGateway(HttpTransport(), MemorySecrets({"api_key_custom": KEY}), ManualClock())
    yield made
    await made.close()


def request(gateway: ModelGateway, at: Connection, state: Json, **settings: Json) -> Outgoing:
    fragments = [gateway.encode_turn(at, Message(Role.USER, (TextPart("Go."),))) for _ in range(5)]
    return gateway.outgoing(at, settings, fragments, TOOLS, state)


@trap(49)
@pytest.mark.parametrize("name", sorted(FORMATS))
async def test_no_body_and_no_header_of_any_format_holds_the_state(gateway: ModelGateway, name: str) -> None:
    at = replace(gateway.connect(payload()), format=name)
    state = {"sessionId": "the-session", "connectionKey": at.key, "messageCursor": 3, "lastResponseId": "the-answer"}
    wire = gateway.build(
        request(gateway, at, state, _tauritavern_provider_state=state, provider_state=state, providerState=state)
    )

    assert at.key not in wire.url
    told = f"{wire.url} {dict(wire.headers)} {wire.body.decode()}"
    for word in (
        "tauritavern",
        "the-session",
        "the-answer",
        "sessionId",
        "messageCursor",
        "provider_state",
        "providerState",
        at.key,
    ):
        assert word not in told


@trap(37, 49)
@pytest.mark.parametrize("state", [None, {"sessionId": " "}, {"sessionId": "s", "messageCursor": 9}])
async def test_with_a_state_that_can_not_be_used_there_is_no_request(gateway: ModelGateway, state: Json) -> None:
    with pytest.raises(ModelFailed) as refused:
        request(gateway, gateway.connect(payload()), state)
    assert refused.value.error_code == "agent.provider_state_invalid"


@trap(63)
async def test_a_failed_attempt_leaves_the_state_as_it_was(gateway: ModelGateway) -> None:
    replies: list[Reply] = [error(503, "busy"), calls(Call("workspace_list_files", {}, "c1"))]
    async with ChatCompletionsServer(replies) as server:
        at = gateway.connect(payload(custom_url=server.base_url))
        state = {"sessionId": "s", "unknown": 1}
        asked = request(gateway, at, state)
        with pytest.raises(ModelFailed):
            await gateway.generate(asked)
        assert state == {"sessionId": "s", "unknown": 1}
        exchange = await gateway.generate(asked)

    first, second = server.requests
    assert first.body == second.body
    assert "unknown" not in exchange.provider_state
    assert (exchange.provider_state["messageCursor"], exchange.provider_state["providerFormat"]) == (
        5, openai_compatible.NAME,
    )  # fmt: skip
