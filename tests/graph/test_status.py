"""Which status may follow which."""

from __future__ import annotations

import pytest

from treadle.graph.status import FOLLOWERS, RunStatus, StatusRefused, follow

ENDINGS = {"cancelling", "cancelled", "failed", "partial_success"}


def test_each_status_is_followed_by_those_of_the_table() -> None:
    assert {str(status): {str(after) for after in afters} for status, afters in FOLLOWERS.items()} == {
        "created": ENDINGS | {"initializing_workspace"},
        "initializing_workspace": ENDINGS | {"assembling_context"},
        "assembling_context": ENDINGS | {"calling_model"},
        "calling_model": ENDINGS | {"calling_model", "dispatching_tool"},
        "dispatching_tool": ENDINGS
        | {"dispatching_tool", "applying_workspace_patch", "creating_checkpoint", "calling_model", "finishing"},
        "applying_workspace_patch": ENDINGS | {"creating_checkpoint"},
        "creating_checkpoint": ENDINGS | {"dispatching_tool", "awaiting_host_commit", "calling_model"},
        "awaiting_host_commit": ENDINGS | {"dispatching_tool"},
        "finishing": ENDINGS | {"completed"},
        "completed": set(),
        "partial_success": set(),
        "cancelling": {"completed", "cancelled", "failed", "partial_success"},
        "cancelled": set(),
        "failed": set(),
    }


def test_the_terminal_statuses_are_those_that_nothing_follows() -> None:
    assert {status for status in RunStatus if status.is_terminal} == {
        RunStatus.COMPLETED,
        RunStatus.PARTIAL_SUCCESS,
        RunStatus.CANCELLED,
        RunStatus.FAILED,
    }


@pytest.mark.parametrize("current", RunStatus)
@pytest.mark.parametrize("wanted", RunStatus)
def test_a_status_is_written_only_where_the_table_has_it(current: RunStatus, wanted: RunStatus) -> None:
    if wanted in FOLLOWERS[current]:
        assert follow(current, wanted)
    elif current is RunStatus.CANCELLING:
        assert not follow(current, wanted)
    else:
        with pytest.raises(StatusRefused, match=f"{current} can't become {wanted}"):
            follow(current, wanted)


def test_a_run_that_is_being_cancelled_only_ends() -> None:
    assert not follow(RunStatus.CANCELLING, RunStatus.CALLING_MODEL)
    assert not follow(RunStatus.CANCELLING, RunStatus.CALLING_MODEL, resumed=True)
    assert follow(RunStatus.CANCELLING, RunStatus.CANCELLED)


@pytest.mark.parametrize("current", [status for status in RunStatus if not status.is_terminal])
def test_a_resumed_run_may_enter_its_step_from_any_open_status(current: RunStatus) -> None:
    assert follow(current, RunStatus.FINISHING, resumed=True) is (current is not RunStatus.CANCELLING)


@pytest.mark.parametrize("ended", [status for status in RunStatus if status.is_terminal])
def test_even_a_resumed_run_does_not_leave_its_end(ended: RunStatus) -> None:
    with pytest.raises(StatusRefused):
        follow(ended, RunStatus.CALLING_MODEL, resumed=True)
