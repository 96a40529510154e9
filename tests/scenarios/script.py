"""A model in this process: it answers from a script, and holds the engine to the provider's rules."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Self

from treadle.graph.jsontext import loads
from treadle.graph.ports import WireReply, WireRequest
from treadle.testkit.replies import Reply, error
from treadle.testkit.simulators.chat_rules import Rules, check

Step = Reply | Callable[[], Awaitable[Reply]]
"""An answer, or what makes one when it is asked for."""


class Script:
    """A `ModelTransport`; what breaks a rule of chat completions raises RequestRefused. After its end: a 400."""

    base_url = "http://scripted.invalid/v1"

    def __init__(self, *steps: Step) -> None:
        self._steps = deque(steps)
        self.requests: list[WireRequest] = []

    async def send(self, request: WireRequest) -> WireReply:
        self.requests.append(request)
        check(loads(request.body), Rules())
        step = self._steps.popleft() if self._steps else error(400, "The script has no answer left.")
        reply = step if isinstance(step, Reply) else await step()
        return WireReply(reply.status, reply.headers, reply.body)

    async def close(self) -> None:
        """There is nothing to close."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_raised: object) -> None:
        await self.close()


class ByRound(Script):
    """The reply of a round is the same however often it is asked for, as after a crash."""

    async def send(self, request: WireRequest) -> WireReply:
        self.requests.append(request)
        body = loads(request.body)
        check(body, Rules())
        round_number = 1 + sum("tool_calls" in message for message in body["messages"])
        step = self._steps[round_number - 1]
        reply = step if isinstance(step, Reply) else await step()
        return WireReply(reply.status, reply.headers, reply.body)
