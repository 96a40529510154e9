"""The model's side of a case: a real server that answers from a list, byte for byte, and keeps what it was sent.

It speaks HTTP, and over a WebSocket where one is asked for: then an answer is the event that ends its turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from treadle.graph.jsontext import Json, dumps
from treadle.graph.ports import Clock
from treadle.testkit.replies import Reply
from treadle.testkit.simulators.http_server import LoopbackServer, Received, Takeover
from treadle.testkit.simulators.websocket import asks_for_upgrade

from .faults import an_object, only
from .socket_side import FRAME, Conversation

FOREVER = Reply(b"", delay=3600.0)
"""No answer: the client has to leave."""

Turn = Reply | Callable[[], Reply]
Hook = Callable[[int], Reply | None]
"""Told the number of each request as it arrives; what it returns is answered in its place, and then it is not counted."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One request that arrived, and the harness's time at which it did, in seconds."""

    body: bytes = field(repr=False)
    at: float


class Upstream:
    """An async context manager. A request after the list's end is counted, never answered, and `used_up` is set."""

    def __init__(self, turns: Iterable[Turn], clock: Clock) -> None:
        self._turns = deque(turns)
        self._clock = clock
        self._server = LoopbackServer(self._respond)
        self.sent: list[Sent] = []
        self.hooks: list[Hook] = []
        self.used_up = asyncio.Event()
        self.slowness: dict[int, float] = {}
        """By the request's number: seconds that its answer takes."""
        self.is_forgetful = False
        """Whether a WebSocket is closed after its first answer, so that nobody remembers that."""

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.port}/v1"

    def load(self, turns: Iterable[Turn]) -> None:
        """Go on with these answers."""
        self._turns.extend(turns)
        self.used_up.clear()

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.__aexit__(kind, error, trace)

    def _respond(self, request: Received) -> Reply | Takeover:
        if asks_for_upgrade(request):
            return Conversation(request, self._answer, closes_after_one=self.is_forgetful).hold
        return self._answer(request.body)

    def _answer(self, body: bytes) -> Reply:
        number = len(self.sent) + 1
        for hook in list(self.hooks):  # a hook may take itself away
            instead = hook(number)
            if instead is not None:
                return instead
        self.sent.append(Sent(body, self._clock.monotonic()))
        if not self._turns:
            self.used_up.set()
            return FOREVER
        turn = self._turns.popleft()
        reply = turn if isinstance(turn, Reply) else turn()
        return replace(reply, delay=self.slowness.get(number, reply.delay))


def reply_of(turn: Json, where: str) -> Reply:
    """A turn as the case writes it: `{status, headers, body_text}`, or `{ws_event}`."""
    held = an_object(turn, where)
    if "ws_event" in held:
        only(held, ("ws_event",), where)
        return Reply(dumps(held["ws_event"]), FRAME)
    only(held, ("status", "headers", "body_text"), where)
    return Reply(held["body_text"].encode("utf-8", "surrogatepass"), held["status"], held.get("headers") or {})
