"""Every scenario: its flow as it was accepted, the laws of its journal, and the machine's table covered whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from treadle.engine.integrity.verify import verify
from treadle.engine.services import Services
from treadle.graph.events import TERMINAL_EVENTS, Event
from treadle.graph.status import FOLLOWERS, RunStatus
from treadle.graph.table import edges
from treadle.testkit.ports import ManualClock

from .cancels import TAILS
from .catalogue import HAPPY_PATH, SCENARIOS
from .flow import edge_line, flow
from .stage import Played, Stage

Play = Callable[[str], Played]


@pytest.fixture(scope="session")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """A scenario by name, played once in a session."""
    played: dict[str, Played] = {}

    def once(name: str) -> Played:
        if name not in played:
            played[name] = asyncio.run(_play(name, tmp_path_factory))
        return played[name]

    return once


async def _play(name: str, folders: pytest.TempPathFactory) -> Played:
    async with asyncio.timeout(60):
        return await SCENARIOS[name](Stage(folders.mktemp(name)))


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_run_goes_as_it_always_went(name: str, play: Play, snapshot: SnapshotAssertion) -> None:
    assert flow(play(name)) == snapshot


def test_the_happy_path_is_the_one_that_the_specification_spells_out(play: Play) -> None:
    assert len(HAPPY_PATH) == 54
    assert play("happy_path").types == HAPPY_PATH


@pytest.mark.parametrize("name", TAILS)
def test_after_a_cancel_just_this_is_written(name: str, play: Play) -> None:
    events = play(name).events
    request = next(place for place, event in enumerate(events) if event.type == "run_cancel_requested")

    assert [_told(event) for event in events[request + 1 :]] == TAILS[name].split()


def test_every_scenario_of_a_cancel_has_its_tail() -> None:
    assert set(TAILS) == {name for name in SCENARIOS if name.startswith("cancel_")}


def test_every_entry_of_the_table_is_taken(play: Play) -> None:
    taken = {edge for name in SCENARIOS for edge in play(name).edges}

    assert sorted(map(edge_line, set(edges()) - taken)) == []
    assert sorted(map(edge_line, taken - set(edges()))) == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_journal_is_numbered_without_gaps_and_ends_once(name: str, play: Play) -> None:
    played = play(name)
    ends = [event.seq for event in played.events if event.type in TERMINAL_EVENTS]

    assert [event.seq for event in played.events] == list(range(1, len(played.events) + 1))
    assert ends == ([] if played.record is None else [len(played.events)])


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_status_follows_one_that_it_may_follow(name: str, play: Play) -> None:
    played = play(name)
    told = [RunStatus(event.payload["status"]) for event in played.events if event.type == "status_changed"]
    walked = [RunStatus.CREATED, *told] if played.events else []

    assert [pair for pair in pairwise(walked) if pair[1] not in FOLLOWERS[pair[0]]] == []
    assert played.record is None or played.record.status is walked[-1]


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_edges_of_a_run_follow_one_another(name: str, play: Play) -> None:
    outer = [edge for edge in play(name).edges if "/" not in edge.step]

    assert [(edge.next, after.step) for edge, after in pairwise(outer) if edge.next != after.step] == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_run_holds_against_its_own_journal(name: str, play: Play) -> None:
    played = play(name)
    services = Services(Path(played.root or ".") / "data", clock=ManualClock())
    report = None if played.record is None or not played.root else verify(services, played.record.id)

    assert report is None or [finding for finding in report.findings if finding.is_fault] == []


def _told(event: Event) -> str:
    return f"st({event.payload['status']})" if event.type == "status_changed" else event.type
