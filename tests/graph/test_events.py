"""The journal's vocabulary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.events import TERMINAL_EVENTS, Event, EventType, Level, event, level_of
from treadle.graph.jsontext import Json, dumps, loads

LEVELS = {
    Level.DEBUG: {
        "context_tool_result_hydrated",
        "model_call_attempt_started",
        "model_response_stored",
        "provider_session_replayed",
        "provider_state_updated",
        "tool_result_stored",
    },
    Level.WARN: {
        "model_call_retry_scheduled",
        "drift_recovery_attempted",
        "run_partial_success",
        "journal_tail_repaired",
    },
    Level.ERROR: {
        "chat_commit_failed",
        "committed_message_rollback_failed",
        "persistent_changes_commit_failed",
        "persistent_state_metadata_update_failed",
        "run_failed",
    },
}
EVENTS = st.builds(
    Event,
    seq=st.integers(1, 10**12),
    id=st.text(),
    run_id=st.text(),
    timestamp=st.text(),
    level=st.sampled_from(Level).map(str),
    type=st.sampled_from(EventType).map(str) | st.text(),
    payload=st.none() | st.dictionaries(st.text(), st.none() | st.integers() | st.text()),
)


@pytest.mark.parametrize("level", LEVELS)
def test_levels_are_those_of_the_catalogue(level: Level) -> None:
    assert {str(kind) for kind in EventType if level_of(kind) is level} == LEVELS[level]


def test_an_event_without_a_level_of_its_own_informs() -> None:
    assert level_of(EventType.RUN_CREATED) is Level.INFO
    assert level_of(EventType.TOOL_CALL_COMPLETED) is Level.INFO


def test_a_run_ends_in_one_of_four_events() -> None:
    assert {"run_completed", "run_partial_success", "run_failed", "run_cancelled"} == TERMINAL_EVENTS


def test_names_are_lower_case_words() -> None:
    assert all(kind.value == kind.name.lower() for kind in EventType)


def test_an_event_stands_in_its_line_as_the_envelope_says() -> None:
    written = Event(3, "evt_1", "run_1", "2026-01-01T00:00:00.000Z", "info", "run_created", {"a": 1}).to_json()

    assert dumps(written) == (
        b'{"seq":3,"id":"evt_1","runId":"run_1","timestamp":"2026-01-01T00:00:00.000Z","level":"info",'
        b'"type":"run_created","payload":{"a":1}}'
    )


@given(EVENTS)
def test_an_event_is_read_back_as_it_was_written(written: Event) -> None:
    assert event(loads(dumps(written.to_json()))) == written


@pytest.mark.parametrize("stored", [{}, {"seq": 1}, {"seq": 1, "id": "evt_1", "runId": "run_1", "timestamp": "t"}])
def test_a_line_that_is_no_event_is_a_key_error(stored: Json) -> None:
    with pytest.raises(KeyError):
        event(stored)


@pytest.mark.parametrize("stored", [None, 3, "text", []])
def test_a_line_that_is_no_object_is_a_type_error(stored: Json) -> None:
    with pytest.raises(TypeError):
        event(stored)
