"""The Interactions API through the gateway, against a provider on loopback that is as strict as the real one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from treadle.gateway.connections.connection import Connection
from treadle.gateway.gateway import Exchange, ModelGateway
from treadle.gateway.transports.http import HttpTransport
from treadle.graph.errors import ModelFailed
from treadle.graph.messages import Finish, Message, Role, TextPart, ToolResult, ToolResultPart
from treadle.testkit.ports import ManualClock
from treadle.testkit.replies import Call, Reply, call
from treadle.testkit.simulators.gemini_interactions import gemini_interactions
from treadle.testkit.simulators.http_server import LoopbackServer, Received
from treadle.testkit.simulators.provider import ScriptedServer
from treadle.testkit.turns import Refusal, says

from .traps import trap
from .words import KEY, TOOLS, MemorySecrets, payload

USER = Message(Role.USER, (TextPart("Go."),))
OPENING = [Message(Role.SYSTEM, (TextPart("You write."),)), USER]
SEARCH = b'{"type":"google_search_call", "id":"s1","arguments":{"n":1.10,"t":"\\ud83d"},"signature":"sig=="}'


@pytest.fixture
async def gateway() -> AsyncIterator[ModelGateway]:
    made = ModelGateway(HttpTransport(), MemorySecrets({"api_key_custom": KEY}), ManualClock())
    yield made
    await made.close()


def at(gateway: ModelGateway, address: str, model: str = "gemini-3-x") -> Connection:
    return gateway.connect(payload(custom_api_format="gemini_interactions", custom_url=address, model=model))


async def ask(gateway: ModelGateway, here: Connection, messages: Sequence[Message] = OPENING) -> Exchange:
    fragments = [gateway.encode_turn(here, message) for message in messages]
    settings = {"temperature": 0.5, "max_tokens": 100, "reasoning_effort": "low", "include_reasoning": True}
    return await gateway.generate(gateway.outgoing(here, settings, fragments, TOOLS, {"sessionId": "run-1"}))


def results(exchange: Exchange) -> list[Message]:
    return [
        Message(Role.TOOL, (ToolResultPart(ToolResult(made.id, made.name, "no", is_error=True)),))
        for made in exchange.response.tool_calls
    ]


@trap(31, 61)
async def test_rounds_with_thoughts_calls_and_server_tools_are_taken(gateway: ModelGateway) -> None:
    script = [
        says("Look.", call("workspace.read_file", path="a"), call("workspace.list_files"), reasoning="Need it.",
             blocks=(SEARCH,)),
        says("", call("default_api:read"), reasoning=""),
        says("Done."),
    ]  # fmt: skip
    async with gemini_interactions(script, api_key=KEY) as server:
        here = at(gateway, server.base_url)
        first = await ask(gateway, here)
        messages = [*OPENING, first.response.message, *results(first)]
        second = await ask(gateway, here, messages)
        messages += [second.response.message, *results(second)]
        last = await ask(gateway, here, messages)

    assert server.refusals == []
    assert (first.response.text, [made.name for made in first.response.tool_calls]) == (
        "Look.", ["workspace.read_file", "workspace.list_files"],
    )  # fmt: skip
    assert [part.text for part in first.response.reasoning] == ["Need it."]
    assert (last.response.text, last.response.finish) == ("Done.", Finish.STOP)
    assert SEARCH in server.requests[2].body
    assert {request.headers["api-revision"] for request in server.requests} == {"2026-05-20"}
    assert server.connections == 1


async def test_a_drifting_turn_and_a_turn_of_another_model_are_taken(gateway: ModelGateway) -> None:
    script = [says("Hm.", reasoning="r"), says("", call("workspace.read_file", path="a"), reasoning="r"), says("Done.")]
    async with gemini_interactions(script, api_key=KEY) as server:
        here, other = at(gateway, server.base_url), at(gateway, server.base_url, "gemini-4-x")
        first = await ask(gateway, here)
        messages = [*OPENING, first.response.message, USER]
        second = await ask(gateway, here, messages)
        await ask(gateway, other, [*messages, second.response.message, *results(second), USER])

    assert server.refusals == []
    assert b'"signature"' in server.requests[1].body
    assert b'"signature"' not in server.requests[2].body


async def test_broken_arguments_come_back_as_an_object(gateway: ModelGateway) -> None:
    async with gemini_interactions([says("", Call("workspace.read_file", '"{\\"pa"', "c1")), says("ok")]) as server:
        here = at(gateway, server.base_url)
        first = await ask(gateway, here)
        raw = gateway.build(
            gateway.outgoing(
                here, {}, [gateway.encode_turn(here, one) for one in [*OPENING, first.response.message, *results(first)]],
                TOOLS, {"sessionId": "s"},
            )
        ).body  # fmt: skip

    assert first.response.tool_calls[0].arguments_invalid
    assert b'"arguments":{"_invalid_arguments":"{\\"pa"}' in raw


@pytest.mark.parametrize(
    ("refusal", "code", "retryable"),
    [
        (Refusal(401), "model.request_failed", False),
        (Refusal(429, headers={"retry-after": "2"}), "model.provider_rate_limited", True),
        (Refusal(503), "model.request_failed", True),
        (Refusal(404), "model.request_failed", False),
        (says("x", finish="filter"), "model.request_failed", False),
        (says("x").broken("html"), "model.upstream_invalid_response", True),
        (says("x").broken("truncate"), "model.upstream_invalid_response", True),
    ],
)
async def test_what_the_provider_refuses_has_its_code(
    gateway: ModelGateway, refusal: Refusal, code: str, *, retryable: bool
) -> None:
    server: ScriptedServer
    async with gemini_interactions([refusal]) as server:
        with pytest.raises(ModelFailed) as failed:
            await ask(gateway, at(gateway, server.base_url))

    assert (failed.value.error_code, failed.value.retryable) == (code, retryable)


@trap(59)
async def test_a_server_of_the_older_schema_is_answered_in_kind(gateway: ModelGateway) -> None:
    call_step = b'{"type":"function_call", "id":"fc_a","name":"workspace_list_files","arguments":{}}'
    replies = [
        Reply(b'{"id":"i","role":"model","status":"requires_action","outputs":[' + call_step + b"]}"),
        Reply(b'{"id":"j","role":"model","status":"completed","outputs":[{"type":"text","text":"Done."}]}'),
    ]
    received: list[Received] = []

    def respond(request: Received) -> Reply:
        received.append(request)
        return replies.pop(0)

    async with LoopbackServer(respond) as server:
        here = at(gateway, f"http://127.0.0.1:{server.port}")
        first = await ask(gateway, here)
        last = await ask(gateway, here, [*OPENING, first.response.message, *results(first)])

    assert [request.headers.get("api-revision") for request in received] == ["2026-05-20", None]
    assert [turn["role"] for turn in received[1].json()["input"]] == ["user", "model", "user"]
    assert call_step in received[1].body
    assert last.response.text == "Done."
