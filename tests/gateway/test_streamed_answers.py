"""A connection that asks for streams: over a real socket, in pieces that are cut anywhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import pytest

from treadle.gateway.gateway import Exchange, ModelGateway
from treadle.gateway.provider_state import initial
from treadle.gateway.transports.http import HttpTransport
from treadle.graph.errors import InvalidInput, ModelFailed
from treadle.graph.jsontext import Json, loads
from treadle.graph.messages import Finish, Message, Role, TextPart
from treadle.testkit.ports import ManualClock

from .test_streams import ARGUMENTS, chunk, claude, ended, stream, tool_use
from .traps import trap
from .words import MemorySecrets

CHAT = stream(
    chunk(role="assistant", content="潮 "),
    chunk(tool_calls=[{"index": 0, "id": "c1", "type": "function", "function": {"name": "a", "arguments": ARGUMENTS}}]),
    ended("tool_calls"),
    {"id": "c1", "choices": [], "usage": {"total_tokens": 7}},
    "[DONE]",
)
CLAUDE = stream(*claude([{"type": "text", "text": ""}, {"type": "text_delta", "text": "潮 "}], tool_use(ARGUMENTS)))
STREAMS = {"openai_compatible": CHAT, "claude_messages": CLAUDE}
FORMATS = pytest.mark.parametrize("api_format", list(STREAMS))


@asynccontextmanager
async def serving(body: bytes, heard: list[bytes]) -> AsyncGenerator[str]:
    """A server that answers every request with the body, three bytes a chunk."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        heard.append(head + await reader.readexactly(length))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for piece in pieces(body):
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1") as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def pieces(body: bytes) -> Iterator[bytes]:
    return (body[at : at + 3] for at in range(0, len(body), 3))


async def ask(api_format: str, body: bytes, *, streams: bool = True) -> tuple[Exchange, bytes]:
    heard: list[bytes] = []
    gateway = ModelGateway(HttpTransport(), MemorySecrets(), ManualClock())
    async with serving(body, heard) as url:
        settings: dict[str, Json] = {
            "chat_completion_source": "custom",
            "custom_api_format": api_format,
            "custom_url": url,
            "model": "m",
            "connection_dialect": {"stream": streams},
        }
        connection = gateway.connect(settings)
        asked = gateway.encode_turn(connection, Message(Role.USER, (TextPart("hi"),)))
        try:
            outgoing = gateway.outgoing(connection, settings, [asked], [], initial("s"))
            return await gateway.generate(outgoing), heard[0]
        finally:
            await gateway.close()


@trap(64, 65)
@FORMATS
async def test_an_answer_in_pieces_is_the_answer(api_format: str) -> None:
    exchange, request = await ask(api_format, STREAMS[api_format])

    assert b'"stream":true' in request and b"accept: text/event-stream" in request.lower()
    assert exchange.body == STREAMS[api_format]  # kept as it came
    assert exchange.response.finish is Finish.TOOL_CALLS
    assert (exchange.response.text, exchange.response.tool_calls[0].arguments) == ("潮 ", loads(ARGUMENTS))


@trap(64, 65)
@FORMATS
async def test_an_answer_that_stops_early_may_be_asked_for_again(api_format: str) -> None:
    body = STREAMS[api_format]
    with pytest.raises(ModelFailed) as failed:
        await ask(api_format, body[: len(body) // 2])
    assert (failed.value.error_code, failed.value.retryable) == ("model.stream_failed", True)


@trap(20)
async def test_an_overload_in_the_middle_of_a_stream_may_pass() -> None:
    overloaded: Json = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(ModelFailed, match="Overloaded") as failed:
        await ask("claude_messages", CLAUDE[: CLAUDE.index(b"data: ", 400)] + stream(overloaded, name=True))
    assert failed.value.retryable


@FORMATS
async def test_a_stream_that_was_not_asked_for_is_no_answer(api_format: str) -> None:
    with pytest.raises(ModelFailed, match="none was asked for") as failed:
        await ask(api_format, STREAMS[api_format], streams=False)
    assert failed.value.error_code == "model.upstream_invalid_response"


async def test_a_paused_answer_is_gone_on_with_in_another_stream() -> None:
    paused = stream(
        *claude([{"type": "text", "text": ""}, {"type": "text_delta", "text": "I wait. "}], stop="pause_turn")
    )
    with pytest.raises(ModelFailed, match="paused more than"):  # the server has nothing else to say
        await ask("claude_messages", paused)


@pytest.mark.parametrize("api_format", ["openai_responses", "gemini_interactions"])
async def test_a_format_without_streams_says_which_have_them(api_format: str) -> None:
    with pytest.raises(InvalidInput, match="claude_messages, openai_compatible"):
        await ask(api_format, b"")
