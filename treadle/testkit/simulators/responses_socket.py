"""A conversation with a Responses provider on one WebSocket: one response at a time, the last one remembered."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

from ..replies import error
from .http_server import Received, Sleep
from .responses_provider import Memory, Provider, Sending, said
from .websocket import Socket

_IN_FLIGHT = error(
    400,
    "A response is already in flight on this connection. Wait for it to end, or use another connection.",
    code="response_already_in_flight",
)


class Conversation:
    """Holds one socket until either side closes it."""

    def __init__(self, provider: Provider, greeting: Received, sleep: Sleep) -> None:
        self._provider = provider
        self._greeting = greeting
        self._sleep = sleep
        self._in_flight = False
        self.memory = Memory()

    async def hold(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        socket = Socket(reader, writer)
        if not await socket.shake_hands(self._greeting):
            return
        turns: list[asyncio.Task[None]] = []
        try:
            async for message in socket.messages():
                request = replace(self._greeting, method="WEBSOCKET", body=message)
                if self._in_flight:
                    self._provider.requests.append(request)
                    await socket.send(next(said(_IN_FLIGHT).frames))
                    continue
                self._in_flight = True
                turns = [asyncio.ensure_future(self._answer(socket, self._provider.take(request, self.memory)))]
        finally:
            if self._in_flight:
                self._provider.aborted += 1
            for turn in turns:
                turn.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await turn

    async def _answer(self, socket: Socket, turn: Sending) -> None:
        with contextlib.suppress(ConnectionError):  # the client went away; what it had asked is recorded
            if turn.delay > 0:
                await self._sleep(turn.delay)
            frames = list(turn.frames)
            last = len(frames) - 1 if turn.cut is None else turn.cut.events
            for frame in frames[:last]:
                await socket.send(frame)
            self._in_flight = False
            await self._end(socket, frames[last:], turn)

    async def _end(self, socket: Socket, rest: list[bytes], turn: Sending) -> None:
        """The last frame, or what breaks the turn off in its stead."""
        if turn.cut is None:
            for frame in rest:
                await socket.send(frame)
        elif turn.cut.code is None:
            socket.abort()
        else:
            await socket.close(turn.cut.code)
