"""Where a run can be killed, and which of these points a sample holds."""

from __future__ import annotations

import pytest

from treadle.graph.jsontext import Json
from treadle.graph.table import Step
from treadle.testkit.crashes.points import Operation, Steps, points_of, sampled


@pytest.mark.parametrize(
    ("operation", "moments"),
    [
        (Operation("replace", "run.json", 1), ("before", "within", "after")),
        (Operation("remove", "persist", 1), ("before", "after")),
        (Operation("commit", "run.sqlite", 1), ("before", "after")),
        (
            Operation("append", "events.jsonl", 1, lines=3),
            ("before", "within", "at event 1", "at event 2", "after"),
        ),
    ],
)
def test_an_operation_has_the_moments_in_which_it_can_be_cut_off(
    operation: Operation, moments: tuple[str, ...]
) -> None:
    assert operation.moments == moments


OPERATIONS = [
    Operation(kind, path, nth, step)
    for nth, step in enumerate(("call_model", "commit", "commit", "finish"), start=1)
    for kind, path in (("replace", "run.json"), ("append", "events.jsonl"), ("commit", "run.sqlite"))
]


def test_a_sample_holds_one_of_each_sort_before_a_second_of_any() -> None:
    points = points_of(OPERATIONS)
    sorts = {point.sort for point in points}

    chosen = sampled(points, len(sorts), seed=3)

    assert {point.sort for point in chosen} == sorts
    assert len(chosen) == len(sorts) < len(points)


def test_a_sample_is_the_same_for_a_seed_and_in_the_order_of_the_run() -> None:
    points = points_of(OPERATIONS)

    assert sampled(points, 9, seed=1) == sampled(points, 9, seed=1) != sampled(points, 9, seed=2)
    assert [points.index(point) for point in sampled(points, 9, seed=1)] == sorted(
        points.index(point) for point in sampled(points, 9, seed=1)
    )
    assert sampled(points, 1000, seed=1) == points
    assert len(sampled(points, 2, seed=1)) == 2


Told = list[tuple[str, Json]]


def status(value: str) -> tuple[str, Json]:
    return "status_changed", {"status": value}


RETRY: tuple[str, Json] = ("model_call_retry_scheduled", {})
STORED: tuple[str, Json] = ("model_response_stored", {})
QUESTION: tuple[str, Json] = ("tool_call_awaiting_approval", {})
COMMIT: tuple[str, Json] = ("chat_commit_started", {})
STEPS: list[tuple[Told, Step]] = [
    ([], Step.RESOLVE_PROFILE),
    ([status("assembling_context")], Step.ASSEMBLE_CONTEXT),
    ([status("calling_model"), RETRY], Step.RETRY_MODEL),
    ([RETRY, STORED], Step.CALL_MODEL),
    ([status("dispatching_tool"), QUESTION], Step.AWAIT_APPROVAL),
    ([status("creating_checkpoint")], Step.CHECKPOINT),
    ([COMMIT, status("creating_checkpoint")], Step.COMMIT),
    ([COMMIT, status("dispatching_tool")], Step.DISPATCH_TOOLS),
    ([status("finishing")], Step.FINISH),
    ([status("completed")], Step.FINISH),
]


@pytest.mark.parametrize(("told", "step"), STEPS)
def test_the_journal_tells_which_step_is_at_work(told: Told, step: Step) -> None:
    steps = Steps()
    for event_type, payload in told:
        steps.add(event_type, payload)

    assert steps.step is step
