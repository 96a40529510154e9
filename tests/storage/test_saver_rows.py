# pyright: standard
"""What the graph's saver writes: when, how small, how exact, and what it must not."""

from __future__ import annotations

import json
import math
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Interrupt, Send

from treadle.graph.state import RunState, Update
from treadle.graph.table import Outcome
from treadle.storage.saver import ExactSerializer, RunFolderSaver, StateNotExact

from .graphs import RUN, Folders, loop, thread


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Folders]:
    folders = Folders(tmp_path)
    yield folders
    folders.close()


def _extended(words: list[str] | None, more: Sequence[list[str]]) -> list[str]:
    return [*(words or ()), *(word for each in more for word in each)]


class _Often(TypedDict):
    words: Annotated[list[str], DeltaChannel(_extended, snapshot_frequency=3)]


class _Seldom(TypedDict):
    words: Annotated[list[str], DeltaChannel(_extended, snapshot_frequency=1000)]


class TestWrites:
    async def test_of_two_writes_in_one_place_the_first_stays_but_an_interrupt_takes_the_last(
        self, folders: Folders
    ) -> None:
        saver = RunFolderSaver(folders.locate)
        config = await _put(saver, thread())
        for value in ("first", "second"):
            await saver.aput_writes(config, [("round", value)], "task")
            await saver.aput_writes(config, [("__interrupt__", value)], "task")

        found = await RunFolderSaver(folders.locate).aget_tuple(config)

        assert found is not None
        assert found.pending_writes == [("task", "__interrupt__", "second"), ("task", "round", "first")]

    async def test_the_newest_is_the_one_saved_last_whatever_the_clock_made_of_its_id(self, folders: Folders) -> None:
        """Ids are made of the time of day; a process that goes on may find that set back."""
        saver = RunFolderSaver(folders.locate)
        config = thread()
        for name in ("2", "1"):
            checkpoint = empty_checkpoint()
            checkpoint["id"] = name
            config = await saver.aput(config, checkpoint, {}, {})

        found = await RunFolderSaver(folders.locate).aget_tuple(thread())

        assert found is not None
        assert found.checkpoint["id"] == "1"

    async def test_a_lone_tasks_writes_are_stored_with_the_checkpoint_they_lead_to(self, folders: Folders) -> None:
        saver = RunFolderSaver(folders.locate)
        config = await _put(saver, thread())
        await saver.aput_writes(config, [("round", 1)], "task")
        before = await RunFolderSaver(folders.locate).aget_tuple(config)
        await _put(saver, config)
        after = await RunFolderSaver(folders.locate).aget_tuple(config)

        assert before is not None
        assert after is not None
        assert (before.pending_writes, after.pending_writes) == ([], [("task", "round", 1)])

    async def test_writes_are_kept_when_the_next_checkpoint_comes_from_elsewhere(self, folders: Folders) -> None:
        saver = RunFolderSaver(folders.locate)
        root = await _put(saver, thread())
        config = await _put(saver, root)
        await saver.aput_writes(config, [("round", 1)], "task")
        await _put(saver, root)

        found = await RunFolderSaver(folders.locate).aget_tuple(config)

        assert found is not None
        assert found.pending_writes == [("task", "round", 1)]

    @pytest.mark.parametrize("schema", [_Often, _Seldom])
    @pytest.mark.filterwarnings("ignore")
    async def test_a_delta_channel_is_rebuilt_and_pruning_leaves_what_it_needs(
        self, folders: Folders, schema: Any
    ) -> None:
        def say(state: dict[str, Any]) -> Command[Literal["say", "__end__"]]:
            count = len(state["words"])
            goto: Any = "say" if count < 7 else END
            return Command(goto=goto, update={"words": [str(count)]})

        builder: Any = StateGraph(schema)
        builder.add_node("say", say)
        builder.add_edge(START, "say")
        saver = RunFolderSaver(folders.locate)
        await builder.compile(checkpointer=saver).ainvoke({"words": ["zero"]}, thread())

        await saver.aprune([RUN])
        found = await builder.compile(checkpointer=RunFolderSaver(folders.locate)).aget_state(thread())

        assert found.values["words"] == ["zero", *map(str, range(1, 8))]


class TestRows:
    async def test_a_round_takes_less_than_4_kb_and_no_more_when_the_run_is_long(self, folders: Folders) -> None:
        sizes: dict[int, int] = {}
        for rounds in (20, 60, 260):
            run = f"run_{rounds:016d}"
            await loop(RunFolderSaver(folders.locate), rounds).ainvoke({"run_id": run}, thread(run))
            database = folders.locate(run)
            database.close()
            sizes[rounds] = database.path.stat().st_size

        early = (sizes[60] - sizes[20]) / 40
        late = (sizes[260] - sizes[60]) / 200
        assert late < 4096
        assert late < 1.2 * early

    async def test_versions_are_plain_integers(self, folders: Folders) -> None:
        saver = RunFolderSaver(folders.locate)
        await loop(saver, 1).ainvoke({"run_id": RUN}, thread())

        found = await saver.aget_tuple(thread())

        assert found is not None
        assert {type(version) for version in found.checkpoint["channel_versions"].values()} == {int}

    async def test_the_callers_config_and_metadata_are_not_stored(self, folders: Folders) -> None:
        config = thread(api_key="sk-secret")
        config["metadata"] = {"token": "sk-secret"}
        await loop(RunFolderSaver(folders.locate), 2).ainvoke({"run_id": RUN}, config)

        database = folders.locate(RUN)
        bodies = [zlib.decompress(body) for (body,) in database.rows("SELECT body FROM checkpoints")]
        bodies += [body for (body,) in database.rows("SELECT body FROM writes")]
        database.close()

        assert bodies
        assert not [body for body in bodies if b"sk-secret" in body or b"api_key" in body]
        assert b"sk-secret" not in database.path.read_bytes()


_TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=5)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)


class TestExactness:
    @given(_VALUES)
    def test_any_json_value_comes_back_equal_or_is_refused(self, value: Any) -> None:
        serializer = ExactSerializer()
        try:
            packed = serializer.dumps_typed(value)
        except StateNotExact:
            assert _is_beyond(value)
            return

        found = serializer.loads_typed(packed)

        assert json.dumps(found) == json.dumps(value)

    @pytest.mark.parametrize("value", ["\ud83d", 2**64, -(2**63) - 1, {"\udc80": 1}])
    @pytest.mark.parametrize(
        "wrap",
        [
            lambda v: v,
            lambda v: {"deep": [v]},
            lambda v: (Interrupt(v, id="i"),),
            lambda v: [Send("node", {"x": v})],
            lambda v: deque([v]),
            lambda v: Update(Outcome.BROKEN, {"error": v}),
        ],
        ids=["plain", "deep", "interrupt", "send", "deque", "record"],
    )
    def test_what_would_change_in_silence_is_refused(self, value: Any, wrap: Any) -> None:
        with pytest.raises(StateNotExact):
            ExactSerializer().dumps_typed(wrap(value))

    @pytest.mark.parametrize("value", ["a\x00b", 2**64 - 1, -(2**63), "😀", ""])
    def test_what_can_be_kept_is_kept(self, value: Any) -> None:
        serializer = ExactSerializer()

        assert serializer.loads_typed(serializer.dumps_typed({"x": value})) == {"x": value}

    def test_a_negative_zero_keeps_its_sign(self) -> None:
        serializer = ExactSerializer()

        assert math.copysign(1, serializer.loads_typed(serializer.dumps_typed([-0.0]))[0]) == -1

    def test_an_interrupt_and_a_send_come_back_as_themselves(self) -> None:
        serializer = ExactSerializer()
        values = [Interrupt({"kind": "approval"}, id="i"), Send("node", {"x": 1})]

        assert serializer.loads_typed(serializer.dumps_typed(values)) == values

    async def test_a_run_whose_state_cannot_be_kept_fails_loudly(self, folders: Folders) -> None:
        async def broken(state: RunState) -> dict[str, Any]:
            return {"error": {"message": "cut \ud83d"}}

        builder: Any = StateGraph(RunState)
        builder.add_node("broken", broken)
        builder.add_edge(START, "broken")
        graph = builder.compile(checkpointer=RunFolderSaver(folders.locate))

        with pytest.raises(StateNotExact):
            await graph.ainvoke({"run_id": RUN}, thread())


async def _put(saver: RunFolderSaver, parent: RunnableConfig) -> RunnableConfig:
    config: RunnableConfig = {"configurable": {"checkpoint_ns": "", **parent.get("configurable", {})}}
    return await saver.aput(config, empty_checkpoint(), {"source": "loop", "step": 1, "parents": {}}, {})


def _is_beyond(value: Any) -> bool:
    """Whether the value holds a lone surrogate or an integer that MessagePack has no room for."""
    if isinstance(value, dict):
        return any(_is_beyond(part) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return any(_is_beyond(part) for part in value)
    if isinstance(value, str):
        return any("\ud800" <= character <= "\udfff" for character in value)
    return isinstance(value, int) and not -(2**63) <= value < 2**64
