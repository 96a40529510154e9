# pyright: standard
"""A call that waits for a person interrupts the graph; each time the graph goes on, it is built anew, as after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from syrupy.assertion import SnapshotAssertion

from treadle import build_run_graph
from treadle.graph.identity import call_file_stem
from treadle.testkit.replies import Reply, calls

from .scenarios.bare import services
from .scenarios.flow import flow
from .scenarios.people import CODA, END, WRITE, WRITES, asking
from .scenarios.stage import RUN, Played, Stage

CONFIG: Any = {"configurable": {"thread_id": "evening"}, "recursion_limit": 100}
QUESTION = {
    "kind": "approval",
    "runId": RUN,
    "round": 1,
    "callId": "write",
    "name": "workspace.write_file",
    "argumentsRef": f"tool-args/{call_file_stem('write')}.json",
}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.fixture
def saver() -> InMemorySaver:
    return InMemorySaver()


async def test_the_graph_waits_for_a_person_and_goes_on_with_the_answer(
    stage: Stage, saver: InMemorySaver, snapshot: SnapshotAssertion
) -> None:
    changed = {"path": "output/main.md", "content": "It is the postman."}
    answers = [
        {"approved": True, "reason": "shorter", "editedArguments": changed},
        {"approved": False, "reason": "no coda"},
    ]
    first = await _go(stage, saver, _start(stage), calls(WRITE, CODA))
    second = await _go(stage, saver, Command(resume=answers[0]))
    end = await _go(stage, saver, Command(resume=answers[1]), END)

    assert first == QUESTION
    assert (second["round"], second["callId"]) == (1, "coda")
    assert end == {}
    assert flow(await _played(stage)) == snapshot


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (True, "the answer is an object"),
        ("yes", "the answer is an object"),
        ({"approved": "yes"}, "approved must be true or false"),
        ({"reason": "x"}, "approved must be true or false"),
        ({"approved": False, "editedArguments": {}}, "editedArguments goes only with approved: true"),
        ({"approved": True, "editedArguments": [1]}, "editedArguments must be an object"),
        ({"approved": True, "edited_arguments": {}}, "edited_arguments is not known"),
    ],
)
async def test_an_answer_that_can_not_be_taken_is_asked_for_again_with_what_was_wrong(
    stage: Stage, saver: InMemorySaver, answer: Any, fault: str
) -> None:
    await _go(stage, saver, _start(stage), calls(WRITE))
    before = await _played(stage)
    again = await _go(stage, saver, Command(resume=answer))
    after = await _played(stage)
    end = await _go(stage, saver, Command(resume={"approved": True}), END)
    played = await _played(stage)

    error = again.pop("error")
    assert error["code"] == "agent.tool_approval_resolve_invalid"
    assert fault in error["message"]
    assert again == QUESTION
    assert after.events == before.events
    assert end == {}
    assert [kind for kind in played.types if "approv" in kind] == [
        "tool_call_awaiting_approval", "tool_call_approved",
    ]  # fmt: skip
    assert played.types[-1] == "run_completed"


async def test_a_run_that_waits_for_a_person_can_be_cancelled_by_an_engine(stage: Stage, saver: InMemorySaver) -> None:
    await _go(stage, saver, _start(stage), calls(WRITE))
    async with stage.engine() as engine:
        pending = [call.call_id for call in await engine.pending_approvals(RUN)]
        handle = await engine.cancel(RUN)
    end = await _go(stage, saver, Command(resume={"approved": True}))

    assert pending == ["write"]
    assert handle.status == "cancelled"
    assert end == {}
    assert (await _played(stage)).types[-1] == "run_cancelled"


async def test_a_run_that_waits_for_a_person_in_a_graph_goes_on_in_an_engine(
    stage: Stage, saver: InMemorySaver
) -> None:
    await _go(stage, saver, _start(stage), calls(WRITE))
    async with stage.show(END) as show:
        await show.resume()
        await show.until("run_resumed")
        await show.engine.approve_tool_call(RUN, "write", approved=True)
        played = await show.end()

    assert played.types.count("tool_call_awaiting_approval") == 1
    assert played.types[-1] == "run_completed"


def _start(stage: Stage) -> dict[str, Any]:
    return {"start": stage.request(profile=asking(list(WRITES)))}


async def _go(stage: Stage, saver: InMemorySaver, given: Any, *steps: Reply) -> dict[str, Any]:
    """Drive the graph until it waits; what it asks for then, or nothing at its end."""
    graph = build_run_graph(services(stage, *steps)).compile(checkpointer=saver)
    state = await graph.ainvoke(given, CONFIG)
    return state["__interrupt__"][0].value if "__interrupt__" in state else {}


async def _played(stage: Stage) -> Played:
    async with stage.engine() as engine:
        return await stage.played(engine)
