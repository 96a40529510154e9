# pyright: standard
"""The graph's saver: LangGraph's own suite, and what a crash, an interrupt or a lost lease leaves of a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from treadle.graph.errors import InvalidInput, LeaseLost, StorageFailed
from treadle.graph.state import RunState, restore
from treadle.storage.database import RunDatabase
from treadle.storage.saver import RunFolderSaver

from .doubles import StillClock
from .graphs import RUN, Folders, Graph, approval, loop, thread


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Folders]:
    folders = Folders(tmp_path)
    yield folders
    folders.close()


class TestConformance:
    async def test_one_file_for_all_threads_has_every_capability(self, tmp_path: Path) -> None:
        @checkpointer_test(name="in_one_file")
        async def factory() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
            database = RunDatabase(tmp_path / "all.sqlite", clock=StillClock())
            yield RunFolderSaver.in_one_file(database)
            database.close()

        report = await validate(factory)

        failures = {name: result.failures for name, result in report.results.items() if result.passed is not True}
        assert failures == {}
        assert set(report.results) == {capability.value for capability in ALL_CAPABILITIES}

    async def test_a_file_for_each_thread_has_every_capability_but_runs_that_are_not_threads(
        self, folders: Folders
    ) -> None:
        @checkpointer_test(name="in_folders", skip_capabilities={"delete_for_runs"})
        async def factory() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
            yield RunFolderSaver(folders.locate)
            folders.close()

        report = await validate(factory)

        failures = {name: result.failures for name, result in report.results.items() if result.passed is False}
        assert failures == {}
        assert sum(result.passed is True for result in report.results.values()) == len(ALL_CAPABILITIES) - 1

    async def test_a_run_is_a_thread_when_runs_are_deleted(self, folders: Folders) -> None:
        saver = RunFolderSaver(folders.locate)
        for run in ("run_a", "run_b"):
            await loop(saver, 1).ainvoke({"run_id": run}, thread(run))

        await saver.adelete_for_runs(["run_a"])

        assert await saver.aget_tuple(thread("run_a")) is None
        assert await saver.aget_tuple(thread("run_b")) is not None

    def test_without_a_thread_only_one_file_can_be_listed(self, folders: Folders) -> None:
        with pytest.raises(InvalidInput):
            list(RunFolderSaver(folders.locate).list(None))

        assert list(RunFolderSaver.in_one_file(folders.locate("all")).list(None)) == []

    def test_an_unknown_way_to_prune_is_refused(self, folders: Folders) -> None:
        with pytest.raises(InvalidInput, match="keep_all"):
            RunFolderSaver(folders.locate).prune([RUN], strategy="keep_all")


class TestRuns:
    async def test_the_state_comes_back_as_it_was(self, folders: Folders) -> None:
        graph = loop(RunFolderSaver(folders.locate), 3)
        await graph.ainvoke({"run_id": RUN}, thread())

        found = await loop(RunFolderSaver(folders.locate), 3).aget_state(thread())

        state = restore(found.values)
        assert (state.run_id, state.round, state.outcome, state.checkpoint_count) == (RUN, 3, "next_round", 3)
        assert state.calls == ({"id": "call_000000000000000000000003", "name": "workspace.write_file"},)
        assert found.next == ()

    async def test_history_shows_what_each_step_wrote(self, folders: Folders) -> None:
        graph = loop(RunFolderSaver(folders.locate), 2)
        await graph.ainvoke({"run_id": RUN}, thread())

        history = [step async for step in graph.aget_state_history(thread())]
        again = [step async for step in loop(RunFolderSaver(folders.locate), 2).aget_state_history(thread())]

        assert [step.next for step in reversed(history)] == [
            ("__start__",),
            *[("call",), ("dispatch",), ("dispatch",)] * 2,
            (),
        ]
        results = [task.result for step in history for task in step.tasks]
        assert all(results)
        assert [task.result for step in again for task in step.tasks] == results

    async def test_a_run_that_stopped_goes_on_from_its_last_checkpoint(self, folders: Folders) -> None:
        ran: list[str] = []
        with pytest.raises(GraphRecursionError):
            await loop(RunFolderSaver(folders.locate), 3, ran).ainvoke(
                {"run_id": RUN}, {**thread(), "recursion_limit": 4}
            )
        folders.close()

        end = await loop(RunFolderSaver(folders.locate), 3, ran).ainvoke(None, thread())

        assert end["round"] == 3
        assert ran == ["call", "dispatch", "dispatch"] * 3

    async def test_an_interrupt_is_answered_in_another_process(self, folders: Folders) -> None:
        asked = await approval(RunFolderSaver(folders.locate), {"kind": "approval"}).ainvoke({"run_id": RUN}, thread())
        folders.close()

        answered = approval(RunFolderSaver(folders.locate), {"kind": "approval"})
        waiting = await answered.aget_state(thread())
        end = await answered.ainvoke(Command(resume="approved"), thread())

        assert [each.value for each in asked["__interrupt__"]] == [{"kind": "approval"}]
        assert [each.value for each in waiting.interrupts] == [{"kind": "approval"}]
        assert end["outcome"] == "approved"

    @pytest.mark.parametrize("failing_first", [True, False])
    async def test_a_finished_sibling_of_a_failed_task_does_not_run_again(
        self, folders: Folders, failing_first: bool
    ) -> None:
        ran: list[str] = []
        healthy = asyncio.Event()

        async def good(state: RunState) -> dict[str, Any]:
            ran.append("good")
            await asyncio.sleep(0.02 if failing_first and healthy.is_set() else 0)
            return {"round": 7}

        async def bad(state: RunState) -> dict[str, Any]:
            ran.append("bad")
            await asyncio.sleep(0.02)
            if not healthy.is_set():
                raise OSError("down")
            return {"outcome": "up"}

        def graph() -> Graph:
            builder = StateGraph(RunState)
            for name, node in [("bad", bad), ("good", good)] if failing_first else [("good", good), ("bad", bad)]:
                builder.add_node(name, node)
                builder.add_edge(START, name)
            return builder.compile(checkpointer=RunFolderSaver(folders.locate))

        with pytest.raises(OSError, match="down"):
            await graph().ainvoke({"run_id": RUN}, thread())
        folders.close()
        healthy.set()
        end = await graph().ainvoke(None, thread())

        assert (end["round"], end["outcome"]) == (7, "up")
        assert sorted(ran) == ["bad", "bad", "good"]

    async def test_guarded_changes_in_threads_and_checkpoints_on_the_loop_share_the_file(
        self, folders: Folders
    ) -> None:
        database = folders.locate(RUN)
        epoch = database.acquire("me")

        def change(name: str) -> None:
            for i in range(100):
                with database.guarded(epoch):
                    database.put_receipt(f"{name}:{i}", "done")

        run = loop(RunFolderSaver(folders.locate), 20).ainvoke({"run_id": RUN}, thread())
        end, *_ = await asyncio.gather(run, *(asyncio.to_thread(change, name) for name in "abc"))

        assert end["round"] == 20
        assert len(database.rows("SELECT key FROM receipts")) == 300
        assert len(database.rows("SELECT id FROM checkpoints")) == 62

    async def test_an_overtaken_driver_saves_nothing_more(self, folders: Folders, tmp_path: Path) -> None:
        folders.locate(RUN).acquire("a")
        saver = RunFolderSaver(folders.locate)
        await loop(saver, 1).ainvoke({"run_id": RUN}, thread())
        before = await saver.aget_tuple(thread())
        folders.clock.seconds += 31
        taker = RunDatabase(folders.locate(RUN).path, clock=folders.clock)
        taker.acquire("b")

        with pytest.raises(LeaseLost):
            await loop(saver, 2).ainvoke({"run_id": RUN}, thread())

        assert await saver.aget_tuple(thread()) == before
        taker.close()

    async def test_a_checkpoint_is_refused_inside_a_guarded_change(self, folders: Folders) -> None:
        epoch = folders.locate(RUN).acquire("a")

        with folders.locate(RUN).guarded(epoch), pytest.raises(StorageFailed, match="guarded"):
            await loop(RunFolderSaver(folders.locate), 1).ainvoke({"run_id": RUN}, thread())

    async def test_a_copied_thread_goes_on_by_itself(self, folders: Folders) -> None:
        saver = RunFolderSaver(folders.locate)
        await approval(saver, "which?").ainvoke({"run_id": RUN}, thread())

        await saver.acopy_thread(RUN, "run_copy")
        end = await approval(saver, "which?").ainvoke(Command(resume="this"), thread("run_copy"))

        assert end["outcome"] == "this"
        assert (await approval(saver, "which?").aget_state(thread())).next == ("ask",)
