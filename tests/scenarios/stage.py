"""One chat, one data root, and ports that make every run of it the same: what a scenario plays on."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from treadle.engine.engine import Engine
from treadle.graph.events import Event
from treadle.graph.jsontext import Json, loads
from treadle.graph.ports import ChatHost
from treadle.graph.table import Edge
from treadle.graph.table import Step as GraphStep
from treadle.host.chat_folder import ChatFolderHost
from treadle.storage.runs import RunRecord
from treadle.testkit.faults import FaultyDisk
from treadle.testkit.ports import CountingIds
from treadle.testkit.replies import Reply
from treadle.testkit.simulators.chat_completions import ChatCompletionsServer

from ..storage.chats.samples import CHAT_REF, GREETING, QUESTION, STABLE_ID, write_chat
from .script import Script, Step
from .wires import WiredClock, WiredDisk, Wires

RUN: Final = "run_1"
FORK: Final = "fork_1"
_BEFORE_THE_FIRST_STEP: Final = 2
"""States that a graph saves before its first node has run."""
ROOTS = ("output", "scratch", "plan", "summaries", "persist")

Model = Script | ChatCompletionsServer


@dataclass(frozen=True, slots=True)
class Played:
    """What is left of a run; `files` are those of its workspace."""

    events: tuple[Event, ...]
    edges: tuple[Edge, ...]
    record: RunRecord | None
    chat: str
    """The chat file's text."""
    files: dict[str, str]
    requests: int = 0
    """How many the model got."""
    root: str = ""
    """The folder that the chat and the data are in."""
    state: dict[str, Json] | None = None
    """Of a bare graph: what it ended in."""

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.events]

    @property
    def messages(self) -> list[dict[str, Json]]:
        return [loads(line) for line in self.chat.splitlines()[1:]]


class Stage:
    def __init__(self, folder: Path, *, sleepers_wait: bool = False, found: bool = False) -> None:
        self.wires = Wires()
        self.clock = WiredClock(self.wires, sleepers_wait=sleepers_wait)
        self.ids = CountingIds()
        self.disk = FaultyDisk(WiredDisk(self.wires))
        self.root = folder / "data"
        chats = folder / "chats"
        self.chat = chats / "Wren" / "tea.jsonl" if found else write_chat(chats, GREETING, QUESTION)
        self.host = ChatFolderHost(chats, clock=self.clock, disk=self.disk)
        self.edges: dict[str, list[Edge]] = {}
        self.requests = 0

    @classmethod
    def found(cls, folder: Path) -> Stage:
        """A stage that another process has played on."""
        return cls(folder, found=True)

    async def play(self, *steps: Step, over_http: bool = False, **request: Json) -> Played:
        """A run from start to end, left alone."""
        async with self.show(*steps, over_http=over_http) as show:
            await show.start(**request)
            return await show.end()

    @asynccontextmanager
    async def show(
        self, *steps: Step, over_http: bool = False, remote: bool = False, host: ChatHost | None = None
    ) -> AsyncGenerator[Show]:
        """An engine with a scripted model; it is closed at the end. `remote`: no host is here to take commits."""
        model = ChatCompletionsServer(_replies(steps)) if over_http else Script(*steps)
        async with self.engine(model, None if remote else host or self.host) as engine, model:
            show = Show(self, engine, model)
            try:
                yield show
            finally:
                await engine.close()
                await show.settle()

    async def asleep(self) -> None:
        """Wait until somebody sleeps on the clock."""
        async with asyncio.timeout(30):
            while not self.clock.sleeping:
                await asyncio.sleep(0.002)

    def engine(self, model: Model | None = None, host: ChatHost | None = None) -> Engine:
        transport = model if isinstance(model, Script) else None
        return Engine(self.root, host, transport=transport, clock=self.clock, ids=self.ids, disk=self.disk)

    def request(self, base_url: str = Script.base_url, **changes: Json) -> dict[str, Json]:
        """A start request; a change to None takes a field away."""
        fields: dict[str, Json] = {
            "runId": RUN,
            "chatRef": CHAT_REF,
            "stableChatId": STABLE_ID,
            "generationIntent": {"source": "scenario"},
            "promptSnapshot": snapshot(base_url),
            **changes,
        }
        return {key: value for key, value in fields.items() if value is not None}

    def run_folder(self, run_id: str = RUN) -> Path:
        return next(self.root.glob(f"_tauritavern/agent-workspaces/chats/*/runs/{run_id}"))

    def forget_the_end(self, run_id: str = RUN) -> None:
        """As if the process had been killed after the event that ended the run, before the record said so."""
        for record in (self.run_folder(run_id) / "run.json", *self.root.glob(f"*/*/index/runs/{run_id}.json")):
            record.write_text(record.read_text().replace('"status": "completed"', '"status": "finishing"'))

    def forget_after(self, event_type: str) -> None:
        """As if the process had been killed at that event: nothing later is journalled, and no state was saved."""
        folder = self.run_folder()
        lines = (folder / "events.jsonl").read_bytes().splitlines(keepends=True)
        last = next(place for place, line in enumerate(lines) if f'"{event_type}"'.encode() in line)
        (folder / "events.jsonl").write_bytes(b"".join(lines[: last + 1]))
        for file in folder.glob("run.sqlite*"):
            file.unlink()

    async def played(self, engine: Engine, run_id: str = RUN) -> Played:
        record = await engine.read_run(run_id)
        events = tuple([event async for event in _all_events(engine, run_id)])
        edges = tuple(self.edges.get(run_id, ()))
        return Played(
            events,
            edges,
            record,
            self.chat.read_text("utf-8"),
            self.files(run_id),
            self.requests,
            str(self.root.parent),
        )

    def files(self, run_id: str = RUN) -> dict[str, str]:
        folder = self.run_folder(run_id)
        found = (
            path
            for root in ROOTS
            for path in sorted((folder / root).rglob("*"))
            if path.is_file() and not path.is_symlink()
        )
        return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in found}


class Show:
    """One engine's part in a scenario."""

    def __init__(self, stage: Stage, engine: Engine, model: Model) -> None:
        self.stage = stage
        self.engine = engine
        self.model = model
        self._loop = asyncio.get_running_loop()
        self._following: list[asyncio.Task[None]] = []

    async def start(self, **request: Json) -> str:
        handle = await self.engine.start_run_with_prompt_snapshot(self.stage.request(self.model.base_url, **request))
        self._following.append(asyncio.create_task(self._follow(handle.run_id)))
        return handle.run_id

    async def resume(self, run_id: str = RUN, *, force: bool = False) -> None:
        await self.engine.resume_run(run_id, force=force)
        self._following.append(asyncio.create_task(self._follow(run_id)))

    async def fork(self, run_id: str = RUN, *, new_run_id: str = FORK, **asked: Json) -> str:
        """Fork the run; `asked` says where, and under which profile."""
        handle = await self.engine.fork_run(run_id, new_run_id=new_run_id, **asked)
        self._following.append(asyncio.create_task(self._follow(handle.run_id)))
        return handle.run_id

    async def end(self, run_id: str = RUN) -> Played:
        await self.engine.wait(run_id)
        await self.settle()
        return await self.stage.played(self.engine, run_id)

    async def until(self, event_type: str, run_id: str = RUN, *, nth: int = 1) -> Event:
        """Wait for the event's nth appearance."""
        async for event in self.engine.subscribe(run_id):
            nth -= event.type == event_type
            if nth == 0:
                return event
        raise AssertionError(f"the run ended without {event_type}")

    async def asked(self, count: int) -> None:
        """Wait until the model has got so many requests."""
        async with asyncio.timeout(30):
            while len(self.model.requests) < count:
                await asyncio.sleep(0.002)

    async def stands_at(self, step: GraphStep, run_id: str = RUN) -> None:
        """Wait until the run has come to this step and its state is saved there, as a new engine will find it."""
        async with asyncio.timeout(30):
            while not await asyncio.to_thread(self._is_saved_at, step, run_id):
                await asyncio.sleep(0.002)

    def _is_saved_at(self, step: GraphStep, run_id: str) -> bool:
        edges = [edge for edge in self.stage.edges.get(run_id, ()) if "/" not in edge.step]
        if not edges or edges[-1].next != step:
            return False
        with closing(sqlite3.connect(self.stage.run_folder(run_id) / "run.sqlite")) as database:
            (saved,) = database.execute("SELECT count(*) FROM checkpoints WHERE ns = ''").fetchone()
        return bool(saved == len(edges) + _BEFORE_THE_FIRST_STEP)

    def cancel_now(self) -> None:
        """Cancel from the run's own thread, and wait until that is done."""
        asyncio.run_coroutine_threadsafe(self.engine.cancel(RUN), self._loop).result(30)

    async def settle(self) -> None:
        """Every edge is told."""
        await asyncio.gather(*self._following)
        self.stage.requests += len(self.model.requests)
        self.model.requests.clear()

    async def _follow(self, run_id: str) -> None:
        told = self.stage.edges.setdefault(run_id, [])
        async for edge in self.engine.transitions(run_id):
            told.append(Edge(edge.step, edge.outcome, edge.next))


def snapshot(base_url: str, **payload: Json) -> Json:
    """A prompt snapshot for a server of one's own."""
    return {
        "chatCompletionPayload": {
            "chat_completion_source": "custom",
            "custom_url": base_url,
            "model": "scripted-writer",
            "messages": [
                {"role": "system", "content": "You are Wren."},
                {"role": "assistant", "content": "The kettle sings."},
                {"role": "user", "content": "Who is at the door?"},
            ],
            **payload,
        },
        "contextPolicy": {"initialChatHistoryMessages": -1, "includeActivatedWorldInfo": True},
    }


async def _all_events(engine: Engine, run_id: str) -> AsyncGenerator[Event]:
    seq = 0
    while page := await engine.read_events(run_id, after_seq=seq):
        for event in page:
            yield event
        seq = page[-1].seq


def _replies(steps: tuple[Step, ...]) -> Iterator[Reply]:
    for step in steps:
        assert isinstance(step, Reply), "a server's answers are made beforehand"
        yield step
