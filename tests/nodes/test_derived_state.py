"""The state that the journal tells is the one that the graph saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from treadle.graph.errors import InvalidData
from treadle.graph.events import Event
from treadle.graph.jsontext import Json
from treadle.graph.state import RunState
from treadle.graph.table import Step
from treadle.nodes.derived_state import Answered, answered, derived, difference, points

_CALLS = ({"id": "a", "name": "workspace.list_files"}, {"id": "b", "name": "workspace.write_file"})


def _answer(_round: int) -> Answered:
    return Answered(_CALLS, {"sessionId": "run_0", "lastResponseId": "r1"})


def _journal(*told: tuple[str, Json]) -> list[Event]:
    return [Event(seq, f"e{seq}", "run_1", "", "info", kind, payload) for seq, (kind, payload) in enumerate(told, 1)]


_ASSEMBLED = ("context_assembled", {"maxRounds": 2})
_ASKED = ("model_call_attempt_started", {"round": 1, "attempt": 2})
_ANSWERED = ("model_completed", {"round": 1, "toolCallCount": 2})
_LIST = [
    ("tool_call_started", {"name": "workspace.list_files"}),
    ("tool_call_completed", {"name": "workspace.list_files"}),
]
_WRITE = [
    ("tool_call_started", {"name": "workspace.write_file"}),
    ("tool_call_completed", {"name": "workspace.write_file"}),
]
_KEPT = ("checkpoint_created", {"checkpointId": "cp_000001"})
_FORKED = ("run_forked", {"fromRunId": "run_0", "fromSeq": 9, "maxRounds": 1})


def _stood(*told: tuple[str, Json]) -> tuple[Step, int, str] | None:
    found = derived(_journal(*told), _answer)
    return None if found is None else (found.next, found.state.call_index, found.state.outcome)


def test_before_its_context_is_assembled_a_run_stands_at_no_settled_point() -> None:
    assert _stood(("run_created", {}), ("profile_resolved", {})) is None


def test_what_is_under_way_is_left_out() -> None:
    assert _stood(_ASSEMBLED, _ASKED) == (Step.CALL_MODEL, 0, "assembled")
    assert _stood(_ASSEMBLED, _ASKED, _ANSWERED, _LIST[0]) == (Step.DISPATCH_TOOLS, 0, "tools_called")


def test_a_call_that_changed_a_file_is_over_with_its_checkpoint() -> None:
    assert _stood(_ASSEMBLED, _ASKED, _ANSWERED, *_LIST, *_WRITE) == (Step.DISPATCH_TOOLS, 1, "tools_called")
    assert _stood(_ASSEMBLED, _ASKED, _ANSWERED, *_LIST, *_WRITE, _KEPT) == (Step.CALL_MODEL, 2, "next_round")


def test_a_state_holds_the_calls_and_the_counts() -> None:
    found = derived(_journal(_ASSEMBLED, _ASKED, _ANSWERED, *_LIST, *_WRITE, _KEPT), _answer)

    assert found is not None
    assert found.state == RunState(
        run_id="run_1", round=1, attempt=2, calls=_CALLS, call_index=2, calls_made=2,
        calls_per_tool={"workspace.list_files": 1, "workspace.write_file": 1}, checkpoint_count=1,
        provider_state={"sessionId": "run_0", "lastResponseId": "r1"}, outcome="next_round",
    )  # fmt: skip


def test_nothing_is_settled_once_a_cancel_was_asked_for() -> None:
    cancel = ("run_cancel_requested", None)
    assert _stood(_ASSEMBLED, _ASKED, _ANSWERED, cancel, *_LIST) == (Step.DISPATCH_TOOLS, 0, "tools_called")


def test_a_fork_has_its_own_session_no_commits_and_the_rounds_of_its_profile() -> None:
    recorded = ("chat_commit_recorded", {"commitId": "c", "messageId": "2", "commitCount": 1})
    commit = [("tool_call_started", {"name": "workspace.commit"}), recorded]
    forked = derived(_journal(_ASSEMBLED, _ASKED, _ANSWERED, *_LIST, *commit, _FORKED), _answer)

    assert forked is not None
    assert (forked.state.commit_count, forked.state.last_commit, forked.state.checkpoint_count) == (0, None, 1)
    assert forked.state.provider_state == {"sessionId": "run_1", "lastResponseId": "r1"}
    assert (forked.next, forked.state.outcome, forked.seq) == (Step.FINISH, "rounds_spent", 8)


def test_an_event_that_tells_too_little_is_named() -> None:
    with pytest.raises(InvalidData, match=r"event 1 \(context_assembled\)"):
        _stood(("context_assembled", {}))


def test_an_answer_that_is_none_is_named() -> None:
    with pytest.raises(InvalidData, match=r"round-001\.json is not a model response"):
        answered("round-001.json", {"response": {}})


def _told() -> Sequence[Event]:
    return _journal(_ASSEMBLED, _ASKED, _ANSWERED, *_LIST, *_WRITE, _KEPT)


@pytest.mark.parametrize("field", ["calls_made", "checkpoint_count", "call_index", "commit_count"])
def test_a_saved_state_that_no_event_leads_to_differs(field: str) -> None:
    *_, last = points(_told(), _answer)
    ahead = replace(last.state, **{field: 7})  # type: ignore[arg-type]  # a count

    assert difference(last.state, points(_told(), _answer)) is None
    assert difference(ahead, points(_told(), _answer)) == (
        f"no event leads to the saved state: its {field} differ from what the journal tells"
    )
