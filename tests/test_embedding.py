# pyright: standard
"""The run as a graph of somebody else's: in a bigger graph, with any checkpointer or none, and with nobody to commit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from treadle import build_run_graph
from treadle.graph.drawing import arrows, retry_arrows
from treadle.graph.errors import RunBusy
from treadle.graph.events import Event
from treadle.graph.state import restore
from treadle.graph.table import Step
from treadle.testkit.replies import Reply

from .scenarios import words
from .scenarios.bare import drive, services
from .scenarios.catalogue import HAPPY_PATH
from .scenarios.hosts import never
from .scenarios.stage import RUN, Played, Stage

STEPS = (words.WRITE, words.COMMIT_AND_FINISH)
STRICT = "LANGGRAPH_STRICT_MSGPACK"
CONFIG: Any = {"configurable": {"thread_id": "evening"}, "recursion_limit": 100}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.fixture(params=["memory", "sqlite"])
async def saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[BaseCheckpointSaver[str]]:
    if request.param == "memory":
        yield InMemorySaver()
        return
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "graph.sqlite")) as sqlite:
        yield sqlite


class Parent(TypedDict, total=False):
    """A bigger graph shares what it wants of a run's state."""

    start: Any
    run_id: str
    outcome: str
    error: Any
    said: str


async def test_a_run_is_a_node_of_a_bigger_graph_under_its_checkpointer(
    stage: Stage, saver: BaseCheckpointSaver[str]
) -> None:
    graph = _parent(stage, *STEPS).compile(checkpointer=saver)
    ended = await graph.ainvoke({"start": stage.request()}, CONFIG)
    saved = [found async for found in saver.alist({"configurable": {"thread_id": "evening"}})]

    assert (ended["run_id"], ended["outcome"], ended["said"]) == (RUN, "completed", "it went completed")
    assert (await _played(stage)).types == HAPPY_PATH
    assert {_namespace(found) for found in saved} == {"", "writer"}


async def test_a_graph_of_its_own_runs_under_any_checkpointer(stage: Stage, saver: BaseCheckpointSaver[str]) -> None:
    graph = build_run_graph(services(stage, words.BUSY, *STEPS)).compile(checkpointer=saver)
    await graph.ainvoke({"start": stage.request()}, CONFIG)
    found = await graph.aget_state(CONFIG)

    state = restore({name: found.values[name] for name in found.values})
    assert (state.run_id, state.outcome, state.round, state.commit_count) == (RUN, "completed", 2, 1)
    assert state.start is None
    assert state.calls == ({"id": state.calls[0]["id"], "name": "workspace.commit"}, state.calls[1])
    assert found.next == ()


async def test_a_graph_runs_without_a_checkpointer(stage: Stage) -> None:
    state, edges = await drive(stage, *STEPS)

    assert state["outcome"] == "completed"
    assert edges[-1].step == Step.FINISH
    assert (await _played(stage)).types == HAPPY_PATH


async def test_where_nobody_commits_the_graph_waits_and_goes_on_with_the_answer(
    stage: Stage, saver: BaseCheckpointSaver[str]
) -> None:
    """Each time in a graph that is built anew, as after a restart."""
    commit = await _go(stage, saver, {"start": stage.request()}, *STEPS)
    told = (await _played(stage)).events[-1]
    note = await _go(stage, saver, Command(resume={"messageId": "1"}))
    end = await _go(stage, saver, Command(resume=True))
    played = await _played(stage)

    assert commit == {"kind": "chat_commit", **told.payload}
    assert (told.type, told.seq) == ("chat_commit_requested", 37)
    assert (note["kind"], note["messageId"], note["stateId"]) == ("persist_metadata", "1", RUN)
    assert end == {}
    assert played.types == HAPPY_PATH
    assert {event.payload["commitId"] for event in played.events if "commitId" in (event.payload or {})} == {
        commit["commitId"]
    }
    assert _one(played, "chat_commit_completed").payload["messageId"] == "1"


async def test_a_bigger_graph_waits_too(stage: Stage) -> None:
    graph = _parent(stage, *STEPS, hosted=False).compile(checkpointer=InMemorySaver())
    asked = [(await graph.ainvoke(given, CONFIG))["__interrupt__"][0].value["kind"] for given in _answers(stage)[:2]]
    ended = await graph.ainvoke(_answers(stage)[2], CONFIG)

    assert asked == ["chat_commit", "persist_metadata"]
    assert ended["outcome"] == "completed"
    assert (await _played(stage)).types == HAPPY_PATH


async def test_an_answer_may_be_a_refusal(stage: Stage) -> None:
    saver = InMemorySaver()
    await _go(stage, saver, {"start": stage.request()}, *STEPS)
    await _go(stage, saver, Command(resume={"error": "the chat is locked"}))
    played = await _played(stage)

    assert _one(played, "chat_commit_failed").payload["message"] == "the chat is locked"
    assert played.events[-1].payload["code"] == "agent.chat_commit_failed"


async def test_an_answer_that_is_none_ends_the_run_and_says_what_an_answer_is(stage: Stage) -> None:
    saver = InMemorySaver()
    await _go(stage, saver, {"start": stage.request()}, *STEPS)
    await _go(stage, saver, Command(resume="1"))
    played = await _played(stage)

    assert played.events[-1].type == "run_failed"
    assert "{messageId}" in played.events[-1].payload["message"]


async def test_a_run_that_waits_in_a_graph_holds_no_lease(stage: Stage) -> None:
    """So an engine may cancel it at once."""
    await _go(stage, InMemorySaver(), {"start": stage.request()}, *STEPS)
    async with stage.show() as show:
        handle = await show.engine.cancel(RUN)

    assert handle.status == "cancelled"
    assert (await _played(stage)).types[-1] == "run_cancelled"


@pytest.mark.parametrize("by", ["run_id", "start"])
async def test_a_run_that_ended_is_driven_again_and_nothing_changes(stage: Stage, by: str) -> None:
    before = await stage.play(*STEPS)
    given = {"run_id": RUN} if by == "run_id" else {"start": stage.request()}
    graph = build_run_graph(services(stage)).compile()
    ended = await graph.ainvoke(given, {"recursion_limit": 100})
    after = await _played(stage)

    assert ended["outcome"] == "completed"
    assert (after.events, after.chat, after.files) == (before.events, before.chat, before.files)


async def test_a_run_that_an_engine_left_goes_on_in_a_graph(stage: Stage) -> None:
    async with stage.show(words.WRITE, never) as show:
        await show.start()
        await show.asked(2)
    graph = build_run_graph(services(stage, words.COMMIT_AND_FINISH)).compile()
    ended = await graph.ainvoke({"run_id": RUN}, {"recursion_limit": 100})

    assert ended["outcome"] == "completed"
    assert [kind for kind in (await _played(stage)).types if kind != "status_changed"] == [
        kind for kind in HAPPY_PATH if kind != "status_changed"
    ]


async def test_a_run_that_an_engine_drives_is_refused_to_a_graph(stage: Stage) -> None:
    graph = build_run_graph(services(stage)).compile()
    async with stage.show(never) as show:
        await show.start()
        await show.asked(1)
        with pytest.raises(RunBusy):
            await graph.ainvoke({"run_id": RUN})


async def test_a_start_that_is_refused_ends_failed_with_its_reason_and_nothing_on_disk(stage: Stage) -> None:
    state, edges = await drive(stage, promptSnapshot={"chatCompletionPayload": {"messages": []}})

    assert [(edge.step, edge.outcome, edge.next) for edge in edges] == [
        ("resolve_profile", "refused", "finish"),
        ("finish", "failed", "__end__"),
    ]
    assert state["error"]["code"] == "agent.context_policy_required"
    assert state.get("run_id", "") == ""
    assert not stage.root.exists()


def test_the_drawing_tells_what_the_table_tells(stage: Stage) -> None:
    drawn = build_run_graph(services(stage)).compile().get_graph()
    told = {(edge.source, edge.target, edge.data) for edge in drawn.edges if edge.source != START}

    assert told == {(arrow.step, arrow.next, arrow.label) for arrow in arrows()}


def test_the_drawing_can_look_into_the_retry(stage: Stage) -> None:
    drawn = build_run_graph(services(stage)).compile().get_graph(xray=True)
    inside = {
        (edge.source.replace(":", "/"), edge.data)
        for edge in drawn.edges
        if edge.source.startswith("retry_model:") and edge.target.startswith("retry_model:")
    }

    assert {"retry_model:backoff", "retry_model:attempt"} <= set(drawn.nodes)
    assert {(arrow.step, arrow.label) for arrow in retry_arrows() if "__end__" not in arrow.next} <= inside


@pytest.mark.skipif(
    os.environ.get(STRICT) == "true", reason="all of this session is as strict as the test's own would be"
)
@pytest.mark.slow
def test_the_state_is_read_back_where_only_plain_values_are_allowed() -> None:
    """A run above once more, where LangGraph refuses to revive any class that it does not know."""
    strict = {**os.environ, STRICT: "true"}
    chosen = "memory and goes_on_with_the_answer"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", chosen]
    done = subprocess.run(
        command, env=strict, cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def _parent(stage: Stage, *steps: Reply, hosted: bool = True) -> StateGraph[Any, Any, Any, Any]:
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(Parent)
    builder.add_node("writer", build_run_graph(services(stage, *steps, hosted=hosted)).compile())
    builder.add_node("reporter", _report)
    builder.add_edge(START, "writer")
    builder.add_edge("writer", "reporter")
    builder.add_edge("reporter", END)
    return builder


def _report(state: Parent) -> Parent:
    return {"said": f"it went {state.get('outcome')}"}


def _namespace(found: CheckpointTuple) -> str:
    """The node that a checkpoint is of."""
    namespace: str = found.config.get("configurable", {})["checkpoint_ns"]
    return namespace.partition(":")[0]


def _answers(stage: Stage) -> list[Any]:
    return [{"start": stage.request()}, Command(resume={"messageId": "1"}), Command(resume=True)]


async def _go(stage: Stage, saver: BaseCheckpointSaver[str], given: Any, *steps: Reply) -> dict[str, Any]:
    """Drive a hostless graph until it waits; what it asks for then, or nothing at its end."""
    graph = build_run_graph(services(stage, *steps, hosted=False)).compile(checkpointer=saver)
    state = await graph.ainvoke(given, CONFIG)
    return state["__interrupt__"][0].value if "__interrupt__" in state else {}


async def _played(stage: Stage) -> Played:
    async with stage.engine() as engine:
        return await stage.played(engine)


def _one(played: Played, event_type: str) -> Event:
    (found,) = [event for event in played.events if event.type == event_type]
    return found
