"""A person's word on a call: given once, for the call that waits, from this process or another, before a crash or after."""

from __future__ import annotations

import pytest

from treadle.graph.errors import InvalidInput, NotFound, TreadleError
from treadle.graph.identity import call_file_stem
from treadle.graph.jsontext import Json, loads
from treadle.storage.folder import pretty
from treadle.testkit.replies import Call, calls

from ..scenarios import words
from ..scenarios.hosts import never
from ..scenarios.people import CODA, END, FINISH, WRITE, WRITES, asking, begin
from ..scenarios.stage import RUN, Played, Show, Stage

CHANGED: dict[str, Json] = {"path": "output/main.md", "content": "It is the postman."}


async def test_the_model_keeps_its_own_arguments_and_is_told_of_the_change(stage: Stage) -> None:
    """They go back to it byte for byte; what a person wrote stands in a file of its own and in the result's text."""
    own = '{"path": "output/main.md",  "content": "It is the t\\u0069de."}'
    async with stage.show(calls(Call("workspace.write_file", own, id="write")), END) as show:
        await begin(show)
        await show.engine.approve_tool_call(RUN, "write", approved=True, edited_arguments=CHANGED)
        await show.asked(2)
        asked, answer, result = loads(show.model.requests[1].body)["messages"][-3:]
        played = await show.end()

    assert asked["role"] == "user"
    assert answer["tool_calls"][0]["function"]["arguments"] == own
    assert (
        'It ran with: {"path":"output/main.md","content":"It is the postman."}' in loads(result["content"])["content"]
    )
    assert played.messages[-1]["mes"] == CHANGED["content"]
    folder, stem = stage.run_folder(), call_file_stem("write")
    assert loads((folder / "tool-args" / f"{stem}.json").read_bytes())["content"] == "It is the tide."
    assert (folder / "tool-args" / f"{stem}.edited.json").read_bytes() == pretty(CHANGED)
    assert "postman" not in (folder / "tool-results" / f"{stem}.json").read_text()


async def test_arguments_that_come_back_unchanged_are_no_change(stage: Stage) -> None:
    async with stage.show(calls(WRITE), END) as show:
        await begin(show)
        await show.engine.approve_tool_call(RUN, "write", approved=True, edited_arguments=WRITE.arguments)
        played = await show.end()

    assert _payload(played, "tool_call_approved") == {"round": 1, "callId": "write", "name": "workspace.write_file"}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"approved": "yes"}, "approved"),
        ({"approved": None}, "approved"),
        ({"approved": False, "reason": 3}, "reason"),
        ({"approved": False, "edited_arguments": {}}, "editedArguments"),
        ({"approved": True, "edited_arguments": [1]}, "editedArguments"),
        ({"approved": True, "edited_arguments": "{}"}, "editedArguments"),
        ({"approved": True, "edited_arguments": {"path": float("nan")}}, "editedArguments"),
        ({"approved": True, "edited_arguments": {"path": {1, 2}}}, "editedArguments"),
        ({"approved": True, "edited_arguments": {1: "path"}}, "editedArguments"),
        ({"approved": True, "run_id": " "}, "runId"),
        ({"approved": True, "call_id": ""}, "callId"),
    ],
)
async def test_a_bad_answer_names_its_field_and_the_question_stands(
    stage: Stage, given: dict[str, Json], field: str
) -> None:
    async with stage.show(calls(WRITE), END) as show:
        await begin(show)
        word: dict[str, Json] = {"run_id": RUN, "call_id": "write", **given}
        with pytest.raises(InvalidInput, match=field) as here:
            await show.engine.approve_tool_call(**word)
        async with stage.engine() as elsewhere:
            with pytest.raises(InvalidInput, match=field):
                await elsewhere.approve_tool_call(**word)
        await show.engine.approve_tool_call(RUN, "write", approved=True)
        played = await show.end()

    assert here.value.error_code == "agent.tool_approval_resolve_invalid"
    assert played.types[-1] == "run_completed"


async def test_only_the_call_that_waits_is_decided_and_only_once(stage: Stage) -> None:
    """A word on a later call of the same answer comes too early: the refusal names the call that waits."""
    async with stage.show(calls(WRITE, CODA), never) as show:
        await begin(show)
        early = await _refusal(show, "coda")
        strange = await _refusal(show, "x")
        await show.engine.approve_tool_call(RUN, "write", approved=True)
        twice = await _refusal(show, "write")
        await show.until("tool_call_awaiting_approval", nth=2)
        over = await _refusal(show, "write")
        await show.engine.approve_tool_call(RUN, "coda", approved=True)
        await show.asked(2)
        after = await _refusal(show, "coda")

    assert {each.error_code for each in (early, strange, twice, over, after)} == {"agent.tool_approval_not_pending"}
    assert [each.message.partition("; ")[2] for each in (early, strange, over, after)] == [
        "write is", "write is", "coda is", "",
    ]  # fmt: skip


async def test_a_word_is_for_the_run_that_the_call_belongs_to(stage: Stage) -> None:
    async with stage.show(calls(WRITE), calls(CODA), never) as show:
        await begin(show)
        await show.start(runId="run_2", presentation="background", profile=asking(list(WRITES)))
        await show.until("tool_call_awaiting_approval", "run_2")
        with pytest.raises(InvalidInput) as refused:
            await show.engine.approve_tool_call("run_2", "write", approved=True)
        with pytest.raises(NotFound):
            await show.engine.approve_tool_call("run_3", "write", approved=True)
        await show.engine.approve_tool_call("run_2", "coda", approved=False)
        await show.until("tool_call_denied", "run_2")
        waiting = [call.call_id for call in await show.engine.pending_approvals(RUN)]

    assert refused.value.error_code == "agent.tool_approval_run_mismatch"
    assert waiting == ["write"]


async def test_a_word_after_the_cancel_is_refused(stage: Stage) -> None:
    async with stage.show(calls(WRITE)) as show:
        await begin(show)
        await show.engine.cancel(RUN)
        during = await _refusal(show, "write")
        played = await show.end()
        after = await _refusal(show, "write")
        pending = await show.engine.pending_approvals(RUN)

    assert during.error_code == after.error_code == "agent.tool_approval_not_pending"
    assert played.types[-4:] == ["run_cancel_requested", "status_changed", "status_changed", "run_cancelled"]
    assert pending == []


async def test_a_call_id_that_comes_again_is_asked_about_again(stage: Stage) -> None:
    """Its files have the round in their names; the answer of the first is not taken for the second."""
    again = Call("workspace.write_file", {"path": "output/main.md", "content": "again"}, id="write")
    async with stage.show(calls(WRITE), calls(again), END) as show:
        await begin(show)
        await show.engine.approve_tool_call(RUN, "write", approved=True)
        await show.until("tool_call_awaiting_approval", nth=2)
        await show.engine.approve_tool_call(RUN, "write", approved=True, edited_arguments=CHANGED)
        played = await show.end()

    assert [event.payload["round"] for event in played.events if event.type == "tool_call_approved"] == [1, 2]
    assert [path.name for path in stage.run_folder().glob("tool-args/*.edited.json")] == [
        f"{call_file_stem('write')}-r2.edited.json"
    ]
    assert played.messages[-1]["mes"] == CHANGED["content"]


async def test_a_denied_call_is_not_counted_against_the_budget(stage: Stage) -> None:
    profile = asking(list(WRITES))
    profile["tools"]["maxCallsPerTool"] = {"workspace.write_file": 1}
    async with stage.show(calls(WRITE), calls(CODA, WRITE), END) as show:
        await show.start(profile=profile)
        await show.until("tool_call_awaiting_approval")
        await show.engine.approve_tool_call(RUN, "write", approved=False)
        await show.until("tool_call_awaiting_approval", nth=2)
        await show.engine.approve_tool_call(RUN, "coda", approved=True)
        played = await show.end()

    refused = [event.payload["errorCode"] for event in played.events if event.type == "tool_call_failed"]
    assert refused[:2] == ["agent.tool_denied", "agent.tool_budget_exhausted"]
    assert played.types.count("tool_call_awaiting_approval") == 2


async def test_all_calls_of_the_answer_that_need_a_person_can_be_seen(stage: Stage) -> None:
    read = Call("workspace.read_file", {"path": "output/main.md"}, id="read")
    async with stage.show(calls(WRITE, read, CODA)) as show:
        await begin(show)
        here = await show.engine.pending_approvals(RUN)
    async with stage.engine() as elsewhere:
        kept = await elsewhere.approve_tool_call(RUN, "write", approved=True)
        left = await elsewhere.pending_approvals(RUN)
        with pytest.raises(NotFound):
            await elsewhere.approve_tool_call(RUN, "write", approved=False)

    assert [(call.call_id, call.state, call.arguments) for call in here] == [
        ("write", "waiting", WRITE.arguments),
        ("coda", "later", CODA.arguments),
    ]
    assert [call.state for call in left] == ["decided", "later"]
    assert kept is False


async def test_another_process_answers_a_run_that_is_driven_here(stage: Stage) -> None:
    async with stage.show(calls(WRITE), END) as show:
        await begin(show)
        async with stage.engine() as elsewhere:
            seen = await elsewhere.approve_tool_call(RUN, "write", approved=True, edited_arguments=CHANGED)
            with pytest.raises(NotFound):
                await elsewhere.approve_tool_call(RUN, "coda", approved=True)
        played = await show.end()

    assert seen is True
    assert played.messages[-1]["mes"] == CHANGED["content"]


async def test_a_decision_that_is_journalled_is_not_asked_for_after_a_restart(stage: Stage) -> None:
    """The process was gone after the answer's event, before the tool ran."""
    async with stage.show(calls(WRITE), never) as show:
        await begin(show)
        await show.engine.approve_tool_call(RUN, "write", approved=True, edited_arguments=CHANGED)
        await show.asked(2)
    stage.forget_after("tool_call_approved")
    (stage.run_folder() / "output" / "main.md").unlink()
    async with stage.show(END) as show:
        await show.resume()
        late = await _refusal(show, "write")
        played = await show.end()

    assert late.error_code == "agent.tool_approval_not_pending"
    assert played.types.count("tool_call_awaiting_approval") == played.types.count("tool_call_approved") == 1
    assert played.messages[-1]["mes"] == CHANGED["content"]
    assert played.types[-1] == "run_completed"


@pytest.mark.parametrize("left", [False, True], ids=["at once", "after a restart"])
async def test_what_the_model_has_seen_follows_the_arguments_that_ran(stage: Stage, left: bool) -> None:
    """After partial reads a text may be patched that a person's patch put there, and not the model's own."""
    async with stage.show(words.WRITE_NOTES, words.FINISH) as show:
        await show.end(await show.start(presentation="background", runId="run_0"))
    profile = asking(["workspace.apply_patch"])
    profile["workspace"]["patchAfterPartialRead"] = True
    notes = "persist/notes.md"
    patch = {"path": notes, "old_string": "kettle", "new_string": "jug"}
    look = calls(
        Call("workspace.read_file", {"path": notes, "line_count": 1}, id="look"),
        Call("workspace.apply_patch", patch, id="first"),
    )
    second = [
        calls(Call("workspace.apply_patch", {**patch, "old_string": "a cup", "new_string": "two cups"}, id="second")),
        calls(FINISH),
    ]
    async with stage.show(look, *([never] if left else second)) as show:
        await show.start(profile=profile, presentation="background")
        await show.until("tool_call_awaiting_approval")
        await show.engine.approve_tool_call(
            RUN, "first", approved=True, edited_arguments={**patch, "new_string": "cup"}
        )
        await (show.asked(2) if left else _second(show))
    if left:
        async with stage.show(*second) as show:
            await show.resume()
            await _second(show)

    assert stage.files()[notes] == "The tide owns two cups.\n"


async def _second(show: Show) -> None:
    await show.until("tool_call_awaiting_approval", nth=2)
    await show.engine.approve_tool_call(RUN, "second", approved=True)
    await show.end()


async def _refusal(show: Show, call_id: str) -> TreadleError:
    with pytest.raises(TreadleError) as refused:
        await show.engine.approve_tool_call(RUN, call_id, approved=True)
    return refused.value


def _payload(played: Played, event_type: str) -> Json:
    (event,) = [event for event in played.events if event.type == event_type]
    return event.payload
