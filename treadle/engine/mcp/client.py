"""The official MCP client, and the one room that knows it: a session with one server, in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import CancelledError, Future
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from ...gateway.connections.secret import scrub
from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, dumps, loads
from .settings import Command, Way

if TYPE_CHECKING:
    import anyio
    import mcp
    from mcp.client import Transport

MOST_PAGES = 50
"""Of a server's list of tools: more is a server that runs in circles."""

_REASON_CHARS = 500
_GONE = frozenset({"Connection closed", "Session terminated", "SSE stream ended without a response"})
"""What the client says of a connection that has ended; other errors of the same codes are the server's own."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool as its server describes it."""

    name: str
    title: str | None
    description: str | None
    schema: dict[str, Json]
    read_only: bool
    idempotent: bool


class Unreachable(Exception):
    """The server can't be reached, or went away; `reason` says how it came, without secrets."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class TimedOut(Exception):
    """The server did not answer in time, and was told to stop."""


class ServerRefused(Exception):
    """The server answered the call with an error of the protocol, or with what is no answer."""

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


class Session:
    """A connection to one server. What the client opens must be closed by the task that opened it, so it has its own
    thread and loop, which end with the connection; a server that was started for it ends then, too.
    """

    def __init__(self, way: Way, log: Path) -> None:
        """`log`: the file that gets what the server says on its standard error."""
        self.way = way
        self._log = log
        self._loop: asyncio.AbstractEventLoop | None = None
        self._scope: anyio.CancelScope | None = None
        self._client: mcp.Client | None = None
        self._closed = False
        self._ready: Future[tuple[Listed, ...]] = Future()
        self._pending: set[Future[Json]] = set()
        self._ended = threading.Event()
        self._fault = "the connection was closed"
        self._thread = threading.Thread(target=self._live, name=f"treadle mcp {way.server}", daemon=True)

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def open(self) -> tuple[Listed, ...]:
        """Connect; the server's tools. Blocking; raises Unreachable, and InvalidInput without the extra."""
        _check_installed()
        self._thread.start()
        return self._ready.result()

    def call(self, tool: str, arguments: dict[str, Json]) -> Future[Json]:
        """The answer to come: cancelling it tells the server to stop. It may hold Unreachable, TimedOut, ServerRefused."""
        loop = self._loop
        asked = self._ask(tool, arguments)
        if loop is None or self._ended.is_set():
            asked.close()
            raise Unreachable(self._fault)
        try:
            future = asyncio.run_coroutine_threadsafe(asked, loop)
        except RuntimeError:  # the loop was closed meanwhile
            asked.close()
            raise Unreachable(self._fault) from None
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        if self._ended.is_set():
            future.cancel()
        return future

    def result(self, future: Future[Json]) -> Json:
        """Wait for a call's answer; CancelledError where the caller cancelled it, Unreachable where the session ended."""
        try:
            return future.result()
        except CancelledError:
            if self._ended.is_set():
                raise Unreachable(self._fault) from None
            raise

    def close(self) -> None:
        """Ask the session to end; it takes no more than a few seconds, for which nobody waits here."""
        self._closed = True
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended by itself
                self._loop.call_soon_threadsafe(self._leave)

    def join(self) -> None:
        """Wait for the end. Blocking."""
        if self._thread.ident is not None:
            self._thread.join()

    def _live(self) -> None:
        logging.getLogger("mcp").addHandler(logging.NullHandler())  # else its warnings reach the terminal
        try:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("a", encoding="utf-8", errors="replace") as log:
                asyncio.run(self._serve(log))
        except Exception as error:  # noqa: BLE001 - the client raises what its transports do, in groups
            self._fault = self._told(error)
        self._ended.set()
        for future in list(self._pending):
            future.cancel()
        if not self._ready.done():
            self._ready.set_exception(Unreachable(self._fault))

    async def _serve(self, log: TextIO) -> None:
        import anyio

        self._loop = asyncio.get_running_loop()
        with anyio.CancelScope() as self._scope:
            if self._closed:
                return
            late = self._loop.call_later(self.way.timeout_s, self._give_up)
            async with AsyncExitStack() as stack:
                transport = await _transport(self.way, log, stack)
                self._client = await stack.enter_async_context(_client(transport, self.way.timeout_s))
                tools = await _listed(self._client)
                late.cancel()
                self._ready.set_result(tools)
                await asyncio.Event().wait()

    def _give_up(self) -> None:
        self._fault = f"it did not answer within {self.way.timeout_s:g} s"
        self._leave()

    def _leave(self) -> None:
        """By a scope, not by the task: what stops a server's process is shielded from the one, and not from the other."""
        if self._scope is not None:
            self._scope.cancel()

    async def _ask(self, tool: str, arguments: dict[str, Json]) -> Json:
        from mcp import MCPError
        from mcp_types import REQUEST_TIMEOUT, CallToolResult

        if self._client is None:
            raise Unreachable(self._fault)
        try:
            result = await self._client.session.call_tool(
                tool, arguments, self.way.timeout_s, allow_input_required=True, allow_claimed=True
            )
        except MCPError as error:
            if error.code == REQUEST_TIMEOUT:
                raise TimedOut from None
            if error.message in _GONE:
                raise Unreachable("it went away during the call") from None
            raise ServerRefused(self._told(error)) from None
        except (ValueError, RuntimeError) as error:  # an answer against the protocol, or against the tool's own schema
            raise ServerRefused(f"its answer can't be used: {self._told(error)}") from None
        if not isinstance(result, CallToolResult):
            raise ServerRefused("the server asks for more input from a person, which a run does not give")
        return loads(result.model_dump_json(by_alias=True))

    def _told(self, error: BaseException) -> str:
        """The first of the causes, in a line without secrets."""
        cause = error
        while isinstance(cause, BaseExceptionGroup):
            cause = cast(BaseExceptionGroup[BaseException], cause).exceptions[0]
        text = " ".join(str(cause).split()) or type(cause).__name__
        return scrub(text, self.way.secrets)[:_REASON_CHARS]


def _check_installed() -> None:
    try:
        import mcp
    except ImportError:
        raise InvalidInput(
            "MCP servers need the extra mcp: pip install 'treadle[mcp]'", code="mcp.not_installed"
        ) from None
    del mcp


async def _transport(way: Way, log: TextIO, stack: AsyncExitStack) -> Transport:
    import httpx2
    from mcp import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client

    if isinstance(way.to, Command):
        asked = way.to
        started = StdioServerParameters(
            command=asked.program, args=list(asked.args), env=dict(asked.env), cwd=asked.cwd
        )
        return stdio_client(started, errlog=log)
    # how long an answer may take is the call's own limit: a stream may be silent for as long
    limits = httpx2.Timeout(way.timeout_s, read=None)
    http = httpx2.AsyncClient(headers=dict(way.to.headers), timeout=limits, trust_env=False)
    return streamable_http_client(way.to.url, http_client=await stack.enter_async_context(http))


def _client(transport: Transport, timeout_s: float) -> mcp.Client:
    """No callback is given: a server that asks for sampling, for input or for roots is told that there is none."""
    from mcp import Client

    return Client(transport, read_timeout_seconds=timeout_s, cache=None)


async def _listed(client: mcp.Client) -> tuple[Listed, ...]:
    found: list[Listed] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            hints = tool.annotations
            found.append(
                Listed(
                    name=tool.name,
                    title=tool.title or (hints.title if hints else None),
                    description=tool.description,
                    schema=loads(dumps(tool.input_schema)),
                    read_only=bool(hints and hints.read_only_hint),
                    idempotent=bool(hints and hints.idempotent_hint),
                )
            )
        cursor = page.next_cursor
        if cursor is None:
            return tuple(found)
    raise Unreachable(f"its list of tools does not end after {MOST_PAGES} pages")
