"""A WebSocket of the model's server: each message is a request, each answer the event that ends its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from treadle.graph.jsontext import Json, dumps, is_object, loads
from treadle.testkit.replies import Reply
from treadle.testkit.simulators.http_server import Received
from treadle.testkit.simulators.websocket import Socket

FRAME = 101
"""The status of a reply whose body is a frame as it is."""

_GOING_AWAY = 1001
_ENDS = {"incomplete": "response.incomplete", "failed": "response.failed"}


class Conversation:
    """Holds one socket until either side closes it."""

    def __init__(self, greeting: Received, answer: Callable[[bytes], Reply], *, closes_after_one: bool) -> None:
        self._greeting = greeting
        self._answer = answer
        self._closes_after_one = closes_after_one

    async def hold(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        socket = Socket(reader, writer)
        if not await socket.shake_hands(self._greeting):
            return
        turns: list[asyncio.Task[None]] = []
        try:
            async for message in socket.messages():
                reply = self._answer(message)
                if self._closes_after_one and not reply.delay:
                    await socket.send(frame_of(reply))
                    await socket.close(_GOING_AWAY)
                    return
                turns.append(asyncio.ensure_future(_later(socket, reply)))
        finally:
            for turn in turns:
                turn.cancel()
            await asyncio.gather(*turns, return_exceptions=True)


def frame_of(reply: Reply) -> bytes:
    """The event that says over a socket what the reply says over HTTP; what is no JSON goes out as it is."""
    try:
        value: Json = loads(reply.body)
    except ValueError:
        return reply.body
    if reply.status == FRAME or not is_object(value):
        return reply.body
    if reply.status == 200 and "error" not in {key for key, held in value.items() if held}:
        kind = _ENDS.get(str(value.get("status")), "response.completed")
        return b'{"type":"%b","response":%b}' % (kind.encode(), reply.body)
    event = {"type": "error", "status": reply.status, "error": value.get("error"), "headers": dict(reply.headers)}
    return dumps(event)


async def _later(socket: Socket, reply: Reply) -> None:
    await asyncio.sleep(reply.delay)
    await socket.send(frame_of(reply))
