"""An OpenAI Responses provider on loopback, over HTTP and WebSocket on one port: scripted, and as strict as the real one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from ..replies import Reply
from .http_server import LoopbackServer, Received, Sleep, Takeover
from .responses_provider import Provider
from .responses_refusals import RequestRefused
from .responses_script import Step
from .responses_socket import Conversation
from .websocket import asks_for_upgrade

PATH = "/v1/responses"
MODEL = "gpt-scripted-1"


class OpenAIResponsesServer:
    """`POST {base_url}/responses`, or a WebSocket on the same path; an async context manager.

    A request that breaks a rule uses up no step; one after the script's end gets 400 `script_exhausted`. With
    `api_key`, other keys get a 401. A socket remembers its last response only, and none after a continuation that failed.
    """

    def __init__(self, steps: Iterable[Step], *, api_key: str | None = None, sleep: Sleep = asyncio.sleep) -> None:
        self._provider = Provider(steps)
        self._api_key = api_key
        self._sleep = sleep
        self._server = LoopbackServer(self._respond, sleep)
        self._conversations: list[Conversation] = []
        self._upgrade_refusal = Reply(b"")
        self._upgrades_to_refuse: int | None = 0

    @property
    def format(self) -> str:
        """The name of the format that is spoken here."""
        return "openai_responses"

    @property
    def model(self) -> str:
        """A model to ask for."""
        return MODEL

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.port}/v1"

    @property
    def steps_left(self) -> int:
        return len(self._provider.steps)

    @property
    def requests(self) -> list[Received]:
        """Every request for an answer, refused ones too; a socket's messages have the method `WEBSOCKET`."""
        return self._provider.requests

    @property
    def refusals(self) -> list[str]:
        """What was said to requests that broke a rule."""
        return self._provider.refusals

    @property
    def sockets(self) -> int:
        """Upgrades to a WebSocket that were not refused, so far."""
        return len(self._conversations)

    @property
    def connections(self) -> int:
        """Connections opened so far, those of sockets too."""
        return self._server.connections

    @property
    def aborted(self) -> int:
        """Requests whose client went away before the answer's end."""
        return self._server.aborted + self._provider.aborted

    def forget(self) -> None:
        """Evict every socket's last response."""
        for conversation in self._conversations:
            conversation.memory.forget()

    def refuse_upgrades(self, reply: Reply, times: int | None = 1) -> None:
        """Answer the next so many upgrades with `reply`; None: all of them, so that only HTTP is spoken."""
        self._upgrade_refusal, self._upgrades_to_refuse = reply, times

    async def __aenter__(self) -> Self:
        await self._server.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._server.__aexit__(kind, error, trace)

    def _respond(self, request: Received) -> Reply | Takeover:
        upgrade = asks_for_upgrade(request)
        try:
            self._check_caller(request, upgrade=upgrade)
        except RequestRefused as refused:
            return self._provider.refused(refused)
        if not upgrade:
            return self._provider.take(request, None).reply
        if self._upgrades_to_refuse != 0:
            if self._upgrades_to_refuse is not None:
                self._upgrades_to_refuse -= 1
            return self._upgrade_refusal
        conversation = Conversation(self._provider, request, self._sleep)
        self._conversations.append(conversation)
        return conversation.hold

    def _check_caller(self, request: Received, *, upgrade: bool) -> None:
        where = f"{request.method} {request.path}"
        if request.path.partition("?")[0] != PATH:
            raise RequestRefused(f"Invalid URL ({where})", code="unknown_url", status=404)
        if request.method != ("GET" if upgrade else "POST"):
            raise RequestRefused(f"Invalid method for URL ({where})", status=405)
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or not key.strip():
            message = (
                "You didn't provide an API key. You need to provide your API key in an Authorization header using "
                "Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
            )
            raise RequestRefused(message, status=401)
        if self._api_key not in (None, key):
            raise RequestRefused("Incorrect API key provided.", code="invalid_api_key", status=401)
        kind = request.headers.get("content-type", "")
        if not upgrade and kind.partition(";")[0].strip().lower() != "application/json":
            message = f"Unsupported content type: '{kind}'. This API method only accepts 'application/json' requests."
            raise RequestRefused(message, code="unsupported_content_type")
