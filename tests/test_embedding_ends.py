# pyright: standard
"""A graph and the ends of runs: one that ended is only reported, one that was refused left nothing, and none is held."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from treadle import build_run_graph
from treadle.engine.services import Services
from treadle.graph.errors import HostFailed, InvalidData, InvalidInput, PermissionDenied, StorageFailed, TreadleError
from treadle.graph.events import TERMINAL_EVENTS
from treadle.graph.state import restore
from treadle.graph.table import Edge, Outcome, Step
from treadle.testkit.replies import Reply

from .scenarios import words
from .scenarios.bare import drive, services
from .scenarios.catalogue import HAPPY_PATH
from .scenarios.hosts import SlowHost, never
from .scenarios.script import Script
from .scenarios.script import Step as Answer
from .scenarios.stage import FORK, RUN, Played, Stage

STEPS = (words.WRITE, words.COMMIT_AND_FINISH)
CONFIG: Any = {"configurable": {"thread_id": "evening"}, "recursion_limit": 100}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


async def test_a_fork_that_has_not_ended_is_left_to_the_engine(stage: Stage) -> None:
    """A walk from the first step would come by its origin's commit, and make it again."""
    await stage.play(words.WRITE, words.COMMIT, words.FINISH)
    async with stage.show(never) as show:
        await show.fork(checkpoint_id="cp_000002")
        await show.asked(1)

    with pytest.raises(InvalidInput, match=r"fork_1 is a fork.*engine\.resume_run"):
        await build_run_graph(services(stage, *STEPS)).compile().ainvoke({"run_id": FORK})

    async with stage.show(words.COMMIT_AND_FINISH) as show:  # it was let go
        await show.resume(FORK)
        assert (await show.end(FORK)).types[-1] == "run_completed"


ENDS: list[tuple[str, tuple[Answer, ...]]] = [
    ("completed", STEPS),
    ("failed", (words.NO_SUCH_MODEL,)),
    ("partial_success", (words.WRITE, words.COMMIT, words.NO_SUCH_MODEL)),
]


@pytest.mark.parametrize(("outcome", "steps"), ENDS, ids=[outcome for outcome, _ in ENDS])
@pytest.mark.parametrize("by", ["run_id", "start"])
async def test_a_run_that_ended_is_reported_and_the_model_is_not_asked(
    stage: Stage, by: str, outcome: str, steps: tuple[Answer, ...]
) -> None:
    before = await stage.play(*steps)
    ports = services(stage, *STEPS)
    given = {"run_id": RUN} if by == "run_id" else {"start": stage.request()}
    ended = await build_run_graph(ports).compile().ainvoke(given)
    after = await _played(stage)

    assert ended["outcome"] == outcome
    assert _asked(ports) == 0
    assert after.events == before.events


async def test_a_run_that_was_cancelled_is_reported_too(stage: Stage) -> None:
    async with stage.show(words.WRITE) as show:
        stage.wires.at_event("workspace_initialized", show.cancel_now)
        await show.start()
        before = await show.end()
    ended = await build_run_graph(services(stage, *STEPS)).compile().ainvoke({"run_id": RUN})

    assert ended["outcome"] == "cancelled"
    assert (await _played(stage)).events == before.events


async def test_an_end_that_the_journal_does_not_take_becomes_a_failure(stage: Stage) -> None:
    stage.disk.fail("append", containing=b'"run_completed"', times=1)
    state, edges = await drive(stage, words.WRITE, words.FINISH, presentation="background")
    played = await _played(stage)

    assert state["error"]["code"] == "journal.append_failed"
    assert edges[-1] == Edge(Step.FINISH, Outcome.FAILED, Step.END)
    assert [kind for kind in played.types if kind in TERMINAL_EVENTS] == ["run_failed"]


async def test_a_second_run_on_the_same_thread_starts_fresh(stage: Stage) -> None:
    """Nothing of the first one's rounds, commits and error is left in the state."""
    saver = InMemorySaver()
    first = await _go(stage, saver, {"start": stage.request()}, words.WRITE, words.COMMIT, words.NO_SUCH_MODEL)
    second = await _go(stage, saver, {"start": stage.request(runId="run_2")}, *STEPS)
    played = await _played(stage, "run_2")

    assert (first["outcome"], first["calls_made"], first["commit_count"]) == ("partial_success", 2, 1)
    state = restore({name: second[name] for name in second})
    assert (state.run_id, state.outcome, state.round, state.commit_count) == ("run_2", "completed", 2, 1)
    assert (state.calls_made, state.checkpoint_count, state.error) == (3, 2, None)
    assert played.types == HAPPY_PATH


async def test_a_run_that_is_named_on_the_same_thread_starts_fresh_too(stage: Stage) -> None:
    """It was left by an engine, and the thread has another one behind it."""
    saver = InMemorySaver()
    background = {"presentation": "background"}
    await _go(stage, saver, {"start": stage.request()}, words.WRITE, words.COMMIT, words.NO_SUCH_MODEL)
    async with stage.show(never) as show:
        await show.start(runId="run_2", **background)
        await show.asked(1)
    second = await _go(stage, saver, {"run_id": "run_2"}, words.LIST, words.FINISH)

    assert (second["run_id"], second["outcome"], second["round"]) == ("run_2", "completed", 2)
    assert (second["commit_count"], second["last_commit"], second["error"]) == (0, None, None)


async def test_a_start_that_is_refused_on_the_same_thread_does_not_speak_for_the_first_run(stage: Stage) -> None:
    saver = InMemorySaver()
    await _go(stage, saver, {"start": stage.request()}, *STEPS)
    refused = await _go(stage, saver, {"start": stage.request(runId="run_2", profileId="nobody")})

    assert (refused["outcome"], refused["run_id"], refused["round"]) == ("failed", "", 0)
    assert refused["error"]["code"] == "agent.profile_not_found"


@pytest.mark.parametrize("error", [HostFailed, StorageFailed, InvalidData, PermissionDenied])
async def test_whatever_a_chat_raises_at_the_start_refuses_it_and_nothing_is_on_disk(
    stage: Stage, error: type[TreadleError]
) -> None:
    async def raised() -> None:
        raise error

    ports = replace(services(stage), host=SlowHost(stage.host, head=raised))
    ended = await build_run_graph(ports).compile().ainvoke({"start": stage.request()})

    assert (ended["outcome"], ended["run_id"], ended["start"]) == ("failed", "", None)
    assert ended["error"]["code"] == error.code
    assert not stage.root.exists()


async def test_a_fault_in_somebodys_code_leaves_the_run_to_whoever_goes_on_with_it(stage: Stage) -> None:
    """The graph raises it; an engine need not wait for a lease to run out."""

    async def fault() -> Reply:
        raise ZeroDivisionError("a fault")

    with pytest.raises(ZeroDivisionError):
        await build_run_graph(services(stage, words.WRITE, fault)).compile().ainvoke({"start": stage.request()})
    async with stage.show(words.COMMIT_AND_FINISH) as show:
        await show.resume()
        played = await show.end()

    assert played.types[-1] == "run_completed"


async def _go(stage: Stage, saver: InMemorySaver, given: dict[str, Any], *steps: Answer) -> dict[str, Any]:
    """Drive the graph to its end on the one thread; its last state."""
    graph = build_run_graph(services(stage, *steps)).compile(checkpointer=saver)
    ended: dict[str, Any] = await graph.ainvoke(given, CONFIG)
    return ended


def _asked(ports: Services) -> int:
    """How many requests the model got."""
    assert isinstance(ports.transport, Script)
    return len(ports.transport.requests)


async def _played(stage: Stage, run_id: str = RUN) -> Played:
    async with stage.engine() as engine:
        return await stage.played(engine, run_id)
