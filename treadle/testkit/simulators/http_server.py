"""A small HTTP/1.1 server on loopback: whole requests in, whole answers out, connections kept alive."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Self

from ...graph.jsontext import Json, loads
from ..replies import Reply

MAX_HEAD_BYTES = 64 * 1024

_TURNS_TO_ACCEPT = 5
"""Turns of the loop in which a connection that the system has accepted is handed to us, so that it can be closed."""

Sleep = Callable[[float], Awaitable[None]]

Takeover = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""What goes on with a connection instead of an answer; the connection is closed when it returns."""


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes
    connection: int
    """Which connection it came on, counted from 1: requests that share one were kept alive."""

    def json(self) -> Json:
        """The body's value; raises ValueError."""
        return loads(self.body)


class LoopbackServer:
    """Answers each request with what `respond` makes of it; an async context manager.

    A client that goes away while its answer is delayed is counted in `aborted`.
    """

    def __init__(self, respond: Callable[[Received], Reply | Takeover], sleep: Sleep = asyncio.sleep) -> None:
        self._respond = respond
        self._sleep = sleep
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.connections = 0
        self.aborted = 0

    @property
    def port(self) -> int:
        if self._server is None:
            raise RuntimeError("the server is not running: enter it with `async with`")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=MAX_HEAD_BYTES)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for _ in range(_TURNS_TO_ACCEPT):
            await asyncio.sleep(0)
        for writer in list(self._writers):
            writer.close()
        await asyncio.gather(*self._tasks)
        self._server = None

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        task = asyncio.ensure_future(self._serve(reader, writer, self.connections))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        try:
            await self._converse(reader, writer, connection)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away; what it had asked is recorded
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
            self._writers.discard(writer)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        while True:
            received = await _read(reader, connection)
            reply = self._respond(received)
            if not isinstance(reply, Reply):
                return await reply(reader, writer)
            if reply.delay > 0 and not await self._waited(reply.delay, reader):
                self.aborted += 1
                return None
            if reply.drop == "before_answer":
                return None
            keep = received.headers.get("connection", "").lower() != "close" and reply.drop == "never"
            writer.write(_head(reply, keep=keep))
            writer.write(reply.body if reply.drop == "never" else reply.body[: len(reply.body) // 2])
            await writer.drain()
            if not keep:
                return None

    async def _waited(self, seconds: float, reader: asyncio.StreamReader) -> bool:
        """Whether the client is still there after the wait; it says nothing while it waits for an answer."""
        asleep = asyncio.ensure_future(self._sleep(seconds))
        gone = asyncio.ensure_future(reader.read(1))
        done, _ = await asyncio.wait({asleep, gone}, return_when=asyncio.FIRST_COMPLETED)
        asleep.cancel()
        gone.cancel()
        await asyncio.gather(asleep, gone, return_exceptions=True)
        return gone not in done


async def _read(reader: asyncio.StreamReader, connection: int) -> Received:
    """The next request of a connection; raises IncompleteReadError where there is none, ConnectionError for no HTTP."""
    initial = await reader.readexactly(1)
    if not initial.isalpha():
        raise ConnectionError("not HTTP: a TLS greeting, perhaps")
    head = (initial + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body, connection)


def _head(reply: Reply, *, keep: bool) -> bytes:
    try:
        phrase = HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = "Unassigned"
    headers = {"content-type": "application/json", **{name.lower(): value for name, value in reply.headers.items()}}
    headers["content-length"] = str(len(reply.body))
    headers["connection"] = "keep-alive" if keep else "close"
    lines = [f"HTTP/1.1 {reply.status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
