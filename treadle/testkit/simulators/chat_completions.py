"""A chat-completions provider on loopback: it answers from a script, and refuses what a real server would refuse."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from itertools import count
from types import TracebackType
from typing import Self

from ..replies import MODEL, Reply, error
from ..turns import Refusal
from .chat_rules import RequestRefused, Rules, check
from .chat_writing import refusal_reply, turn_reply
from .http_server import LoopbackServer, Received, Sleep
from .provider import Said, Step

__all__ = ["ChatCompletionsServer", "Step"]


class ChatCompletionsServer:
    """`POST {base_url}/chat/completions`, scripted in its own words or in no provider's; an async context manager.

    A request after the script's end is answered with 400 `script_exhausted`. With `api_key`, other keys get a 401.
    """

    def __init__(
        self,
        steps: Iterable[Step],
        *,
        rules: Rules | None = None,
        api_key: str | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._steps = deque(steps)
        self._rules = rules or Rules()
        self._api_key = api_key
        self._numbers = count(1)
        self._server = LoopbackServer(self._respond, sleep)
        self.requests: list[Received] = []
        """Every request, refused ones too."""
        self.refusals: list[str] = []
        """What was said to requests that broke a rule."""

    @property
    def format(self) -> str:
        """The name of the format that is spoken here."""
        return "openai_compatible"

    @property
    def model(self) -> str:
        """A model to ask for; any other is taken too."""
        return MODEL

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.port}/v1"

    @property
    def steps_left(self) -> int:
        return len(self._steps)

    @property
    def connections(self) -> int:
        """Connections opened so far."""
        return self._server.connections

    @property
    def aborted(self) -> int:
        """Requests whose client went away before the answer."""
        return self._server.aborted

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.__aexit__(kind, error, trace)

    def _respond(self, request: Received) -> Reply:
        self.requests.append(request)
        if request.path.partition("?")[0] != "/v1/chat/completions" or request.method != "POST":
            return error(404, f"Invalid URL ({request.method} {request.path})", code="unknown_url")
        if self._api_key is not None and request.headers.get("authorization") != f"Bearer {self._api_key}":
            return error(401, "Incorrect API key provided.", code="invalid_api_key")
        try:
            check(_value(request), self._rules)
        except RequestRefused as refused:
            self.refusals.append(refused.message)
            return error(400, refused.message, param=refused.param)
        if not self._steps:
            return error(400, "The script has no answer left.", code="script_exhausted")
        step = self._steps.popleft()
        return self._reply(step(request) if callable(step) else step)

    def _reply(self, said: Said) -> Reply:
        if isinstance(said, Reply):
            return said
        if isinstance(said, Refusal):
            return refusal_reply(said)
        try:
            return turn_reply(said, next(self._numbers))
        except ValueError as fault:
            return error(400, f"The script can't be said here: {fault}", code="script_unsayable")


def _value(request: Received) -> object:
    try:
        return request.json()
    except ValueError as fault:
        raise RequestRefused(f"We could not parse the JSON body of your request. ({fault})") from fault
