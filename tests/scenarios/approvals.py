"""Runs in which a person is asked before a call runs."""

from __future__ import annotations

from treadle.graph.jsontext import Json
from treadle.testkit.replies import Call, calls

from . import words
from .people import CODA, COMMIT, END, FINISH, WRITE, begin, decide
from .stage import RUN, Played, Stage

CHANGED: dict[str, Json] = {"path": "output/main.md", "content": "It is the postman."}


async def approved(stage: Stage) -> Played:
    return await decide(stage, [calls(WRITE), END], ("write", True, "go on", None))


async def denied(stage: Stage) -> Played:
    """The model is told why, and writes something else."""
    steps = [calls(WRITE), calls(CODA), calls(Call("workspace.commit", {"path": "output/coda.md"}, id="c"), FINISH)]
    return await decide(stage, steps, ("write", False, "too wet", None), ("coda", True, None, None))


async def edited(stage: Stage) -> Played:
    return await decide(stage, [calls(WRITE), END], ("write", True, None, CHANGED))


async def two_in_one_answer(stage: Stage) -> Played:
    """One after the other, each by its id."""
    return await decide(stage, [calls(WRITE, CODA), END], ("write", True, None, None), ("coda", False, "no coda", None))


async def all_that_change_something(stage: Stage) -> Played:
    """`mutating` asks for a commit too; finishing changes nothing."""
    async with stage.show(calls(WRITE), calls(COMMIT, FINISH)) as show:
        await begin(show, "mutating")
        await show.engine.approve_tool_call(RUN, "write", approved=True)
        await show.until("tool_call_awaiting_approval", nth=2)
        await show.engine.approve_tool_call(
            RUN, "commit", approved=True, edited_arguments={"path": "output/main.md", "reason": "a person's"}
        )
        return await show.end()


async def a_read_is_asked_about(stage: Stage) -> Played:
    """A tool that only reads, named by the profile: one call is allowed, one is not."""
    read = {"path": "output/main.md"}
    reads = calls(Call("workspace.read_file", read, id="read-1"), Call("workspace.read_file", read, id="read-2"))
    async with stage.show(words.WRITE, reads, END) as show:
        await begin(show, ["workspace.read_file"])
        await show.engine.approve_tool_call(RUN, "read-1", approved=False)
        await show.until("tool_call_awaiting_approval", nth=2)
        await show.engine.approve_tool_call(RUN, "read-2", approved=True)
        return await show.end()


async def what_is_refused_is_not_asked_about(stage: Stage) -> Played:
    """A path that leaves the workspace, and no object at all."""
    bad = calls(
        Call("workspace.write_file", {"path": "../main.md", "content": "x"}, id="out"),
        Call("workspace.write_file", "[1]", id="none"),
    )
    async with stage.show(bad, calls(WRITE), END) as show:
        await begin(show)
        await show.engine.approve_tool_call(RUN, "write", approved=True)
        return await show.end()


async def left_while_a_person_is_asked(stage: Stage) -> Played:
    """The engine is closed while the question stands; the next one finds it."""
    async with stage.show(calls(WRITE)) as show:
        await begin(show)
    async with stage.show(END) as show:
        await show.resume()
        await show.engine.approve_tool_call(RUN, "write", approved=True)
        return await show.end()


async def answered_while_nobody_drives(stage: Stage) -> Played:
    async with stage.show(calls(WRITE)) as show:
        await begin(show)
    async with stage.engine() as elsewhere:
        await elsewhere.approve_tool_call(RUN, "write", approved=False, reason="too wet")
    async with stage.show(words.WRITE, END) as show:
        await show.resume()
        await show.until("tool_call_awaiting_approval", nth=2)
        (call,) = [each for each in await show.engine.pending_approvals(RUN) if each.state == "waiting"]
        await show.engine.approve_tool_call(RUN, call.call_id, approved=True)
        return await show.end()


async def no_room_for_the_answer_of_a_person(stage: Stage) -> Played:
    stage.disk.fail("replace", when="tool-args/*.edited.json")
    return await decide(stage, [calls(WRITE)], ("write", True, None, CHANGED))
