"""What the harness plays: one run that is the same whenever it is played, and the stage that it is played on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ...engine.engine import Engine
from ...graph.errors import NotFound
from ...graph.events import EventType
from ...graph.jsontext import Json, is_object, loads
from ...graph.ports import ChatHost, Clock, Ids
from ...storage.database import Connect
from ...storage.disk import Disk
from .questions import Questions

DATA: Final = "data"


@dataclass(frozen=True, slots=True)
class Stage:
    """Where one process plays its part. Whatever changes a file there must do it through `disk`."""

    folder: Path
    """The play's own: its chats, and the engine's data root in `root`. It has another name at each playing."""
    questions: Questions
    address: str
    """What the play's `provider` gave; empty without one."""
    disk: Disk
    connect: Connect
    clock: Clock
    """It stands still, and a later process's is an hour ahead: the lease of the dead is over."""
    ids: Ids

    @property
    def root(self) -> Path:
        return self.folder / DATA

    def engine(self, host: ChatHost | None = None, **more: Any) -> Engine:
        """An engine on the stage's data root with the stage's ports; `more` are further arguments of `Engine`."""
        return Engine(self.root, host, disk=self.disk, connect=self.connect, clock=self.clock, ids=self.ids, **more)


async def nothing(stage: Stage) -> None:
    """There is nothing to prepare."""


async def to_its_end(engine: Engine, run_id: str) -> None:
    """Leave the run alone until it has ended."""
    await engine.wait(run_id)


def nothing_outside(folder: Path) -> Json:
    """The run leaves nothing outside its data root."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One run, as a record of what it needs. Its answers, ids and texts must not differ from playing to playing."""

    run_id: str
    engine: Callable[[Stage], Engine]
    """The engine, made of the stage's ports: `lambda stage: stage.engine(host)`."""
    request: Callable[[Stage], dict[str, Json]]
    """The start request; its `runId` is `run_id`."""
    prepare: Callable[[Stage], Awaitable[None]] = nothing
    """Lays down what is there before the run: chats, skills, connections. Nothing is killed meanwhile."""
    provider: Callable[[Questions], AbstractAsyncContextManager[str]] | None = None
    """The model's server, in a process that is not killed: gives its address. Without it the model is the engine's
    own `transport`, and dies with the process."""
    attend: Callable[[Engine, str], Awaitable[None]] = to_its_end
    """Sees the run to its end, and says what people say. It is called anew in every process."""
    outside: Callable[[Path], Json] = nothing_outside
    """What the run left outside its data root, read from the play's folder: each effect as often as it was made."""
    same_requests: bool = True
    """Whether each question to the model is the same, byte for byte, after a crash. Not where a session goes on."""


def answering(answers: Mapping[str, dict[str, Json]]) -> Callable[[Engine, str], Awaitable[None]]:
    """A person who answers each call that waits; by call id, the arguments of `approve_tool_call`."""

    async def attend(engine: Engine, run_id: str) -> None:
        async for event in engine.subscribe(run_id):
            if event.type == EventType.TOOL_CALL_AWAITING_APPROVAL:
                call_id = event.payload["callId"]
                with suppress(NotFound):  # it was answered before the crash
                    await engine.approve_tool_call(run_id, call_id, **answers[call_id])
        await engine.wait(run_id)

    return attend


def chat_told(path: Path) -> Json:
    """Of a chat file: each message's text, the commits that made it, and the state that belongs to it."""
    return [_message(line) for line in path.read_bytes().split(b"\n")[1:] if line]


def _message(line: bytes) -> Json:
    try:
        message = loads(line)
    except ValueError:
        return {"damaged": line.decode("utf-8", "replace")}
    notes = message["extra"].get("tauritavern", {}).get("agent") if is_object(message.get("extra")) else None
    if notes is None:
        return {"text": message["mes"]}
    commits = [commit["commitId"] for commit in notes.get("commits", [])]
    states = {key: notes.get(key) for key in ("persistStateId", "persistStateStatus", "persistChangeCount")}
    return {"text": message["mes"], "commits": commits, **states}
