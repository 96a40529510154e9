"""Servers on loopback for the socket tests, and the calls their tests make again and again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request
from websockets.server import ServerProtocol

from treadle.graph.errors import ModelFailed
from treadle.graph.ports import ModelSockets, WireRequest

END = b"end"
QUICK = 0.5
"""Seconds, where waiting for the server would take two."""

Wire = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Echo:
    """A server that answers each message with itself and `end`; it keeps what it saw."""

    def __init__(self, answer: Callable[[ServerConnection, str | bytes], Awaitable[None]] | None = None) -> None:
        self._answer = answer or self._echo
        self.seen: list[str | bytes] = []
        self.opened: list[ServerConnection] = []
        self.ended: list[int | None] = []
        self.port = 0

    async def _echo(self, socket: ServerConnection, message: str | bytes) -> None:
        await socket.send(message)
        await socket.send(END, text=True)

    async def _converse(self, socket: ServerConnection) -> None:
        self.opened.append(socket)
        try:
            while True:
                message = await socket.recv()
                self.seen.append(message)
                await self._answer(socket, message)
        except ConnectionClosed as closed:
            self.ended.append(None if closed.rcvd is None else closed.rcvd.code)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Echo]:
        async with serve(self._converse, "127.0.0.1", 0, max_size=None, close_timeout=0.2) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            yield self


def to(port: int, path: str = "/v1/responses", scheme: str = "http", **headers: str) -> WireRequest:
    return WireRequest(f"{scheme}://127.0.0.1:{port}{path}", headers, b"")


def is_end(frame: bytes) -> bool:
    return frame == END


async def ask(sockets: ModelSockets, message: bytes = b"hi", session: str = "s") -> tuple[bytes, ...]:
    return await sockets.turn(session, message, is_end)


async def failed_turn(sockets: ModelSockets, session: str = "s") -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        await ask(sockets, session=session)
    return failed.value


async def failed_open(sockets: ModelSockets, request: WireRequest) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        await sockets.open("s", request)
    return failed.value


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not is_true():
            await asyncio.sleep(0.001)


@asynccontextmanager
async def raw(behave: Wire, *, shakes_hands: bool = True) -> AsyncGenerator[int]:
    """A server that does with the stream what it is told, after the handshake; its port."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            greeting = await reader.readuntil(b"\r\n\r\n")
            if shakes_hands:
                writer.write(_accepting(greeting))
            await behave(reader, writer)
        finally:
            writer.transport.abort()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(serve_one(reader, writer))
        tasks.add(task)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


def answering(answer: bytes) -> Wire:
    async def sent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        await writer.drain()
        writer.write_eof()
        await asyncio.sleep(0.05)

    return sent


def _accepting(greeting: bytes) -> bytes:
    protocol = ServerProtocol()
    protocol.receive_data(greeting)
    (request,) = protocol.events_received()
    assert isinstance(request, Request)
    protocol.send_response(protocol.accept(request))
    return b"".join(protocol.data_to_send())
