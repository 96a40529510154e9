"""A run that is left while its second request waits, and goes on in another engine."""

from __future__ import annotations

import asyncio
from collections import deque
from pathlib import Path

from treadle.engine.engine import Engine
from treadle.graph.jsontext import Json, dumps, loads
from treadle.graph.ports import WireReply, WireRequest
from treadle.storage.runs import PROMPT_SNAPSHOT, body_path

from ..scenarios.stage import RUN, Stage
from .raw_answers import MODELS
from .upstream import request

ENOUGH = WireReply(400, {}, b'{"error":{"message":"enough"}}')


class Replies:
    """A `ModelTransport` that answers with these bytes, and after them not at all; it holds nobody to any rule."""

    def __init__(self, *replies: WireReply) -> None:
        self._replies = deque(replies)
        self.bodies: list[bytes] = []
        self.waits = asyncio.Event()

    async def send(self, request: WireRequest) -> WireReply:
        self.bodies.append(request.body)
        if not self._replies:
            self.waits.set()
            await asyncio.Event().wait()
        return self._replies.popleft()

    async def close(self) -> None:
        """There is nothing to close."""


def payload(form: str) -> dict[str, Json]:
    """A chat payload for a transport that asks no address."""
    address = {"reverse_proxy": "http://scripted.invalid/v1", "proxy_password": "made-up-key", "model": MODELS[form]}
    custom = {"chat_completion_source": "custom", "custom_api_format": form}
    source = {"chat_completion_source": "makersuite"} if form == "gemini" else custom
    return {**source, **address, "messages": [{"role": "user", "content": "Who is there?"}]}


async def leave(folder: Path, form: str, answer: bytes) -> list[bytes]:
    """Play on a new stage below `folder` until the second request is out; the bodies of both."""
    stage = Stage(folder)
    model = Replies(WireReply(200, {}, answer))
    async with _engine(stage, model) as engine:
        await engine.start_run_with_prompt_snapshot(request(stage, payload(form)))
        ended = asyncio.ensure_future(engine.wait(RUN))
        waits = asyncio.ensure_future(model.waits.wait())
        await asyncio.wait({ended, waits}, timeout=30, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        waits.cancel()
    return model.bodies


async def resume(folder: Path) -> list[bytes]:
    """Go on with what was left, in an engine that remembers nothing; the bodies that it sent. The run ends by a refusal."""
    stage = Stage.found(folder)
    model = Replies(ENOUGH)
    async with _engine(stage, model) as engine:
        await engine.resume_run(RUN)
        await engine.wait(RUN)
    return model.bodies


async def change(stage: Stage, chat_payload: dict[str, Json]) -> None:
    """Let the run go on with another model."""
    path = stage.run_folder() / PROMPT_SNAPSHOT
    document = loads(path.read_bytes())
    document["chatCompletionPayload"] = chat_payload
    path.write_bytes(dumps(document))


def stored_body(folder: Path) -> Path:
    return Stage.found(folder).run_folder() / body_path(1)


def _engine(stage: Stage, model: Replies) -> Engine:
    return Engine(stage.root, stage.host, transport=model, clock=stage.clock, ids=stage.ids, disk=stage.disk)
