"""A start: refused before anything exists, or one run, however often it is asked for."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from treadle.engine.engine import Engine
from treadle.graph.errors import InvalidInput, NotFound, StorageFailed, TreadleError
from treadle.graph.jsontext import Json
from treadle.graph.status import RunStatus
from treadle.storage.disk import RealDisk

from ..scenarios import words
from ..scenarios.hosts import SlowHost, never
from ..scenarios.script import Script
from ..scenarios.stage import RUN, Stage, snapshot
from ..storage.chats.samples import CHAT_REF, HEADER, QUESTION, chat_bytes

HERE = Script.base_url


def _unlike(profile: Json) -> Json:
    profile["context"]["initialChatHistoryMessages"] = 3
    return profile


def _without_commit(profile: Json) -> Json:
    profile["tools"]["deny"] = ["workspace.commit"]
    return profile


MARKED = {"role": "system", "content": "", "_tauritavern_agent_prompt_marker": "agentSystemPrompt"}
TOOL_TURN = {"role": "tool", "content": "x", "tool_call_id": "c"}
BACKGROUND = words.profile(presentation="background")

REFUSED: list[tuple[str, dict[str, Json]]] = [
    ("agent.phase2b_stream_unsupported", {"options": {"stream": True}}),
    ("agent.prompt_snapshot_required", {"promptSnapshot": None}),
    ("agent.invalid_prompt_snapshot", {"promptSnapshot": {}}),
    ("agent.invalid_prompt_snapshot", {"promptSnapshot": {"chatCompletionPayload": {"model": "m"}}}),
    ("agent.external_tools_unsupported_phase2b", {"promptSnapshot": snapshot(HERE, tools=[{}])}),
    ("agent.external_tool_choice_unsupported_phase2b", {"promptSnapshot": snapshot(HERE, tool_choice=None)}),
    ("agent.external_tool_turns_unsupported_phase2b", {"promptSnapshot": snapshot(HERE, messages=[TOOL_TURN])}),
    ("agent.invalid_generation_type", {"generationType": "  "}),
    ("agent.profile_not_found", {"profileId": "nobody"}),
    ("agent.context_policy_required", {"promptSnapshot": {"messages": []}}),
    ("agent.context_policy_mismatch", {"profile": _unlike(words.profile())}),
    ("agent.foreground_commit_unavailable", {"profile": _without_commit(BACKGROUND), "presentation": "foreground"}),
    ("agent.invalid_stable_chat_id", {"stableChatId": "x" * 513}),
    ("agent.swipe_target_invalid", {"generationType": "swipe"}),
    ("agent.persist_base_state_mismatch", {"persistBaseStateId": "run_of_another_time"}),
    ("agent.tool_loop_requires_messages", {"promptSnapshot": snapshot(HERE, messages=5)}),
    ("agent.invalid_prompt_snapshot", {"promptSnapshot": snapshot(HERE, messages=["hello"])}),
    ("agent.invalid_prompt_marker", {"promptSnapshot": snapshot(HERE, messages=[{**MARKED, list(MARKED)[2]: 1}])}),
    ("agent.system_prompt_marker_duplicate", {"promptSnapshot": snapshot(HERE, messages=[MARKED, MARKED])}),
    ("agent.invalid_chat_ref", {"chatRef": {"kind": "character", "character_id": "Wren"}}),
    ("agent.presentation_invalid", {"presentation": "sideways"}),
    ("agent.auto_commit_removed", {"options": {"autoCommit": True}}),
    ("agent.validation_error", {"runId": "../run"}),
]


@pytest.mark.parametrize(("code", "change"), REFUSED, ids=[f"{at}-{row[0]}" for at, row in enumerate(REFUSED)])
async def test_a_refused_start_leaves_nothing_on_disk(stage: Stage, code: str, change: dict[str, Json]) -> None:
    before = stage.chat.read_bytes()
    async with stage.show(words.WRITE) as show:
        with pytest.raises((InvalidInput, NotFound)) as refused:
            await show.engine.start_run_with_prompt_snapshot(
                stage.request(**{"promptSnapshot": snapshot(HERE)} | change)
            )
        asked = len(show.model.requests)

    assert refused.value.error_code == code
    assert not stage.root.exists()
    assert asked == 0
    assert stage.chat.read_bytes() == before


async def test_a_chat_that_is_not_there_refuses_the_start(stage: Stage) -> None:
    stage.chat.unlink()
    async with stage.show() as show:
        with pytest.raises(TreadleError):
            await show.start()

    assert not stage.root.exists()


async def test_a_disk_that_has_no_room_for_the_input_refuses_the_start_and_the_same_start_works_later(
    stage: Stage,
) -> None:
    stage.disk.fail("replace", when="input/generation_intent.json", times=1)
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH) as show:
        with pytest.raises(StorageFailed):
            await show.start()
        with pytest.raises(NotFound):
            await show.engine.read_run(RUN)
        await show.start()
        played = await show.end()

    assert played.types[0] == "run_created"
    assert played.types[-1] == "run_completed"


async def test_a_start_returns_once_the_run_is_in_its_journal(stage: Stage) -> None:
    async with stage.show(never) as show:
        handle = await show.engine.start_run_with_prompt_snapshot(stage.request())
        first = (await show.engine.read_events(RUN))[0]

    assert handle.status is RunStatus.CREATED
    assert (handle.run_id, handle.stable_chat_id, handle.generation_type) == (RUN, "int-0001", "normal")
    assert (first.seq, first.type) == (1, "run_created")
    assert first.payload["workspaceId"] == handle.workspace_id


async def test_a_run_without_a_name_is_given_one(stage: Stage) -> None:
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH) as show:
        run_id = await show.start(runId=None)
        played = await show.end(run_id)

    assert run_id == "run_" + "1".zfill(32)
    assert played.record is not None
    assert played.record.status is RunStatus.COMPLETED


async def test_the_chat_tells_its_own_stable_id(stage: Stage) -> None:
    async with stage.show(never) as show:
        handle = await show.engine.start_run_with_prompt_snapshot(stage.request(stableChatId=None))

    assert handle.stable_chat_id == "int-0001"


async def test_the_same_start_again_is_the_same_run(stage: Stage) -> None:
    async with stage.show(never) as show:
        await show.start()
        await show.asked(1)
        handle = await show.engine.start_run_with_prompt_snapshot(stage.request())
        asked = len(show.model.requests)

    assert handle.run_id == RUN
    assert handle.status is RunStatus.CALLING_MODEL
    assert asked == 1


async def test_the_same_start_attaches_also_when_the_run_has_ended_and_the_chat_has_moved_on(stage: Stage) -> None:
    first = await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    with stage.chat.open("ab") as chat:
        chat.write(chat_bytes(QUESTION).partition(b"\n")[2])
    async with stage.show() as show:
        handle = await show.engine.start_run_with_prompt_snapshot(stage.request())
        again = await stage.played(show.engine)

    assert handle.status is RunStatus.COMPLETED
    assert again.events == first.events


async def test_another_input_under_the_same_name_is_a_conflict(stage: Stage) -> None:
    first = await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    async with stage.show() as show:
        with pytest.raises(InvalidInput) as refused:
            await show.start(generationIntent={"source": "somebody else"})
        again = await stage.played(show.engine)

    assert refused.value.error_code == "agent.run_id_conflict"
    assert again.events == first.events


async def test_starts_at_the_same_time_make_one_run(stage: Stage) -> None:
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH) as show:
        request = stage.request()
        starts = [show.engine.start_run_with_prompt_snapshot(request) for _ in range(5)]
        handles = await asyncio.gather(*starts)
        played = await show.end()

    assert {handle.run_id for handle in handles} == {RUN}
    assert played.types.count("run_created") == 1
    assert played.requests == 2


async def test_of_two_engines_that_start_a_run_at_once_the_slower_one_attaches(stage: Stage) -> None:
    """The slower one has made its checks before the run exists, and goes on when it does."""
    gate = asyncio.Event()
    slow = SlowHost(stage.host, head=gate.wait)
    async with stage.show(never) as first, stage.show(host=slow) as second:
        late = asyncio.create_task(second.engine.start_run_with_prompt_snapshot(stage.request()))
        await slow.reached.wait()
        await first.start()
        await first.asked(1)
        before = await first.engine.read_events(RUN)
        gate.set()
        handle = await late
        after = await first.engine.read_events(RUN)

    assert handle.run_id == RUN
    assert after == before


class GatedDisk(RealDisk):
    """Waits, in the middle of making a run, until it is let go on."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.gate = threading.Event()
        self._loop = asyncio.get_running_loop()

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        if path.name == "prompt_snapshot.json":
            self._loop.call_soon_threadsafe(self.reached.set)
            assert self.gate.wait(30)
        super().replace(path, data, durable=durable)


async def test_of_two_chats_that_start_a_run_of_one_name_at_once_one_gets_it(stage: Stage) -> None:
    disk = GatedDisk()
    header = {**HEADER, "chat_metadata": {"integrity": "int-0002"}}
    stage.chat.with_name("coffee.jsonl").write_bytes(chat_bytes(QUESTION, header=header))
    other = stage.request(chatRef={**CHAT_REF, "fileName": "coffee"}, stableChatId="int-0002")
    async with Engine(stage.root, stage.host, transport=Script(never), disk=disk) as slow, stage.show(never) as show:
        first = asyncio.create_task(slow.start_run_with_prompt_snapshot(stage.request()))
        await disk.reached.wait()
        second = asyncio.create_task(show.engine.start_run_with_prompt_snapshot(other))
        done, _ = await asyncio.wait({second}, timeout=0.2)
        disk.gate.set()
        handle = await first
        with pytest.raises(InvalidInput) as refused:
            await second

    assert done == set()
    assert refused.value.error_code == "agent.run_id_conflict"
    assert [path.parents[1].name for path in stage.root.glob("*/*/chats/*/runs/*")] == [handle.workspace_id]


async def test_runs_without_a_name_are_many(stage: Stage) -> None:
    async with stage.show(never, never) as show:
        handles = [await show.engine.start_run_with_prompt_snapshot(stage.request(runId=None)) for _ in range(2)]
        listed = (await show.engine.list_runs()).runs

    assert {record.id for record in listed} == {handle.run_id for handle in handles}
    assert len(listed) == 2
