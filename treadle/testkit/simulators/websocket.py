"""The server's end of a WebSocket on a connection that began as HTTP: whole messages in, text frames out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from websockets.datastructures import Headers
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from .http_server import Received

_READ_BYTES = 64 * 1024
_DATA = frozenset({Opcode.TEXT, Opcode.BINARY, Opcode.CONT})


def asks_for_upgrade(request: Received) -> bool:
    return request.headers.get("upgrade", "").lower() == "websocket"


class Socket:
    """One WebSocket; pings are answered and a close is answered by themselves."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._protocol = ServerProtocol(max_size=None)

    async def shake_hands(self, request: Received) -> bool:
        """Whether the client's greeting was right; a wrong one is answered with what is wrong."""
        self._protocol.receive_data(Request(request.path, Headers(request.headers)).serialize())
        (greeting,) = self._protocol.events_received()
        assert isinstance(greeting, Request)
        self._protocol.send_response(self._protocol.accept(greeting))
        await self._flush()
        return self._protocol.state is State.OPEN

    async def messages(self) -> AsyncIterator[bytes]:
        """Each message as bytes, until either side closes or goes away."""
        parts: list[bytes] = []
        while self._protocol.state is not State.CLOSED:
            await self._read()
            for frame in self._protocol.events_received():
                if not isinstance(frame, Frame) or frame.opcode not in _DATA:
                    continue
                parts.append(bytes(frame.data))
                if frame.fin:
                    yield b"".join(parts)
                    parts.clear()

    async def send(self, text: bytes) -> None:
        """Send one text frame; nothing is sent once the socket is closing."""
        if self._protocol.state is State.OPEN:
            self._protocol.send_text(text)
            await self._flush()

    async def close(self, code: int) -> None:
        if self._protocol.state is State.OPEN:
            self._protocol.send_close(code)
            await self._flush()

    def abort(self) -> None:
        """Cut the connection off without a word."""
        self._writer.transport.abort()

    async def _read(self) -> None:
        data = await self._reader.read(_READ_BYTES)
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        await self._flush()

    async def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._writer.write(data)
            elif self._writer.can_write_eof():
                self._writer.write_eof()
        await self._writer.drain()
