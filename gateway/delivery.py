"""How a request reaches its provider and its answer comes back: by HTTP, or over the run's own WebSocket."""

from __future__ import annotations

from ..graph.ports import Clock, ModelSockets, ModelTransport, WireReply, WireRequest
from .format import Format
from .outgoing import Outgoing
from .provider_state import HTTP
from .responses.sessions import NO_WEBSOCKET, Sessions
from .wire_calls import Build, Delivered, WireCall, recorded

__all__ = ["Build", "Delivered", "Delivery", "WireCall"]


class Delivery:
    """Without sockets everything goes by HTTP."""

    def __init__(self, transport: ModelTransport, clock: Clock, sockets: ModelSockets | None = None) -> None:
        self._transport = transport
        self._clock = clock
        self._sessions = None if sockets is None else Sessions(sockets, clock)

    async def deliver(self, shape: Format, outgoing: Outgoing, build: Build, heard: list[WireCall]) -> Delivered:
        """The provider's reply, whatever its status; raises ModelFailed for faults of the line."""
        may_be_socket = shape.CONTINUES and outgoing.connection.switches.web_socket != "off"
        if self._sessions is not None and may_be_socket:
            delivered = await self._sessions.deliver(outgoing, build, heard)
            if delivered is not None:
                return delivered
        request = build(outgoing.whole())
        replays = () if outgoing.previous is None else (NO_WEBSOCKET,)
        return Delivered(request, await self.send(request, heard), replays=replays)

    async def send(self, request: WireRequest, heard: list[WireCall]) -> WireReply:
        """One HTTP exchange, recorded in `heard` however it ends."""
        with recorded(self._clock, request, HTTP, heard) as call:
            call.reply = await self._transport.send(request)
            return call.reply

    def close_session(self, session: str) -> None:
        """Let the session's socket go, without waiting for it."""
        if self._sessions is not None:
            self._sessions.close_session(session)

    async def close(self) -> None:
        if self._sessions is not None:
            await self._sessions.close()
        await self._transport.close()
