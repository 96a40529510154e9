"""The gateway against a real server on loopback: whole rounds, refusals, custody."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from treadle.gateway.connections.connection import Connection
from treadle.gateway.gateway import Exchange, ModelGateway, native_left
from treadle.gateway.transports.http import HttpTransport
from treadle.graph.errors import InvalidInput, ModelFailed, NativeMetadataLost
from treadle.graph.identity import CallId
from treadle.graph.jsontext import Json
from treadle.graph.messages import Message, NativePart, Role, TextPart, ToolResult, ToolResultPart
from treadle.graph.text import sha256_bytes
from treadle.testkit.ports import ManualClock
from treadle.testkit.replies import Call, Reply, calls, error, text
from treadle.testkit.simulators.chat_completions import ChatCompletionsServer
from treadle.testkit.simulators.chat_rules import Rules

from .traps import trap
from .words import KEY, TOOLS, MemorySecrets, payload

STATE = {"sessionId": "run-1"}
OPENING = (Message(Role.SYSTEM, (TextPart("You write."),)), Message(Role.USER, (TextPart("Go."),)))


@pytest.fixture
async def gateway() -> AsyncIterator[ModelGateway]:
    made = ModelGateway(HttpTransport(), MemorySecrets({"api_key_custom": KEY}), ManualClock())
    yield made
    await made.close()


def at(gateway: ModelGateway, server: ChatCompletionsServer, **changes: Json) -> Connection:
    return gateway.connect(payload(custom_url=server.base_url, **changes))


async def ask(gateway: ModelGateway, at: Connection, messages: Sequence[Message]) -> Exchange:
    fragments = [gateway.encode_turn(at, message) for message in messages]
    return await gateway.generate(gateway.outgoing(at, {}, fragments, TOOLS, STATE))


def results(exchange: Exchange) -> list[Message]:
    return [
        Message(Role.TOOL, (ToolResultPart(ToolResult(call.id, call.name, "done")),))
        for call in exchange.response.tool_calls
    ]


async def two_rounds(gateway: ModelGateway, server: ChatCompletionsServer, **changes: Json) -> list[Json]:
    """The messages of the second request, after one answer with tool calls."""
    here = at(gateway, server, **changes)
    first = await ask(gateway, here, OPENING)
    await ask(gateway, here, [*OPENING, first.response.message, *results(first)])
    messages: list[Json] = server.requests[-1].json()["messages"]
    return messages


@trap(29, 61)
async def test_a_whole_round_goes_over_the_wire_and_the_turn_comes_back_verbatim(gateway: ModelGateway) -> None:
    native = (
        '{ "role":"assistant", "zz":1.10,"content":"", "reasoning_content":"\\nStep 1. \\ud83d\\n", '
        '"tool_calls":[ {"id":" c 1","type":"function","index":0,"function":{"arguments":"{\\"n\\": 1e2}","name":'
        '"workspace_list_files"},"extra_content":{"google":{"thought_signature":"sig=="}}} ] }'
    )
    reply = Reply(f'{{"id":"r1","choices":[{{"message":{native},"finish_reason":"tool_calls"}}]}}'.encode())
    async with ChatCompletionsServer([reply, text("Done.")], api_key=KEY) as server:
        await two_rounds(gateway, server)

    assert server.refusals == []
    assert native.encode() in server.requests[1].body
    assert server.connections == 1


async def test_an_exchange_tells_what_came_and_from_where(gateway: ModelGateway) -> None:
    reply = calls(Call("workspace_list_files", {}, "c1"))
    async with ChatCompletionsServer([reply]) as server:
        here = at(gateway, server)
        exchange = await ask(gateway, here, OPENING)

    (block,) = [part for part in exchange.response.message.parts if isinstance(part, NativePart)]
    assert (exchange.body, exchange.status) == (reply.body, 200)
    assert exchange.native == (sha256_bytes(block.value),)
    assert exchange.provider_state == {
        "sessionId": "run-1",
        "chatCompletionSource": "custom",
        "providerFormat": "openai_compatible",
        "connectionKey": here.key,
        "model": "m",
        "messageCursor": 2,
        "lastResponseId": exchange.response.id,
    }


async def test_the_same_turn_is_decoded_from_its_stored_body(gateway: ModelGateway) -> None:
    async with ChatCompletionsServer([calls(Call("workspace_list_files", {}))]) as server:
        here = at(gateway, server)
        exchange = await ask(gateway, here, OPENING)

    stored = gateway.decode_stored(here, exchange.body, TOOLS, sha256=sha256_bytes(exchange.body))
    assert stored == exchange.response


async def test_a_stored_body_that_was_altered_or_cut_is_refused(gateway: ModelGateway) -> None:
    here = gateway.connect(payload())
    body = text("hi").body

    with pytest.raises(NativeMetadataLost):
        gateway.decode_stored(here, body + b" ", TOOLS, sha256=sha256_bytes(body))
    with pytest.raises(NativeMetadataLost):
        gateway.decode_stored(here, body[:-5], TOOLS)


async def test_a_turn_whose_block_was_altered_or_lost_is_not_encoded(gateway: ModelGateway) -> None:
    here = gateway.connect(payload())
    message = gateway.decode_stored(here, text("hi").body, TOOLS).message
    (block,) = [part for part in message.parts if isinstance(part, NativePart)]
    born = (sha256_bytes(block.value),)
    altered = replace(message, parts=(replace(block, value=block.value.replace(b"hi", b"ho")),))

    assert gateway.encode_turn(here, message, born).items == (block.value,)
    for broken in (altered, replace(message, parts=(TextPart("hi"),))):
        with pytest.raises(NativeMetadataLost):
            gateway.encode_turn(here, broken, born)
    with pytest.raises(NativeMetadataLost):
        gateway.encode_turn(here, replace(message, parts=(replace(block, value=b'{"role":'),)))


async def test_what_another_connection_sent_stays_behind_and_is_counted(gateway: ModelGateway) -> None:
    here, other = gateway.connect(payload()), gateway.connect(payload(model="other"))
    message = gateway.decode_stored(here, calls(Call("workspace_list_files", {}), reasoning="r").body, TOOLS).message

    assert b"reasoning" not in gateway.encode_turn(other, message).items[0]
    assert (native_left(message, here), native_left(message, other)) == (0, 1)


async def test_faulty_arguments_ids_and_names_make_requests_that_servers_take(gateway: ModelGateway) -> None:
    reply = calls(
        Call("workspace_read_file", '{"path": "a', "c1"),
        Call("workspace_list_files", "", "functions.x:0"),
        Call("no such tool!", "[1]", "\ud83d"),
    )
    async with ChatCompletionsServer([reply, text("ok")]) as server:
        messages = await two_rounds(gateway, server)

    sent = messages[2]["tool_calls"]
    assert server.refusals == []
    assert json.loads(sent[0]["function"]["arguments"]) == {"_invalid_arguments": '{"path": "a'}
    assert (sent[1]["id"], sent[1]["function"]["arguments"]) == ("functions.x:0", "{}")
    assert (sent[2]["function"]["name"], messages[5]["name"]) == ("no_such_tool_", "no_such_tool_")
    assert [message["tool_call_id"] for message in messages[3:]] == ["c1", "functions.x:0", "\ud83d"]


async def test_a_host_that_refuses_reasoning_is_asked_once_more_and_remembered(gateway: ModelGateway) -> None:
    steps = [calls(Call("workspace_list_files", {}, f"c{turn}"), reasoning_content="r") for turn in range(3)]
    async with ChatCompletionsServer(steps, rules=Rules(reasoning="refused")) as server:
        here = at(gateway, server)
        transcript = list(OPENING)
        for _ in steps:
            exchange = await ask(gateway, here, transcript)
            transcript += [exchange.response.message, *results(exchange)]

    assert len(server.requests) == 4
    assert len(server.refusals) == 1
    assert b"reasoning" in server.requests[1].body
    assert not any(b"reasoning" in request.body for request in server.requests[2:])


async def test_a_400_for_another_reason_is_sent_once(gateway: ModelGateway) -> None:
    refusal = error(400, "Invalid schema for function", code="invalid_function_parameters", param="tools[0]")
    async with ChatCompletionsServer([refusal, text("ok")]) as server:
        with pytest.raises(ModelFailed) as failed:
            await ask(gateway, at(gateway, server), OPENING)

    assert (len(server.requests), failed.value.retryable, failed.value.error_code) == (1, False, "model.request_failed")
    assert failed.value.details["endpoint"] == f"{server_url(server)}/chat/completions"


def server_url(server: ChatCompletionsServer) -> str:
    return "http://" + server.requests[0].headers["host"] + "/v1"


@trap(25, 26)
@pytest.mark.parametrize("host", ["groq", "deepseek"])
async def test_hosts_that_refuse_or_require_reasoning_are_pleased(gateway: ModelGateway, host: str) -> None:
    rules = Rules(reasoning="refused" if host == "groq" else "required")
    dialect = {"echoReasoning": "none" if host == "groq" else "all"}
    first = calls(Call("workspace_list_files", {}), reasoning_content="r") if host == "groq" else calls(
        Call("workspace_list_files", {})
    )  # fmt: skip
    async with ChatCompletionsServer([first, text("ok")], rules=rules) as server:
        await two_rounds(gateway, server, connection_dialect=dialect)

    assert (server.refusals, len(server.requests)) == ([], 2)


@trap(30)
async def test_a_host_that_refuses_null_content_is_pleased(gateway: ModelGateway) -> None:
    steps = [calls(Call("workspace_list_files", {})), text("ok")]
    async with ChatCompletionsServer(steps, rules=Rules(null_content=False)) as server:
        await two_rounds(gateway, server, connection_dialect={"emptyContent": "string"})

    assert server.refusals == []


@trap(20, 51, 53, 56)
@pytest.mark.parametrize(
    ("reply", "code", "retryable", "wait"),
    [
        (error(529, "Overloaded", type="overloaded_error", retry_after="2"), "model.request_failed", True, 2000),
        (error(429, "quota", code="insufficient_quota"), "model.provider_rate_limited", False, None),
        (Reply(b'{"error":{"code":429,"message":"slow"}}'), "model.provider_rate_limited", True, None),
        (Reply(b'{"id":"x","choices":null}'), "model.upstream_invalid_response", False, None),
        (Reply(b""), "model.upstream_invalid_response", True, None),
        (Reply(b"<html></html>", headers={"content-type": "text/html"}), "model.upstream_invalid_response", True, None),
        (Reply(b'{"choices":[{"mess'), "model.upstream_invalid_response", True, None),
        (Reply(b'{"choices":[{"message":' + b"[" * 20000), "model.upstream_invalid_response", True, None),
        (Reply(b"<html></html>", 502), "model.request_failed", True, None),
        (Reply(b"{}", drop="inside_body"), "model.request_failed", True, None),
    ],
)
async def test_each_failure_has_its_code_and_its_prospects(
    gateway: ModelGateway, reply: Reply, code: str, retryable: bool, wait: int | None
) -> None:
    async with ChatCompletionsServer([reply]) as server:
        with pytest.raises(ModelFailed) as failed:
            await ask(gateway, at(gateway, server), OPENING)

    assert (failed.value.error_code, failed.value.retryable, failed.value.retry_after_ms) == (code, retryable, wait)


@trap(63)
async def test_after_a_failure_the_identical_request_is_sent_again(gateway: ModelGateway) -> None:
    async with ChatCompletionsServer([error(503, "busy", type="server_error"), text("ok")]) as server:
        here = at(gateway, server)
        asked = gateway.outgoing(here, {"temperature": 0.1}, [gateway.encode_turn(here, OPENING[1])], TOOLS, STATE)
        with pytest.raises(ModelFailed):
            await gateway.generate(asked)
        await gateway.generate(asked)

    assert server.requests[0].body == server.requests[1].body


@trap(49)
async def test_the_key_is_sent_and_told_nowhere(gateway: ModelGateway) -> None:
    def echo(status: int) -> Reply:
        return error(status, f"Incorrect API key provided: {KEY}")

    async with ChatCompletionsServer([echo(401), Reply(f"no {KEY}".encode())]) as server:
        here = at(gateway, server)
        told: list[str] = [repr(here)]
        for _ in range(2):
            with pytest.raises(ModelFailed) as failed:
                await ask(gateway, here, OPENING)
            told.append(f"{failed.value!r} {failed.value} {failed.value.details} {failed.value.__cause__!r}")

    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in " ".join(told)


async def test_the_users_headers_win_and_internal_keys_stay_home(gateway: ModelGateway) -> None:
    settings: dict[str, Json] = {
        "custom_include_headers": {"Authorization": "Token t", "X-Org": "o"},
        "_tauritavern_provider_state": {"sessionId": "run-1"},
        "tools": None,
        "stream": None,
        "temperature": None,
    }
    async with ChatCompletionsServer([text("ok")]) as server:
        here = at(gateway, server, **settings)
        fragments = [gateway.encode_turn(here, OPENING[1])]
        await gateway.generate(gateway.outgoing(here, settings, fragments, (), STATE))

    (request,) = server.requests
    assert (request.headers["authorization"], request.headers["x-org"]) == ("Token t", "o")
    assert set(request.json()) == {"model", "stream", "messages"}
    assert "run-1" not in f"{request.headers} {request.body!r}"


def test_a_format_that_is_not_built_says_so() -> None:
    gateway = ModelGateway(HttpTransport(), MemorySecrets(), ManualClock())
    here = gateway.connect(payload())

    with pytest.raises(ModelFailed, match="palm") as denied:
        gateway.decode_stored(here, text("hi").body, TOOLS, provider_format="palm")
    assert (denied.value.error_code, denied.value.retryable) == ("model.provider_denied", False)


def test_a_source_that_does_not_exist_is_refused_before_anything_else() -> None:
    gateway = ModelGateway(HttpTransport(), MemorySecrets(), ManualClock())

    with pytest.raises(InvalidInput) as refused:
        gateway.connect(payload(chat_completion_source="nope", model=""))
    assert refused.value.error_code == "agent.model_request_invalid_source"


def test_an_id_is_the_same_on_the_call_and_on_its_result() -> None:
    gateway = ModelGateway(HttpTransport(), MemorySecrets(), ManualClock())
    here = gateway.connect(payload())
    answer = gateway.decode_stored(here, calls(Call("workspace_list_files", {}, " édit:22 ")).body, TOOLS)
    (call,) = answer.tool_calls

    turn = json.loads(gateway.encode_turn(here, answer.message).items[0])
    result = Message(Role.TOOL, (ToolResultPart(ToolResult(CallId(call.id), call.name, "x")),))
    answered = json.loads(gateway.encode_turn(here, result).items[0])
    assert turn["tool_calls"][0]["id"] == answered["tool_call_id"] == " édit:22 "


@pytest.mark.parametrize("setting", [float("nan"), {1, 2}])
def test_a_setting_that_is_no_json_can_not_be_built(setting: object) -> None:
    gateway = ModelGateway(HttpTransport(), MemorySecrets(), ManualClock())

    with pytest.raises(ModelFailed) as failed:
        gateway.build(gateway.outgoing(gateway.connect(payload()), {"temperature": setting}, [], (), STATE))
    assert failed.value.error_code == "model.request_build_failed"
