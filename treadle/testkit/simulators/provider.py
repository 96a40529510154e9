"""The server that all format-neutral simulators are: a script in order, one provider's rules, what went wrong on the way."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import TracebackType
from typing import Protocol, Self

from ...graph.jsontext import Json
from ..replies import Call, Reply
from ..turns import Fault, Refusal, Turn
from .http_server import LoopbackServer, Received, Sleep

PAGE = b"<!DOCTYPE html>\n<html><head><title>Bad gateway</title></head><body><h1>Bad gateway</h1></body></html>\n"

Said = Turn | Refusal | Reply
"""A Reply goes out byte for byte, and is no answer that the provider remembers."""

Step = Said | Callable[[Received], Said]
"""What is said, or what makes it from the request; a request that breaks a rule uses up no step."""


class RequestRefused(Exception):
    """The request breaks a rule; `refusal` is what the provider says."""

    def __init__(self, message: str, *, status: int = 400, code: str = "") -> None:
        self.refusal = Refusal(status, message, code)
        super().__init__(message)


class Provider(Protocol):
    """One provider: its rules, its words, and what it remembers of its own answers."""

    @property
    def name(self) -> str:
        """The format's name."""
        ...

    @property
    def base_path(self) -> str:
        """What a base URL has behind the port."""
        ...

    @property
    def model(self) -> str:
        """A model that it has."""
        ...

    def check(self, request: Received) -> None:
        """Raises RequestRefused for the first rule that the request breaks."""
        ...

    def answer(self, request: Received, turn: Turn) -> bytes:
        """The body that says the turn; raises ValueError for what this provider can't say."""
        ...

    def refusal(self, refusal: Refusal) -> Reply:
        """The refusal in the provider's shape."""
        ...


class ServedScript(ABC):
    """What scripted servers share: the script, what was asked, and the server on loopback; an async context manager."""

    format: str
    """The name of the format that is spoken here."""
    model: str
    """A model to ask for."""

    def __init__(self, steps: Iterable[Step], base_path: str, sleep: Sleep) -> None:
        self._steps = deque(steps)
        self._base_path = base_path
        self._server = LoopbackServer(self._respond, sleep)
        self.requests: list[Received] = []
        """Every request, refused ones too."""
        self.refusals: list[str] = []
        """What was said to requests that broke a rule."""

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.port}{self._base_path}"

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

    @abstractmethod
    def _respond(self, request: Received) -> Reply:
        """What is answered to a request; it notes it among `requests`."""


class ScriptedServer(ServedScript):
    """One provider on loopback, scripted.

    A request after the script's end is answered with 400 `script_exhausted`.
    """

    def __init__(self, provider: Provider, steps: Iterable[Step], sleep: Sleep = asyncio.sleep) -> None:
        super().__init__(steps, provider.base_path, sleep)
        self._provider = provider
        self.format, self.model = provider.name, provider.model

    def _respond(self, request: Received) -> Reply:
        self.requests.append(request)
        try:
            self._provider.check(request)
        except RequestRefused as refused:
            self.refusals.append(refused.refusal.message)
            return self._provider.refusal(refused.refusal)
        if not self._steps:
            return self._provider.refusal(Refusal(400, "The script has no answer left.", "script_exhausted"))
        step = self._steps.popleft()
        said = step(request) if callable(step) else step
        if isinstance(said, Reply):
            return said
        return sent(self._reply(request, said), said.delay, said.fault)

    def _reply(self, request: Received, said: Turn | Refusal) -> Reply:
        if isinstance(said, Refusal):
            return self._provider.refusal(said)
        try:
            return Reply(self._provider.answer(request, said))
        except ValueError as fault:
            return self._provider.refusal(Refusal(400, f"The script can't be said here: {fault}", "script_unsayable"))


def sent(reply: Reply, delay: float, fault: Fault | None) -> Reply:
    """The reply as it arrives, after the delay and with what went wrong."""
    reply = replace(reply, delay=delay)
    match fault:
        case None:
            return reply
        case "drop":
            return replace(reply, drop="before_answer")
        case "break_off":
            return replace(reply, drop="inside_body")
        case "truncate":
            return replace(reply, body=reply.body[: len(reply.body) // 2])
        case "html":
            return replace(reply, body=PAGE, headers={**reply.headers, "content-type": "text/html"})
        case "empty":
            return replace(reply, body=b"")


def spelled(value: Json) -> bytes:
    """JSON as a client's own printer would hardly write it: spaces, and letters past ASCII as escapes."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False).encode()


def spelled_object(value: dict[str, Json], key: str, raw: bytes) -> bytes:
    """An object whose last member is JSON text already."""
    head = spelled(value)[:-1]
    return head + (b", " if value else b"") + b"%b: %b}" % (spelled(key), raw)


def arguments_of(made: Call) -> bytes:
    """A call's arguments; text goes out as it is."""
    return (
        made.arguments.encode("utf-8", "surrogatepass") if isinstance(made.arguments, str) else spelled(made.arguments)
    )


def alias(name: str) -> str:
    """The name that a model knows a tool by."""
    return name.replace(".", "_")


def seal(*about: object) -> str:
    """A signature: base64 text that is the same for the same things, and like no other."""
    return base64.b64encode(
        hashlib.sha512("\x00".join(map(str, about)).encode("utf-8", "surrogatepass")).digest()
    ).decode()
