"""The Interactions API: what an answer says, in steps and in outputs, and what is no answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from treadle.gateway.formats import gemini_interactions as shape
from treadle.gateway.gateway import Exchange, ModelGateway
from treadle.gateway.transports.http import HttpTransport
from treadle.gateway.wire import read
from treadle.graph.errors import ModelFailed, NativeMetadataLost
from treadle.graph.jsontext import Json
from treadle.graph.messages import (
    Finish,
    Message,
    ModelResponse,
    NativePart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
)
from treadle.graph.text import sha256_bytes
from treadle.testkit.ports import ManualClock
from treadle.testkit.replies import Reply
from treadle.testkit.simulators.http_server import LoopbackServer

from ..traps import trap
from ..words import KEY, TOOLS, MemorySecrets, connect, payload

HERE = connect({"api_key_custom": KEY}, custom_api_format="gemini_interactions", model="gemini-3-x")

THOUGHT = '{"type":"thought","signature":"s","summary":[{"type":"text","text":"One."},{"type":"text","text":"Two."}]}'
CALL = '{"type":"function_call", "id":" fc a ","name":"workspace_read_file","arguments":{"path":"a"},"signature":"g"}'
SAID = '{"type":"model_output","content":[{"type":"text","text":" a"},{"type":"image","data":"AA=="},{"type":"text","text":"b "}]}'
SEARCH = '{"type":"google_search_call","id":"s1","arguments":{}}'


def interaction(*steps: str, status: str | None = "completed", key: str = "steps") -> str:
    word = "" if status is None else f'"status":"{status}",'
    return f'{{"id":"int_1",{word}"model":"g","{key}":[{",".join(steps)}],"usage":{{"total_tokens":3}}}}'


def decoded(text: str) -> ModelResponse:
    return shape.decode(read(text.encode()), HERE, TOOLS, HERE.origin)


def refusal(text: str) -> ModelFailed:
    with pytest.raises(ModelFailed) as refused:
        decoded(text)
    return refused.value


def test_an_answer_is_decoded_in_the_order_text_reasoning_native_calls() -> None:
    response = decoded(interaction(THOUGHT, SAID, SEARCH, CALL, status="requires_action"))

    (call,) = response.tool_calls
    assert [type(part) for part in response.message.parts] == [TextPart, ReasoningPart, NativePart, ToolCallPart]
    assert response.text == " ab "
    assert response.reasoning == (ReasoningPart("One.\n\nTwo.", "thought_summary"),)
    assert (call.id, call.name, call.model_name, call.signature, call.raw) == (
        " fc a ", "workspace.read_file", "workspace_read_file", "g", CALL.encode(),
    )  # fmt: skip
    assert (response.finish, response.finish_reason) == (Finish.TOOL_CALLS, "requires_action")
    assert (response.id, response.model, response.usage) == ("int_1", "g", {"total_tokens": 3})
    assert (response.source, response.format) == ("custom", "gemini_interactions")


@trap(59)
@pytest.mark.parametrize("key", ["steps", "outputs"])
def test_steps_and_outputs_are_decoded_and_the_block_keeps_its_shape(key: str) -> None:
    said = SAID if key == "steps" else '{"type":"text","text":" ab "}'
    response = decoded(interaction(THOUGHT, said, CALL, status=None, key=key))

    (native,) = [part for part in response.message.parts if isinstance(part, NativePart)]
    assert (response.text, len(response.tool_calls), response.finish) == (" ab ", 1, Finish.TOOL_CALLS)
    assert native == NativePart(shape.NATIVE, f'{{"{key}":[{THOUGHT},{said},{CALL}]}}'.encode(), HERE.origin)


@trap(59)
def test_of_both_shapes_steps_win() -> None:
    response = decoded('{"outputs":[{"type":"text","text":"old"}],"steps":[' + SAID + "]}")

    assert response.text == " ab "
    assert [part.value for part in response.message.parts if isinstance(part, NativePart)] == [
        b'{"steps":[' + SAID.encode() + b"]}"
    ]


@trap(60)
@pytest.mark.parametrize("key", ["steps", "outputs"])
@pytest.mark.parametrize(
    "call",
    [
        '{"type":"function_call","name":"a","arguments":{}}',
        '{"type":"function_call","id":null,"name":"a","arguments":{}}',
        '{"type":"function_call","id":" ","name":"a","arguments":{}}',
        '{"type":"function_call","id":7,"name":"a","arguments":{}}',
        '{"type":"function_call","id":"c","arguments":{}}',
        '{"type":"function_call","id":"c","name":"","arguments":{}}',
        CALL + "," + CALL,
    ],
)
def test_a_call_that_can_not_be_answered_is_fatal_and_never_dropped(key: str, call: str) -> None:
    refused = refusal(interaction(THOUGHT, call, status="requires_action", key=key))

    assert (refused.error_code, refused.retryable) == ("model.invalid_tool_call", False)


@pytest.mark.parametrize(
    ("arguments", "value", "invalid"),
    [
        ('{"n":18446744073709551616}', {"n": 18446744073709551616}, False),
        ("null", {}, False),
        ('" "', {}, False),
        ('"{\\"a\\":1}"', {"a": 1}, False),
        ('"{\\"pa"', '{"pa', True),
        ("[1]", [1], True),
    ],
)
@trap(22, 61)
def test_arguments_are_never_guessed(arguments: str, value: Json, invalid: bool) -> None:
    step = f'{{"type":"function_call","id":"c","name":"a","arguments":{arguments}}}'
    (call,) = decoded(interaction(step)).tool_calls

    assert (call.arguments, call.arguments_invalid) == (value, invalid)


def test_a_call_without_arguments_has_none() -> None:
    (call,) = decoded(interaction('{"type":"function_call","id":"c","name":"a"}')).tool_calls

    assert call.arguments == {}


@trap(22)
@pytest.mark.parametrize("status", ["incomplete", "budget_exceeded"])
def test_a_cut_off_answer_says_length_and_keeps_its_calls_for_the_run_to_refuse(status: str) -> None:
    response = decoded(interaction(CALL, status=status))

    assert (response.finish, response.finish_reason, len(response.tool_calls)) == (Finish.LENGTH, status, 1)
    assert decoded(interaction(status=status)).finish is Finish.LENGTH


@pytest.mark.parametrize(
    ("status", "finish"),
    [("completed", Finish.STOP), (None, Finish.STOP), ("", Finish.STOP), ("paused", Finish.OTHER)],
)
def test_the_finish_of_a_plain_answer(status: str | None, finish: Finish) -> None:
    assert decoded(interaction(SAID, status=status)).finish is finish
    assert decoded(interaction(CALL, status=status)).finish is Finish.TOOL_CALLS


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_broken_answer_without_a_reason_may_be_asked_for_again(status: str) -> None:
    refused = refusal(interaction(CALL, status=status))

    assert (refused.error_code, refused.retryable) == ("model.request_failed", True)
    assert refused.details["finishReason"] == status


@pytest.mark.parametrize(
    "reply",
    [
        "{}",
        '{"steps":null,"outputs":null}',
        '{"steps":[]}',
        '{"steps":{}}',
        '{"steps":[null]}',
        '{"steps":[{}]}',
        '{"steps":[{"type":7}]}',
        '{"outputs":[]}',
        '{"steps":[{"type":"model_output","content":"text"}]}',
        interaction(SAID, status="requires_action"),
        interaction(SAID, status="in_progress"),
        interaction(status="queued"),
        '{"status":7,"steps":[' + SAID + "]}",
        '{"choices":[{"message":{"content":"x"}}]}',
    ],
)
def test_json_that_is_no_answer_is_malformed_and_final(reply: str) -> None:
    refused = refusal(reply)

    assert (refused.error_code, refused.retryable) == ("model.upstream_invalid_response", False)


@trap(62)
@pytest.mark.parametrize("given", ["", '"id":null,', '"id":"",', '"id":7,'])
def test_a_missing_response_id_stays_missing(given: str) -> None:
    assert decoded("{" + given + '"steps":[' + SAID + "]}").id is None


def test_an_answer_of_thoughts_alone_says_nothing() -> None:
    response = decoded(interaction('{"type":"thought","signature":""}', '{"type":"thought","summary":[{"text":" "}]}'))

    assert (response.text, response.reasoning, len(response.message.parts)) == ("", (), 1)


def test_ten_thousand_calls_in_one_answer_are_read_at_once() -> None:
    steps = [f'{{"type":"function_call","id":"c{n}","name":"a","arguments":{{}}}}' for n in range(10_000)]
    response = decoded(interaction(*steps))

    assert len(response.tool_calls) == 10_000
    assert response.tool_calls[-1].raw == steps[-1].encode()


@pytest.fixture
async def gateway() -> AsyncIterator[ModelGateway]:
    made = ModelGateway(HttpTransport(), MemorySecrets({"api_key_custom": KEY}), ManualClock())
    yield made
    await made.close()


async def ask(gateway: ModelGateway, reply: Reply) -> Exchange:
    async with LoopbackServer(lambda _: reply) as server:
        at = gateway.connect(
            payload(custom_api_format="gemini_interactions", custom_url=f"http://127.0.0.1:{server.port}")
        )
        fragment = gateway.encode_turn(at, Message(Role.USER, (TextPart("Go."),)))
        return await gateway.generate(gateway.outgoing(at, {}, [fragment], TOOLS, {"sessionId": "run-1"}))


@pytest.mark.parametrize(
    ("reply", "code", "retryable"),
    [
        (Reply(b""), "model.upstream_invalid_response", True),
        (Reply(b"<html>busy</html>"), "model.upstream_invalid_response", True),
        (Reply(interaction(SAID).encode()[:-9]), "model.upstream_invalid_response", True),
        (Reply(b'{"steps":[{"type":"text","n":NaN}]}'), "model.upstream_invalid_response", True),
        (Reply(b'data: {"event_type":"step.start"}\n\n'), "model.upstream_invalid_response", True),
        (Reply(b"[" * 100_000), "model.upstream_invalid_response", True),
        (Reply(b'{"error":{"code":"RESOURCE_EXHAUSTED","message":"slow"}}'), "model.provider_rate_limited", True),
        (Reply(b'{"error":{"code":429,"message":"slow"}}'), "model.provider_rate_limited", True),
        (Reply(b'[{"error":{"code":503,"message":"down"}}]'), "model.request_failed", True),
        (Reply(b'{"status":"failed","errors":[{"code":"INVALID_ARGUMENT","message":"no"}],"steps":[]}'),
         "model.request_failed", False),
        (Reply(b'{"status":"failed","errors":["out of luck"]}'), "model.request_failed", False),
        (Reply(b'{"steps":[{"type":"model_output","error":{"code":500,"message":"x"}}]}'), "model.request_failed", True),
        (Reply(b'{"error":{"code":401,"message":"x"}}', 401), "model.request_failed", False),
    ],
)  # fmt: skip
async def test_each_failure_has_its_code_and_its_prospects(
    gateway: ModelGateway, reply: Reply, code: str, *, retryable: bool
) -> None:
    with pytest.raises(ModelFailed) as failed:
        await ask(gateway, reply)

    assert (failed.value.error_code, failed.value.retryable) == (code, retryable)
    assert str(failed.value.details["endpoint"]).endswith("/v1beta/interactions")


@pytest.mark.parametrize("word", ["SAFETY", "PROHIBITED_CONTENT", "content_filter", "RECITATION"])
@pytest.mark.parametrize("where", ["errors", "step"])
async def test_the_content_filter_is_named(gateway: ModelGateway, word: str, where: str) -> None:
    error = f'{{"code":"{word}","message":"blocked"}}'
    step = f'{{"type":"model_output","content":[],"error":{error}}}'
    body = f'{{"status":"failed","errors":[{error}]}}' if where == "errors" else interaction(CALL, step)
    with pytest.raises(ModelFailed) as failed:
        await ask(gateway, Reply(body.encode()))

    assert (failed.value.error_code, failed.value.retryable) == ("model.request_failed", False)
    assert (failed.value.details["kind"], failed.value.details["userRetryable"]) == ("content_filter", True)


@trap(48)
async def test_the_state_counts_the_native_part_and_holds_no_placeholder_id(gateway: ModelGateway) -> None:
    body = interaction(THOUGHT, CALL).replace('"id":"int_1",', "")
    exchange = await ask(gateway, Reply(body.encode()))

    assert exchange.provider_state["nativeContinuation"] == {"provider": "gemini_interactions", "partCount": 1}
    assert exchange.provider_state["lastResponseId"] is None
    assert "previousResponseId" not in exchange.provider_state


@trap(48)
def test_an_answer_that_lost_its_block_is_not_gone_on_with() -> None:
    gateway = ModelGateway(HttpTransport(), MemorySecrets({"api_key_custom": KEY}), ManualClock())
    message = decoded(interaction(THOUGHT, CALL)).message
    (native,) = [part for part in message.parts if isinstance(part, NativePart)]
    stripped = replace(message, parts=tuple(part for part in message.parts if part is not native))

    with pytest.raises(NativeMetadataLost):
        gateway.encode_turn(HERE, stripped, [sha256_bytes(native.value)])
    with pytest.raises(NativeMetadataLost):
        gateway.encode_turn(HERE, replace(message, parts=(replace(native, value=b"{}"),)))


def test_an_error_beside_an_answer_is_an_error() -> None:
    text = json.dumps({"error": {"code": 1}, "steps": []})

    assert shape.error_in(read(text.encode())) == {"error": {"code": 1}, "steps": []}
    assert shape.error_in(read(interaction(SAID, CALL).encode())) is None
    search = '{"type":"mcp_server_tool_result","error":"no such page"}'
    assert shape.error_in(read(interaction(search, SAID).encode())) is None
