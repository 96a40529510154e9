"""The machine's tables."""

from __future__ import annotations

import re

import pytest

from treadle.graph.table import (
    RETRY_START,
    RETRY_TRANSITIONS,
    START,
    TRANSITIONS,
    Edge,
    Outcome,
    RetryStep,
    Step,
    edges,
    inside,
    signature,
)


def reached(start: str, arrows: set[tuple[str, str]]) -> set[str]:
    found = {start}
    while more := {after for before, after in arrows if before in found} - found:
        found |= more
    return found


ARROWS = {(str(step), str(after)) for step, row in TRANSITIONS.items() for after in row.values()}
RETRY_ARROWS = {(str(step), str(after)) for step, row in RETRY_TRANSITIONS.items() for after in row.values()}


def test_every_step_but_the_end_has_a_row() -> None:
    assert set(TRANSITIONS) == set(Step) - {Step.END}
    assert set(RETRY_TRANSITIONS) == set(RetryStep) - {RetryStep.END}


def test_every_target_is_a_step_of_its_own_table() -> None:
    assert all(isinstance(after, Step) for row in TRANSITIONS.values() for after in row.values())
    assert all(isinstance(after, RetryStep) for row in RETRY_TRANSITIONS.values() for after in row.values())


def test_every_outcome_is_of_some_row() -> None:
    used = {outcome for row in TRANSITIONS.values() for outcome in row}
    used |= {outcome for row in RETRY_TRANSITIONS.values() for outcome in row}

    assert used == set(Outcome)


def test_every_step_is_reached_from_the_start() -> None:
    assert reached(START, ARROWS) == set(Step)
    assert reached(RETRY_START, RETRY_ARROWS) == set(RetryStep)


@pytest.mark.parametrize("step", [step for step in Step if step is not Step.END])
def test_the_end_is_reached_from_every_step(step: Step) -> None:
    assert Step.END in reached(step, ARROWS)


@pytest.mark.parametrize("step", [step for step in RetryStep if step is not RetryStep.END])
def test_the_retry_ends_from_every_step(step: RetryStep) -> None:
    assert RetryStep.END in reached(step, RETRY_ARROWS)


def test_only_finish_ends_a_run() -> None:
    assert {before for before, after in ARROWS if after == Step.END} == {Step.FINISH}


@pytest.mark.parametrize("step", [step for step in TRANSITIONS if step is not Step.FINISH])
def test_every_step_can_break_and_be_cancelled(step: Step) -> None:
    assert TRANSITIONS[step][Outcome.BROKEN] is Step.FINISH
    assert TRANSITIONS[step][Outcome.CANCELLED] is Step.FINISH


def test_a_retry_ends_in_outcomes_that_the_outer_row_has() -> None:
    leaving = {
        outcome for row in RETRY_TRANSITIONS.values() for outcome, after in row.items() if after is RetryStep.END
    }

    assert leaving == set(TRANSITIONS[Step.RETRY_MODEL])
    assert set(TRANSITIONS[Step.RETRY_MODEL]) == set(TRANSITIONS[Step.CALL_MODEL]) - {Outcome.TRANSIENT}


def test_edges_are_the_entries_of_both_tables() -> None:
    listed = edges()

    entries = sum(map(len, TRANSITIONS.values())) + sum(map(len, RETRY_TRANSITIONS.values()))
    assert len(listed) == len(set(listed)) == entries
    assert Edge("call_model", "transient", "retry_model") in listed
    assert Edge("retry_model/backoff", "waited", "attempt") in listed
    assert inside(RetryStep.ATTEMPT) == "retry_model/attempt"


def test_the_signature_is_the_same_each_time_and_for_every_process() -> None:
    assert re.fullmatch(r"[0-9a-f]{16}", signature())
    assert signature() == signature() == "3a9cbf02f2e70b65"


@pytest.mark.parametrize("left_out", edges(), ids=" ".join)
def test_the_signature_changes_with_every_entry(left_out: Edge) -> None:
    fewer = tuple(edge for edge in edges() if edge != left_out)
    bent = tuple(edge._replace(next="elsewhere") if edge == left_out else edge for edge in edges())

    assert len({signature(), signature(fewer), signature(bent)}) == 3
