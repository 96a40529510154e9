"""Real runs for the pages to show: a scripted model in this process, a chat on disk, a clock and ids that repeat."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from treadle.engine.engine import Engine
from treadle.graph.errors import HostFailed, ModelFailed
from treadle.graph.events import Event, EventType
from treadle.graph.jsontext import Json
from treadle.graph.ports import WireReply, WireRequest
from treadle.graph.profiles.resolved import default_writer
from treadle.graph.status import RunStatus
from treadle.host.chat_folder import ChatFolderHost
from treadle.testkit.ports import NEW_YEAR, CountingIds
from treadle.testkit.replies import Reply, call, calls, error, text
from treadle.testkit.simulators.openai_responses import OpenAIResponsesServer
from treadle.testkit.simulators.registry import payload_for
from treadle.testkit.simulators.responses_script import Answer

RUN_ID = "run_sample"
CHAT = Path("chats", "Odile", "evening.jsonl")
WRITE = call("workspace_write_file", path="output/main.md", content="The lamp went out.\n")
COMMIT = call("workspace_commit")
FINISH = call("workspace_finish")

_TICK = 0.004


class TickingClock:
    """Each look at the time moves it by 4 ms, and a wait moves it at once, so that a run takes the same time always."""

    def __init__(self) -> None:
        self._seconds = NEW_YEAR

    def now(self) -> float:
        self._seconds += _TICK
        return self._seconds

    def monotonic(self) -> float:
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        self._seconds += seconds


@dataclass(slots=True)
class Stage:
    """A data root, a chat, and the answers that the model is going to give; an answer may be preceded by a deed."""

    folder: Path
    steps: list[Reply | Callable[[Stage], Awaitable[Reply]]]
    profile: Json = None
    presentation: str = "foreground"
    ends: RunStatus = RunStatus.COMPLETED
    clock: TickingClock = field(default_factory=TickingClock)
    ids: CountingIds = field(default_factory=CountingIds)
    engine: Engine = field(init=False)

    def __post_init__(self) -> None:
        self.chat.parent.mkdir(parents=True)
        self.chat.write_bytes(_CHAT)
        self.engine = self.new_engine()

    @property
    def chat(self) -> Path:
        return self.folder / CHAT

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def run_folder(self) -> Path:
        return next(self.data.glob(f"*/*/chats/*/runs/{RUN_ID}"))

    @property
    def chat_data(self) -> Path:
        """What is kept for the chat, from run to run."""
        return self.run_folder.parent.parent

    def new_engine(self) -> Engine:
        host, _ = ChatFolderHost.for_chat(self.chat, clock=self.clock)
        return Engine(self.data, host, transport=self, clock=self.clock, ids=self.ids)

    async def send(self, request: WireRequest) -> WireReply:
        step = self.steps.pop(0)
        reply = step if isinstance(step, Reply) else await step(self)
        return WireReply(reply.status, reply.headers, reply.body)

    async def close(self) -> None:
        """Nothing is open."""

    def over_sockets(self) -> Engine:
        """An engine that asks a real server."""
        host, _ = ChatFolderHost.for_chat(self.chat, clock=self.clock)
        return Engine(self.data, host, clock=self.clock, ids=self.ids)

    async def start(self, model: dict[str, Json] | None = None) -> None:
        await self.engine.start_run_with_prompt_snapshot(
            {
                "runId": RUN_ID,
                "chatRef": {"kind": "character", "characterId": CHAT.parent.name, "fileName": CHAT.stem},
                "generationIntent": {"source": "docs"},
                "presentation": self.presentation,
                "profile": self.profile,
                "promptSnapshot": {
                    **_PROMPT,
                    "chatCompletionPayload": _PROMPT["chatCompletionPayload"] | (model or {}),
                },
            }
        )

    async def play(self) -> Sequence[Event]:
        """The run from its start to its end, and its journal."""
        await self.start()
        record = await self.engine.wait(RUN_ID)
        assert record.status is self.ends, (self.folder.name, record.status)
        return await _journal(self)


def shown(folder: Path) -> Stage:
    """The run that the pages show: two rounds, one retry, one commit, one persistent file."""
    return Stage(
        folder,
        [
            calls(WRITE, call("workspace_write_file", path="persist/plot.md", content="The lamp is out.\n")),
            error(429, "slow down", code="rate_limit_exceeded"),
            calls(COMMIT, FINISH, text="That will do."),
        ],
    )


def others(folder: Path) -> list[Stage]:
    """Runs that go wrong, or round about, in every way that an event tells."""
    read = call("workspace_read_file", path="output/main.md")
    patch = call("workspace_apply_patch", path="output/main.md", old_string="out", new_string="on")
    lost = call("workspace_read_file", path="output/lost.md")
    persist = call("workspace_write_file", path="persist/plot.md", content="mine")
    return [
        Stage(folder / "exhausted", [error(500, "no")] * 4, ends=RunStatus.FAILED),
        Stage(folder / "text", [text("Once upon a time.")], ends=RunStatus.FAILED),
        Stage(
            folder / "corrected",
            [text("Hm."), calls(WRITE, read, patch, lost, COMMIT, FINISH)],
            profile=_correcting(),
        ),
        Stage(folder / "partial", [calls(WRITE, COMMIT), _chat_grows], ends=RunStatus.PARTIAL_SUCCESS),
        Stage(
            folder / "conflict",
            [calls(persist), _another_run_promotes],
            presentation="background",
            ends=RunStatus.FAILED,
        ),
        Stage(folder / "unmarked", [calls(WRITE, COMMIT), _chat_shrinks], ends=RunStatus.PARTIAL_SUCCESS),
        Stage(folder / "cancelled", [_cancelled], ends=RunStatus.CANCELLED),
        Stage(folder / "linked", [_linked], ends=RunStatus.FAILED),
    ]


async def resumed(folder: Path) -> Sequence[Event]:
    """A run whose driver went away in the middle of a model call, and of a line of its journal; it goes on."""
    stage = await _left_behind(folder)
    journal = stage.run_folder / "events.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"seq":')
    await stage.engine.resume_run(RUN_ID)
    record = await stage.engine.wait(RUN_ID)
    assert record.status is RunStatus.COMPLETED, record.status
    return await _journal(stage)


async def forced(folder: Path) -> Sequence[Event]:
    """A run that was left behind, whose profile is changed by hand, and that goes on all the same."""
    stage = await _left_behind(folder)
    profile = stage.run_folder / "input" / "resolved_profile.json"
    profile.write_text(profile.read_text("utf-8").replace('"maxRounds": 80', '"maxRounds": 8'), "utf-8")
    await stage.engine.resume_run(RUN_ID, force=True)
    record = await stage.engine.wait(RUN_ID)
    assert record.status is RunStatus.COMPLETED, record.status
    return await _journal(stage)


async def given_up(folder: Path) -> Sequence[Event]:
    """A run whose driver went away, and that is cancelled while nobody drives it."""
    stage = await _left_behind(folder)
    handle = await stage.engine.cancel(RUN_ID)
    assert handle.status is RunStatus.CANCELLED, handle.status
    return await _journal(stage)


async def switched(folder: Path) -> Sequence[Event]:
    """A run that was left behind, and goes on with another model."""
    stage = await _left_behind(folder)
    snapshot = stage.run_folder / "input" / "prompt_snapshot.json"
    snapshot.write_text(snapshot.read_text("utf-8").replace("scripted-writer", "another-writer"), "utf-8")
    await stage.engine.resume_run(RUN_ID)
    record = await stage.engine.wait(RUN_ID)
    assert record.status is RunStatus.COMPLETED, record.status
    return await _journal(stage)


async def forked_at_a_checkpoint(folder: Path) -> Sequence[Event]:
    """A fork of a run that has ended: the model is asked for the second round again."""
    return await _forked(folder, calls(COMMIT, FINISH), checkpoint_id="cp_000001")


async def forked_at_an_event(folder: Path) -> Sequence[Event]:
    """A fork that takes up the answer of its second round, whose calls it makes itself."""
    return await _forked(folder, at_seq=30)


async def approved(folder: Path) -> Sequence[Event]:
    """A run in which a person is asked about every change: one is made as it is, one otherwise, one not at all."""
    profile = default_writer().to_json()
    stage = Stage(folder, [calls(WRITE, WRITE, WRITE), calls(COMMIT, FINISH)], {**profile, "tools": _asking(profile)})
    await stage.start()
    answers: list[dict[str, Json]] = [
        {"approved": True},
        {"approved": True, "reason": "darker", "edited_arguments": {"path": "output/main.md", "content": "Dark.\n"}},
        {"approved": False, "reason": "That will do."},
        {"approved": True},
    ]
    async for event in stage.engine.subscribe(RUN_ID):
        if event.type == EventType.TOOL_CALL_AWAITING_APPROVAL:
            await stage.engine.approve_tool_call(RUN_ID, event.payload["callId"], **answers.pop(0))
    record = await stage.engine.wait(RUN_ID)
    assert record.status is RunStatus.COMPLETED, record.status
    return await _journal(stage)


async def replayed(folder: Path) -> Sequence[Event]:
    """A run over a WebSocket whose provider forgets the first answer before the second request comes."""
    stage = Stage(folder, [])
    answers = [Answer((WRITE,), forgotten=True), Answer((COMMIT, FINISH))]
    async with OpenAIResponsesServer(answers) as server:
        stage.engine = stage.over_sockets()
        await stage.start({**payload_for(server), "custom_url": None})
        record = await stage.engine.wait(RUN_ID)
        assert record.status is RunStatus.COMPLETED, record.status
        return await _journal(stage)


async def rewound(folder: Path) -> Sequence[Event]:
    """A run that has ended, and whose files and message are put back; the second time somebody has answered."""
    stage = Stage(folder, [calls(WRITE), calls(COMMIT, FINISH)])
    await stage.play()
    stage.engine = stage.new_engine()
    await stage.engine.rollback(RUN_ID, "cp_000001")
    await stage.engine.rollback(RUN_ID, "cp_000002", "committed-message")
    await _chat_grows(stage)
    with suppress(HostFailed):
        await stage.engine.rollback(RUN_ID, "cp_000001", "committed-message")
    return await _journal(stage)


async def _left_behind(folder: Path) -> Stage:
    asked = asyncio.Event()

    async def never(stage: Stage) -> Reply:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    stage = Stage(folder, [calls(WRITE), never, calls(COMMIT, FINISH)])
    await stage.start()
    await asked.wait()
    await stage.engine.close()
    stage.engine = stage.new_engine()
    return stage


async def _forked(folder: Path, *more: Reply, **place: Json) -> Sequence[Event]:
    stage = Stage(folder, [calls(WRITE), calls(COMMIT, FINISH), *more])
    await stage.start()
    await stage.engine.wait(RUN_ID)
    fork = (await stage.engine.fork_run(RUN_ID, **place)).run_id
    record = await stage.engine.wait(fork)
    assert record.status is RunStatus.COMPLETED, record.status
    return await _journal(stage, fork)


async def _journal(stage: Stage, run_id: str = RUN_ID) -> Sequence[Event]:
    events = await stage.engine.read_events(run_id, limit=500)
    await stage.engine.close()
    return events


async def _chat_grows(stage: Stage) -> Reply:
    stage.chat.write_bytes(stage.chat.read_bytes() + b'{"name":"User","is_user":true,"mes":"Wait!","extra":{}}\n')
    return calls(COMMIT)


async def _chat_shrinks(stage: Stage) -> Reply:
    stage.chat.write_bytes(_CHAT)
    return calls(FINISH)


async def _another_run_promotes(stage: Stage) -> Reply:
    base = stage.chat_data / "persist" / "plot.md"
    base.parent.mkdir()
    base.write_text("theirs", "utf-8")
    return calls(FINISH)


async def _cancelled(stage: Stage) -> Reply:
    await stage.engine.cancel(RUN_ID)
    raise ModelFailed("an answer that comes after the cancel is dropped")


async def _linked(stage: Stage) -> Reply:
    (stage.run_folder / "output" / "main.md").symlink_to("elsewhere")
    return calls(call("workspace_read_file", path="output/main.md"))


def _correcting() -> Json:
    profile = default_writer().to_json()
    return {**profile, "run": {**profile["run"], "driftRecovery": {"maxAttempts": 1}}}


def _asking(profile: Json) -> Json:
    return {**profile["tools"], "approval": "mutating"}


def _line(value: Json) -> bytes:
    return json.dumps(value).encode() + b"\n"


_CHAT = _line({"user_name": "User", "character_name": "Odile", "chat_metadata": {"integrity": "evening-1"}}) + _line(
    {"name": "User", "is_user": True, "is_system": False, "mes": "It got dark.", "extra": {}}
)
_PROMPT: Json = {
    "chatCompletionPayload": {
        "messages": [{"role": "user", "content": "It got dark."}],
        "chat_completion_source": "custom",
        "custom_url": "http://127.0.0.1:8080/v1",
        "model": "scripted-writer",
    },
    "contextPolicy": {"initialChatHistoryMessages": -1, "includeActivatedWorldInfo": True},
}
