"""Which ended runs stay, whatever their times and however many are to stay."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from treadle.engine.history.ranking import Action, EndedRun, Reason, decisions
from treadle.gateway.connections.retention import Retention
from treadle.graph.identity import ChatRef, RunId, WorkspaceId
from treadle.graph.status import RunStatus
from treadle.storage.run_index import IndexEntry

from ...storage.run_shelf import at


def ended(name: str, created: int, end: int) -> EndedRun:
    ref = ChatRef("character", character_id="Wren", file_name="tea")
    entry = IndexEntry(RunId(name), WorkspaceId("chat_1"), "s", ref, RunStatus.COMPLETED, at(created), at(end))
    return EndedRun(entry, at(end))


minutes = st.integers(0, 5)
runs = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.tuples(minutes, minutes), max_size=30).map(
    lambda found: [ended(name, created, end) for name, (created, end) in found.items()]
)
retentions = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(
    lambda pair: Retention(keep_recent_terminal_runs=max(pair), keep_full_recent_runs=min(pair))
)


@given(runs, retentions)
def test_each_run_has_one_decision_and_no_more_are_taken_than_asked_for(
    given_runs: list[EndedRun], retention: Retention
) -> None:
    decided = decisions(given_runs, retention)
    actions = [each.action for each in decided]

    assert sorted(each.run.entry.id for each in decided) == sorted(run.entry.id for run in given_runs)
    assert [each.rank for each in decided] == list(range(len(given_runs)))
    assert actions.count(Action.KEEP) == min(len(given_runs), retention.keep_full_recent_runs)
    assert actions.count(Action.DELETE) == max(0, len(given_runs) - retention.keep_recent_terminal_runs)


@given(runs, retentions)
def test_no_run_is_taken_before_an_older_one(given_runs: list[EndedRun], retention: Retention) -> None:
    decided = decisions(given_runs, retention)
    keys = [(each.run.terminal_at, each.run.entry.created_at, each.run.entry.id) for each in decided]
    severity = [list(Action).index(each.action) for each in decided]

    assert keys == sorted(keys, reverse=True)
    assert severity == sorted(severity)


@given(runs, retentions, st.randoms())
def test_the_order_in_which_runs_are_found_does_not_matter(
    given_runs: list[EndedRun], retention: Retention, random: Random
) -> None:
    shuffled = list(given_runs)
    random.shuffle(shuffled)

    assert decisions(shuffled, retention) == decisions(given_runs, retention)


@given(runs, retentions)
def test_what_is_left_after_a_pass_loses_nothing_more(given_runs: list[EndedRun], retention: Retention) -> None:
    left = [each.run for each in decisions(given_runs, retention) if each.action is not Action.DELETE]

    assert [each.action for each in decisions(left, retention) if each.action is Action.DELETE] == []


def test_runs_that_ended_together_are_ranked_by_creation_and_then_by_id() -> None:
    found = [ended("a", 0, 5), ended("c", 1, 5), ended("b", 1, 5), ended("d", 4, 4)]

    decided = decisions(found, Retention(keep_recent_terminal_runs=3, keep_full_recent_runs=1))

    assert [(each.run.entry.id, each.reason) for each in decided] == [
        ("c", Reason.WITHIN_FULL),
        ("b", Reason.OUTSIDE_FULL),
        ("a", Reason.OUTSIDE_FULL),
        ("d", Reason.OUTSIDE_HISTORY),
    ]
