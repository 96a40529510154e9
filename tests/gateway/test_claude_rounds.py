"""Claude's format through the gateway, against a real server on loopback: rounds, pauses, refusals."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Sequence

import pytest

from treadle.gateway.claude.answer import read_answer
from treadle.gateway.connections.connection import Connection
from treadle.gateway.gateway import Exchange, ModelGateway
from treadle.gateway.transports.http import HttpTransport
from treadle.graph.errors import ModelFailed
from treadle.graph.jsontext import Json
from treadle.graph.messages import Finish, Message, NativePart
from treadle.graph.text import sha256_bytes
from treadle.testkit.ports import ManualClock
from treadle.testkit.replies import Reply
from treadle.testkit.simulators.http_server import LoopbackServer, Received

from .claude_words import SAID, THINKING, answer, content, result, system, use, user
from .traps import trap
from .words import KEY, TOOLS, MemorySecrets, payload

SERVED = '{"type":"server_tool_use", "id":"srv_1","name":"web_search","input":{"n":1.10}}'
FOUND = '{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[{"x":"\\ud83d"}]}'
OPENING = [system("You write."), user("Go.")]


class Claude:
    """A server that answers from a list."""

    def __init__(self, *replies: bytes | Reply) -> None:
        self._replies = deque(reply if isinstance(reply, Reply) else Reply(reply) for reply in replies)
        self.received: list[Received] = []
        self.server = LoopbackServer(self._respond)

    def _respond(self, request: Received) -> Reply:
        self.received.append(request)
        return self._replies.popleft()

    def body(self, number: int) -> dict[str, Json]:
        value: dict[str, Json] = self.received[number].json()
        return value


@pytest.fixture
async def gateway() -> AsyncIterator[ModelGateway]:
    made = ModelGateway(HttpTransport(), MemorySecrets({"api_key_custom": KEY}), ManualClock())
    yield made
    await made.close()


def at(gateway: ModelGateway, claude: Claude) -> Connection:
    address = f"http://127.0.0.1:{claude.server.port}/v1"
    return gateway.connect(payload(custom_api_format="claude_messages", custom_url=address))


async def ask(gateway: ModelGateway, claude: Claude, messages: Sequence[Message] = OPENING) -> Exchange:
    here = at(gateway, claude)
    fragments = [gateway.encode_turn(here, message) for message in messages]
    return await gateway.generate(gateway.outgoing(here, {}, fragments, TOOLS, {"sessionId": "run-1"}))


def block_of(exchange: Exchange) -> bytes:
    (part,) = [part for part in exchange.response.message.parts if isinstance(part, NativePart)]
    return part.value


@trap(10)
async def test_a_round_of_parallel_calls_goes_over_the_wire(gateway: ModelGateway) -> None:
    blocks = content(THINKING, SAID, use("a"), use("b"))
    claude = Claude(answer(blocks, '"tool_use"'), answer(content(SAID)))
    async with claude.server:
        first = await ask(gateway, claude)
        await ask(gateway, claude, [*OPENING, first.response.message, result("a"), result("b", is_error=True)])

    request = claude.received[1]
    assert (request.path, request.headers["x-api-key"]) == ("/v1/messages", KEY)
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert "anthropic-beta" not in request.headers
    assert blocks.encode() in request.body
    assert first.provider_state["nativeContinuation"] == {"provider": "claude", "partCount": 1}
    assert first.native == (sha256_bytes(blocks.encode()),)


@trap(16)
async def test_a_paused_answer_is_gone_on_with_and_is_one_answer(gateway: ModelGateway) -> None:
    paused, ended = content(THINKING, SERVED), content(FOUND, SAID, use("t"))
    claude = Claude(answer(paused, '"pause_turn"'), answer(ended, '"tool_use"'))
    async with claude.server:
        exchange = await ask(gateway, claude)
        here = at(gateway, claude)
        stored = gateway.decode_stored(here, exchange.body, TOOLS, sha256=sha256_bytes(exchange.body))

    first, second = claude.body(0), claude.body(1)
    assert second == first | {"messages": [*first["messages"], {"role": "assistant", "content": json.loads(paused)}]}
    assert paused.encode() in claude.received[1].body
    whole = content(THINKING, SERVED).removesuffix("]") + "," + content(FOUND, SAID, use("t")).removeprefix("[")
    assert block_of(exchange) == whole.encode()
    assert [call.id for call in exchange.response.tool_calls] == ["t"]
    assert (exchange.response.finish, exchange.response.text) == (Finish.TOOL_CALLS, "Reading.")
    assert exchange.response.usage == {"input_tokens": 10, "output_tokens": 14}
    assert stored == exchange.response


@trap(16)
async def test_an_answer_may_pause_several_times_but_not_for_ever(gateway: ModelGateway) -> None:
    pause = answer(content(SERVED, FOUND), '"pause_turn"')
    async with (claude := Claude(*[pause] * 5, answer(content(SAID)))).server:
        exchange = await ask(gateway, claude)
    async with (endless := Claude(*[pause] * 9)).server:
        with pytest.raises(ModelFailed) as failed:
            await ask(gateway, endless)

    assert len(json.loads(block_of(exchange))) == 11
    assert exchange.response.finish is Finish.STOP
    assert (len(endless.received), failed.value.error_code) == (6, "model.upstream_invalid_response")


@trap(16)
async def test_a_pause_beside_a_call_of_ours_is_no_pause(gateway: ModelGateway) -> None:
    async with (claude := Claude(answer(content(SERVED, use("t")), '"pause_turn"'))).server:
        exchange = await ask(gateway, claude)

    assert (len(claude.received), exchange.response.finish) == (1, Finish.TOOL_CALLS)


async def test_an_error_after_a_pause_is_the_answers_error(gateway: ModelGateway) -> None:
    overloaded = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    async with (claude := Claude(answer(content(SERVED), '"pause_turn"'), overloaded)).server:
        with pytest.raises(ModelFailed) as failed:
            await ask(gateway, claude)

    assert (failed.value.error_code, failed.value.retryable) == ("model.request_failed", True)


@trap(20)
@pytest.mark.parametrize("status", [529, 200])
async def test_an_overloaded_server_may_be_asked_again(gateway: ModelGateway, status: int) -> None:
    overloaded = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}'
    async with (claude := Claude(Reply(overloaded, status))).server:
        with pytest.raises(ModelFailed) as failed:
            await ask(gateway, claude)

    assert (failed.value.error_code, failed.value.retryable) == ("model.request_failed", True)
    assert (failed.value.details["kind"], failed.value.details["providerCode"]) == ("transient", "overloaded_error")


@trap(20)
async def test_an_error_that_comes_as_an_event_may_be_asked_again(gateway: ModelGateway) -> None:
    event = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    async with (claude := Claude(event)).server:
        with pytest.raises(ModelFailed) as failed:
            await ask(gateway, claude)

    assert failed.value.retryable


def test_documents_are_joined_whatever_space_stands_in_and_between_them() -> None:
    body = read_answer(b'{"content" : [ ] ,"id":"a"}\n\n { "content":[ {"a":1.10} , 2 ] }{"id":"c","content":\n[3\t]}')

    assert body.text == '{"id":"c","content":[{"a":1.10} , 2,3]}'
    assert (body.value["content"], body.value["usage"]) == ([{"a": 1.10}, 2, 3], None)


def test_tokens_of_joined_documents_are_added_up() -> None:
    body = read_answer(
        b'{"content":[],"usage":{"input_tokens":1,"tier":"a","cache":{"x":1}}}'
        b'{"content":[],"usage":{"input_tokens":2,"output_tokens":3,"tier":"b","cache":null}}'
    )

    assert body.value["usage"] == {"input_tokens": 3, "tier": "b", "cache": None, "output_tokens": 3}
