"""The state of a run as its folder tells it, read without a lease: from the journal, and as the graph saved it. Blocking."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...graph.errors import InvalidData
from ...graph.events import Event
from ...graph.jsontext import Json, loads
from ...graph.ports import Clock
from ...graph.state import RunState
from ...nodes.derived_state import Answered, AnswerOf, Derived, answered, derived, difference, points
from ...storage.database_glance import glance
from ...storage.disk import Disk, storage_failed
from ...storage.runs import DATABASE, response_path
from ...storage.saved_state import state_in


def journal_state(run_dir: Path, events: Sequence[Event], disk: Disk) -> Derived | None:
    """The last settled point of these events, a journal's first ones; None before the context was assembled.

    Raises InvalidData where an event or the stored answer is damaged or missing.
    """
    return derived(events, _answers(run_dir, disk))


def settled_points(run_dir: Path, events: Sequence[Event], disk: Disk) -> tuple[Derived, ...]:
    """Every point that a run can be gone on from; raises as `journal_state`."""
    return tuple(point for point in points(events, _answers(run_dir, disk)) if point.is_settled)


def saved_state(run_dir: Path, run_id: str, clock: Clock) -> RunState | None:
    """What the graph saved last; None where it saved nothing. Raises StateIncompatible, and what RunDatabase raises."""
    seen = glance(run_dir / DATABASE, run_id, clock)
    return None if seen is None or seen.newest_state is None else state_in(seen.newest_state)


def state_fault(run_dir: Path, run_id: str, events: Sequence[Event], disk: Disk, clock: Clock) -> str | None:
    """How the state that the graph saved last contradicts the journal; None where it does not, or none was saved.

    `events` is the whole journal. Raises StateIncompatible for a state of another version, InvalidData for a damaged
    event, answer or database, StorageFailed.
    """
    saved = saved_state(run_dir, run_id, clock)
    if saved is None or not saved.run_id:  # before the first step
        return None
    return contradiction(saved, run_dir, events, disk)


def contradiction(saved: RunState, run_dir: Path, events: Sequence[Event], disk: Disk) -> str | None:
    """How this state is none that the journal leads to; raises InvalidData for a damaged event or answer."""
    return difference(saved, points(events, _answers(run_dir, disk)))


def read_json(run_dir: Path, path: str, disk: Disk) -> Json:
    """A file of a run folder; raises InvalidData where it is missing or no JSON, StorageFailed."""
    try:
        return loads(disk.read(run_dir / path))
    except FileNotFoundError as error:
        raise InvalidData(f"the run folder has no {path}") from error
    except OSError as error:
        raise storage_failed(error, f"reading {path}") from error
    except ValueError as error:
        raise InvalidData(f"{path} is not JSON: {error}") from error


def _answers(run_dir: Path, disk: Disk) -> AnswerOf:
    def answer_of(round_number: int) -> Answered:
        path = response_path(round_number)
        return answered(path, read_json(run_dir, path, disk))

    return answer_of
