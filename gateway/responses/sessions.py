"""A run's turns over its own WebSocket: only what is new goes out while the server remembers the rest, else all of it.

A server that stores nothing remembers one answer for each socket, its last. So a turn builds on an answer only over
the socket that it came by; after anything else the whole transcript is sent, once, on a new socket.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...graph.errors import ModelFailed
from ...graph.ports import Clock, ModelSockets, Opened, UpgradeRefused, WireReply, WireRequest
from ..outgoing import Outgoing
from ..provider_state import HTTP, SOCKET
from ..wire_calls import Build, Delivered, Recording, WireCall, recorded
from .events import Listener
from .settings import stores

LOST = "socket_lost"
EXPIRED = "socket_expired"
FAILED = "turn_failed"
NOT_FOUND = "previous_response_not_found"
LIMIT = "websocket_connection_limit_reached"
NO_OUTPUT = "no_tool_output"
NO_WEBSOCKET = "no_websocket"

OLD_S = 55 * 60.0
"""Servers end a socket after an hour; one of this age is not used for another turn."""

_WITHOUT_WEBSOCKET = frozenset({404, 405, 426, 501})
"""What servers answer to a request for a WebSocket where they have none."""


@dataclass(frozen=True, slots=True)
class _Memory:
    """What the server can be built on: the last answer that came by a session's socket."""

    generation: int
    opened_at: float
    answer: str


class _Again(Exception):
    """The turn is to be sent once more, with the whole transcript and on a new socket."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Sessions:
    """Safe for many sessions at once; the turns of one come one after the other."""

    def __init__(self, sockets: ModelSockets, clock: Clock) -> None:
        self._sockets = sockets
        self._clock = clock
        self._memories: dict[str, _Memory] = {}
        self._without: dict[str, set[str]] = {}
        """By session: the keys of connections whose server has no WebSocket."""

    async def deliver(self, outgoing: Outgoing, build: Build, heard: list[WireCall]) -> Delivered | None:
        """The reply, its frames one a line; None where the server has no WebSocket. Raises ModelFailed.

        A run whose last answer came by HTTP stays there.
        """
        key = outgoing.connection.key
        if outgoing.transport == HTTP or key in self._without.get(outgoing.session, ()):
            return None
        try:
            return await self._delivered(outgoing, build, heard)
        except UpgradeRefused as refused:
            if refused.reply.status in _WITHOUT_WEBSOCKET:
                self._without.setdefault(outgoing.session, set()).add(key)
                return None
            return Delivered(heard[-1].request, _refusal(refused.reply), SOCKET)

    def close_session(self, session: str) -> None:
        """Let the session's socket go, without waiting for it; an unknown session is none."""
        self._memories.pop(session, None)
        self._without.pop(session, None)
        self._sockets.close_session(session)

    async def close(self) -> None:
        self._memories.clear()
        self._without.clear()
        await self._sockets.close()

    async def _delivered(self, outgoing: Outgoing, build: Build, heard: list[WireCall]) -> Delivered:
        try:
            return await self._turn(outgoing, build, heard, can_repeat=True)
        except _Again as again:
            reasons = (again.reason,)
        return replace(await self._turn(outgoing.whole(), build, heard, can_repeat=False), replays=reasons)

    async def _turn(self, outgoing: Outgoing, build: Build, heard: list[WireCall], *, can_repeat: bool) -> Delivered:
        """One turn; raises _Again where one with the whole transcript is worth it, unless this was such a one."""
        session, builds = outgoing.session, outgoing.previous is not None
        request = build(outgoing)  # what is new only, where there is something to build on
        listener = Listener(outgoing.previous)
        with recorded(self._clock, request, SOCKET, heard) as call:
            opened = await self._opened(session, call)
            doubt = self._doubt(outgoing, opened)
            can_repeat = can_repeat and doubt is None
            call.request = _creating(request if doubt is None else build(outgoing.whole()))
            try:
                call.reply = await self._exchanged(session, call.request, listener)
            except ModelFailed as failure:
                if can_repeat and builds and not opened.fresh and _was_lost_before(failure, listener):
                    call.error = failure.message
                    raise _Again(LOST) from failure
                raise
        self._remember(session, opened, listener)
        reason = _reason(listener, builds=builds)
        if can_repeat and reason is not None:
            raise _Again(reason)
        return Delivered(call.request, call.reply, SOCKET, () if doubt is None else (doubt,))

    async def _opened(self, session: str, call: Recording) -> Opened:
        try:
            return await self._sockets.open(session, call.request)
        except UpgradeRefused as refused:
            call.reply = refused.reply
            raise

    async def _exchanged(self, session: str, request: WireRequest, listener: Listener) -> WireReply:
        self._memories.pop(session, None)  # whatever becomes of the turn, a failure or a cancel too
        frames = await self._sockets.turn(session, request.body, listener)
        return WireReply(200, listener.headers, b"\n".join(frames))

    def _doubt(self, outgoing: Outgoing, opened: Opened) -> str | None:
        """Why the server can't be built on, where that is known before it is asked."""
        if outgoing.previous is None or stores(outgoing.settings):
            return None
        held = self._memories.get(outgoing.session)
        if held is not None and held.generation == opened.generation:
            return None if held.answer == outgoing.previous else FAILED
        is_old = held is not None and self._clock.monotonic() - held.opened_at >= OLD_S
        return EXPIRED if is_old else LOST

    def _remember(self, session: str, opened: Opened, listener: Listener) -> None:
        """After a fault nothing can be built on this socket: it goes."""
        if listener.answered is None:
            self._sockets.discard(session)
            return
        opened_at = self._clock.monotonic() - opened.age_s
        self._memories[session] = _Memory(opened.generation, opened_at, listener.answered)


def _was_lost_before(failure: ModelFailed, listener: Listener) -> bool:
    """Whether the socket was gone already when the turn was sent: it closed, and nothing had come."""
    return not listener.frames and failure.details.get("networkCode") == "network.request_failed"


def _creating(request: WireRequest) -> WireRequest:
    """The request as the event that begins a turn."""
    first, *others = request.pieces or (request.body,)
    pieces = (b'{"type":"response.create",' + first.removeprefix(b"{"), *others)
    return replace(request, body=b"".join(pieces), pieces=pieces)


def _reason(listener: Listener, *, builds: bool) -> str | None:
    """Why the turn is worth one repeat with the whole transcript; `builds`: whether only what is new was sent."""
    code, message = listener.fault
    if code == LIMIT:
        return LIMIT
    if builds and code == NOT_FOUND:
        return NOT_FOUND
    return NO_OUTPUT if builds and message.lower().startswith("no tool output found") else None


def _refusal(reply: WireReply) -> WireReply:
    """The server's answer to a request for a WebSocket; raises ModelFailed for one that is no refusal."""
    if reply.status < 300:
        raise ModelFailed(
            f"the model's server answered {reply.status} where a WebSocket was asked for",
            details={"status": reply.status},
        )
    return reply
