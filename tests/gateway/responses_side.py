"""A Responses server on loopback for tests: sockets that answer each turn from a list, and remember one answer each."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from websockets.asyncio.server import ServerConnection, serve

from treadle.gateway.connections.connection import Connection
from treadle.gateway.connections.secret import Secret
from treadle.graph.jsontext import Json

from .words import KEY


@dataclass(frozen=True, slots=True)
class Close:
    """Say these frames, then close with the code."""

    code: int
    frames: tuple[str, ...] = ()


class Silence:
    """No answer to this turn."""


Answer = str | tuple[str, ...] | Close | Silence
"""One frame, several, or what happens instead."""


def response(ident: str, *items: str, **more: Json) -> str:
    held = "".join(f',"{key}":{json.dumps(value)}' for key, value in more.items())
    status = "" if "status" in more else '"status":"completed",'
    return f'{{"id":"{ident}","object":"response",{status}"model":"m","output":[{",".join(items)}]{held}}}'


def completed(ident: str, *items: str, **more: Json) -> str:
    return f'{{"type":"response.completed","response":{response(ident, *items, **more)}}}'


def created(ident: str) -> str:
    return f'{{"type":"response.created","response":{{"id":"{ident}","status":"in_progress"}}}}'


def fault(code: str | None, message: str = "No.", status: int = 400, kind: str = "invalid_request_error") -> str:
    return json.dumps({"type": "error", "status": status, "error": {"type": kind, "code": code, "message": message}})


def said(text: str) -> str:
    return f'{{"type":"message","id":"msg_1","role":"assistant","content":[{{"type":"output_text","text":"{text}"}}]}}'


def asked(call_id: str, name: str = "workspace_list_files", arguments: str = "{}") -> str:
    return (
        f'{{"id":"fc_{call_id}","type":"function_call","call_id":"{call_id}","name":"{name}",'
        f'"arguments":{json.dumps(arguments)},"status":"completed"}}'
    )


REASONING = '{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA=="}'


def at(base_url: str = "http://localhost:9/v1", model: str = "m") -> Connection:
    return Connection("custom", "openai_responses", base_url, model, api_key=Secret(KEY))


class ResponsesSide:
    """Turns in the order of the list, whichever socket they come by; those beyond it are met with silence."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._answers = deque(answers)
        self.turns: list[dict[str, Json]] = []
        self.by: list[int] = []
        """The number of the socket that each turn came by."""
        self.headers: list[dict[str, str]] = []
        """Of each socket."""
        self.sockets: list[ServerConnection] = []
        self.port = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def expect(self, answer: Answer) -> None:
        """One more answer."""
        self._answers.append(answer)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[ResponsesSide]:
        async with serve(self._converse, "127.0.0.1", 0, max_size=None, close_timeout=0.2) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            yield self

    async def _converse(self, socket: ServerConnection) -> None:
        self.sockets.append(socket)
        number = len(self.sockets)
        if socket.request is not None:
            self.headers.append(dict(socket.request.headers.raw_items()))
        async for message in socket:
            self.turns.append(json.loads(message))
            self.by.append(number)
            await self._answer(socket, self._answers.popleft() if self._answers else Silence())

    async def _answer(self, socket: ServerConnection, answer: Answer) -> None:
        match answer:
            case Silence():
                await asyncio.sleep(0)
            case Close(code, frames):
                for frame in frames:
                    await socket.send(frame)
                await socket.close(code)
            case str():
                await socket.send(answer)
            case _:
                for frame in answer:
                    await socket.send(frame)
