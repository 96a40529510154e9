"""The round's calls, strictly in order: as many as can be answered here; then on to the step that must act."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..graph.errors import RunFailed
from ..graph.events import EventType
from ..graph.messages import ModelResponse
from ..graph.state import RunState, Update
from ..graph.table import Outcome
from ..storage.folder import Log
from .call import ApprovalAsked, Seat, dispatch
from .checkpoint import round_over
from .deps import Deps, Run, in_thread
from .rounds import held_turn, stored_turn
from .tool import Answer, CommitAsked, FileChange, LoopEnded

COMMIT = "workspace.commit"


async def dispatch_tools(state: RunState, deps: Deps) -> Update:
    run = deps.run
    told = held_turn(run, state.round)
    if told is None:
        told = await in_thread(lambda: stored_turn(run, state.round))
    answer = told.answer
    calls = answer.tool_calls
    index, made, per_tool = state.call_index, state.calls_made, dict(state.calls_per_tool)
    while index < len(calls):
        call = calls[index]
        seat = Seat(state.round, call, answer, made, per_tool, state.commit_count)
        went = await in_thread(partial(dispatch, run, seat, deps.clock))
        if went.counted:
            made += 1
            per_tool[call.name] = per_tool.get(call.name, 0) + 1
        spent: dict[str, Any] = {"calls_made": made, "calls_per_tool": per_tool}
        match went.outcome:
            case ApprovalAsked():
                return Update(Outcome.APPROVAL_NEEDED, {**spent, "call_index": index})
            case FileChange():
                return Update(Outcome.WROTE, {**spent, "call_index": index + 1})
            case CommitAsked() | Answer() if call.name == COMMIT:  # answered: recorded, but this state lacks it
                run.cancel.check()
                return Update(Outcome.COMMIT_ASKED, {**spent, "call_index": index})
            case LoopEnded():
                return await _finish_called(state, run, answer, index, spent)
            case _:
                run.cancel.check()
                index += 1
    return round_over(state, run, {"calls_made": made, "calls_per_tool": per_tool, "call_index": index})


async def _finish_called(state: RunState, run: Run, answer: ModelResponse, index: int, spent: dict[str, Any]) -> Update:
    run.cancel.check()
    if index + 1 < len(answer.tool_calls):
        late = answer.tool_calls[index + 1]
        raise RunFailed(f"{late.model_name} was called after workspace_finish", code="agent.tool_after_finish")
    await run.record(Log(EventType.AGENT_LOOP_FINISHED, {"commitCount": state.commit_count, "round": state.round}))
    return Update(Outcome.FINISH_CALLED, {**spent, "call_index": index + 1})
