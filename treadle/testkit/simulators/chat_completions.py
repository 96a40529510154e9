"""A chat-completions provider on loopback: it answers from a script, and refuses what a real server would refuse."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import count

from ..replies import MODEL, Reply, error
from ..turns import Refusal
from .chat_rules import RequestRefused, Rules, check
from .chat_writing import refusal_reply, turn_reply
from .http_server import Received, Sleep
from .provider import Said, ServedScript, Step

__all__ = ["ChatCompletionsServer", "Step"]


class ChatCompletionsServer(ServedScript):
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
        super().__init__(steps, "/v1", sleep)
        self.format, self.model = "openai_compatible", MODEL
        self._rules = rules or Rules()
        self._api_key = api_key
        self._numbers = count(1)

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
