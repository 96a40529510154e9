"""How a request reaches its provider and its answer comes back: one HTTP exchange, and a record of each call made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..graph.errors import ModelFailed
from ..graph.ports import Clock, ModelTransport, WireReply, WireRequest
from .format import Format
from .outgoing import Outgoing
from .provider_state import HTTP

Build = Callable[[Outgoing], WireRequest]


@dataclass(frozen=True, slots=True)
class WireCall:
    """One call as it was made: what went out, what came, or why nothing did."""

    request: WireRequest
    transport: str
    started_at: float
    """Seconds since the epoch."""
    duration_s: float
    reply: WireReply | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Delivered:
    """The reply to a request, and the way that both went."""

    request: WireRequest
    reply: WireReply
    transport: str = HTTP
    replays: tuple[str, ...] = ()


class Delivery:
    def __init__(self, transport: ModelTransport, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock

    async def deliver(self, shape: Format, outgoing: Outgoing, build: Build, heard: list[WireCall]) -> Delivered:
        """The provider's reply, whatever its status; raises ModelFailed for faults of the line."""
        request = build(outgoing.whole())
        return Delivered(request, await self.send(request, heard))

    async def send(self, request: WireRequest, heard: list[WireCall]) -> WireReply:
        """One HTTP exchange, recorded in `heard` however it ends."""
        begun = _Begun(self._clock, request, HTTP, heard)
        try:
            reply = await self._transport.send(request)
        except ModelFailed as failure:
            begun.ended(error=failure.message)
            raise
        except BaseException:
            begun.ended(error="cancelled")
            raise
        begun.ended(reply)
        return reply

    def close_session(self, session: str) -> None:
        """Let the session's socket go, without waiting for it."""

    async def close(self) -> None:
        await self._transport.close()


class _Begun:
    def __init__(self, clock: Clock, request: WireRequest, transport: str, heard: list[WireCall]) -> None:
        self._clock, self._request, self._transport, self._heard = clock, request, transport, heard
        self._at, self._since = clock.now(), clock.monotonic()

    def ended(self, reply: WireReply | None = None, error: str | None = None) -> None:
        elapsed = self._clock.monotonic() - self._since
        self._heard.append(WireCall(self._request, self._transport, self._at, elapsed, reply, error))
