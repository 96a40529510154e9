"""An answer that breaks off to be gone on with: asked again inside one attempt, and not for ever."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest

from treadle.gateway.connections.connection import Connection
from treadle.gateway.delivery import WireCall
from treadle.gateway.format import Format
from treadle.gateway.formats import openai_compatible as chat
from treadle.gateway.gateway import FORMATS, MAX_PAUSES, Exchange, ModelGateway
from treadle.gateway.outgoing import Fragment, Outgoing
from treadle.gateway.transports.http import HttpTransport
from treadle.gateway.wire import Body, Unreadable, array_text, documents, object_text
from treadle.graph.errors import ModelFailed
from treadle.graph.jsontext import Json
from treadle.graph.messages import (
    Finish,
    Message,
    ModelResponse,
    NativePart,
    Part,
    Role,
    TextPart,
    ToolCall,
    ToolCallPart,
    ToolSpec,
)
from treadle.testkit.ports import ManualClock
from treadle.testkit.replies import Reply
from treadle.testkit.simulators.http_server import LoopbackServer, Received

from .words import KEY, MemorySecrets, payload

USER = Message(Role.USER, (TextPart("Go."),))


class Halting:
    """The smallest format whose answers may pause: `{"said", "pause", "call"}` a document, joined into one turn."""

    NAME = "halting"
    NATIVE = NAME
    COUNTED = True
    CONTINUES = False
    STREAMS = False

    def endpoint(self, connection: Connection) -> tuple[str, dict[str, str]]:
        return connection.url("/halting"), {}

    def encode_message(self, message: Message, connection: Connection) -> Fragment:
        held = [part.value for part in message.parts if isinstance(part, NativePart)]
        return Fragment(message.role, tuple(held) or (json.dumps(message.text).encode(),), native=bool(held))

    def encode(self, outgoing: Outgoing) -> list[bytes]:
        return [b"[" + b",".join(item for held in outgoing.fragments for item in held.items) + b"]"]

    def read(self, data: bytes) -> Body:
        found = documents(data)
        if not found:
            raise Unreadable("an empty body")
        text = object_text([('"turns"', array_text(found))])
        return Body(text.encode(), json.loads(text))

    def error_in(self, body: Body) -> Json:
        return next((turn for turn in body.value["turns"] if "error" in turn), None)

    def decode(self, body: Body, connection: Connection, tools: Sequence[ToolSpec], origin: str) -> ModelResponse:
        turns = body.value["turns"]
        parts: list[Part] = [TextPart("".join(turn["said"] for turn in turns))]
        parts.append(NativePart(self.NATIVE, body.raw, origin))
        parts += [ToolCallPart(ToolCall(turn["call"], "a", {}, "a")) for turn in turns if "call" in turn]
        finish = Finish.PAUSE if turns[-1].get("pause") else Finish.STOP
        return ModelResponse(Message(Role.ASSISTANT, tuple(parts)), finish=finish)

    def mended(self, body: bytes, refusal: str) -> bytes | None:
        return None


@pytest.fixture(autouse=True)
def halting() -> Iterator[None]:
    """The format is built as long as a test of this file runs."""
    shape: Format = Halting()
    FORMATS[shape.NAME] = shape
    yield
    del FORMATS[shape.NAME]


@pytest.fixture
async def gateway() -> AsyncIterator[ModelGateway]:
    made = ModelGateway(HttpTransport(), MemorySecrets({"api_key_custom": KEY}), ManualClock())
    yield made
    await made.close()


def said(text: str, *, pause: bool = False, **more: Json) -> Reply:
    return Reply(json.dumps({"said": text, "pause": pause, **more}, indent=1).encode())


class Model:
    """Answers from a list, the last answer for ever; keeps what it was asked."""

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)
        self.asked: list[Json] = []

    def respond(self, request: Received) -> Reply:
        self.asked.append(request.json())
        return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]


async def ask(gateway: ModelGateway, model: Model, heard: list[WireCall] | None = None) -> Exchange:
    async with LoopbackServer(model.respond) as server:
        at = Connection("custom", Halting.NAME, f"http://127.0.0.1:{server.port}", "m")
        fragments = [gateway.encode_turn(at, USER)]
        return await gateway.generate(gateway.outgoing(at, {}, fragments, (), {"sessionId": "s"}), heard)


async def test_a_pause_is_gone_on_with_inside_the_attempt_and_the_answer_is_one(gateway: ModelGateway) -> None:
    heard: list[WireCall] = []
    first, second, last = said("One ", pause=True), said("two ", pause=True), said("three.")
    model = Model(first, second, last)
    exchange = await ask(gateway, model, heard)

    assert (exchange.response.text, exchange.response.finish) == ("One two three.", Finish.STOP)
    assert exchange.body == b"\n".join(reply.body for reply in (first, second, last))
    assert exchange.provider_state["messageCursor"] == 1
    assert [len(asked) for asked in model.asked] == [1, 2, 2]
    assert [turn["said"] for turn in model.asked[2][1]["turns"]] == ["One ", "two "]
    assert len(heard) == 3


async def test_what_paused_is_sent_back_byte_for_byte(gateway: ModelGateway) -> None:
    heard: list[WireCall] = []
    paused = Reply(b'{ "said":"x", "pause" :true, "n":1.10, "t":"\\ud83d" }')
    await ask(gateway, Model(paused, said("y")), heard)

    assert paused.body in heard[1].request.body


@pytest.mark.parametrize("pauses", [1, MAX_PAUSES])
async def test_so_many_pauses_are_borne(gateway: ModelGateway, pauses: int) -> None:
    model = Model(*[said(".", pause=True)] * pauses, said("!"))

    assert (await ask(gateway, model)).response.text == "." * pauses + "!"
    assert len(model.asked) == 1 + pauses


async def test_an_answer_that_pauses_for_ever_is_given_up(gateway: ModelGateway) -> None:
    heard: list[WireCall] = []
    model = Model(said(".", pause=True))
    with pytest.raises(ModelFailed, match=f"more than {MAX_PAUSES} times") as failed:
        await ask(gateway, model, heard)

    assert (failed.value.error_code, failed.value.retryable) == ("model.upstream_invalid_response", False)
    assert len(model.asked) == len(heard) == 1 + MAX_PAUSES


async def test_a_pause_with_a_call_is_an_answer_for_the_run(gateway: ModelGateway) -> None:
    model = Model(said("x", pause=True, call="c1"))
    exchange = await ask(gateway, model)

    assert (exchange.response.finish, len(exchange.response.tool_calls), len(model.asked)) == (Finish.PAUSE, 1, 1)


@pytest.mark.parametrize(
    ("reply", "code", "retryable"),
    [
        (Reply(b"busy", 503), "model.request_failed", True),
        (Reply(b"slow", 429), "model.provider_rate_limited", True),
        (Reply(b'{"said":'), "model.upstream_invalid_response", True),
        (Reply(b'{"error":{"code":401,"message":"x"},"said":""}'), "model.request_failed", False),
        (Reply(b"{}", drop="inside_body"), "model.request_failed", True),
    ],
)
async def test_what_fails_after_a_pause_fails_the_attempt(
    gateway: ModelGateway, reply: Reply, code: str, *, retryable: bool
) -> None:
    heard: list[WireCall] = []
    with pytest.raises(ModelFailed) as failed:
        await ask(gateway, Model(said("x", pause=True), reply), heard)

    assert (failed.value.error_code, failed.value.retryable) == (code, retryable)
    assert len(heard) == 2


async def test_a_format_without_pauses_asks_once(gateway: ModelGateway) -> None:
    model = Model(Reply(b'{"choices":[{"message":{"content":"x"},"finish_reason":"pause_turn"}]}'))
    async with LoopbackServer(model.respond) as server:
        at = gateway.connect(payload(custom_url=f"http://127.0.0.1:{server.port}"))
        fragments = [gateway.encode_turn(at, USER)]
        exchange = await gateway.generate(gateway.outgoing(at, {}, fragments, (), {"sessionId": "s"}))

    assert (exchange.response.format, len(model.asked)) == (chat.NAME, 1)
