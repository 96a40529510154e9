"""The list of the scenarios, by name, and the order of events that one of them must have."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import getmembers, iscoroutinefunction
from types import ModuleType

from . import approvals, breaks, cancels, courses, graph_mode
from .stage import Played, Stage

Scenario = Callable[[Stage], Awaitable[Played]]


def _scenarios(room: ModuleType) -> dict[str, Scenario]:
    """Every public coroutine function that the room itself defines."""
    return {
        name: function
        for name, function in getmembers(room, iscoroutinefunction)
        if function.__module__ == room.__name__ and not name.startswith("_")
    }


SCENARIOS: dict[str, Scenario] = {
    name: scenario
    for room in (courses, approvals, cancels, breaks, graph_mode)
    for name, scenario in _scenarios(room).items()
}

_SPELLED_OUT = """
run_created profile_resolved generation_intent_recorded status_changed workspace_initialized
persistent_projection_initialized status_changed context_assembled status_changed model_request_created
model_call_attempt_started model_response_stored provider_state_updated model_completed tool_call_requested
status_changed tool_call_started tool_result_stored tool_call_completed status_changed
workspace_file_written checkpoint_created context_tool_result_hydrated status_changed model_request_created
model_call_attempt_started model_response_stored provider_state_updated model_completed tool_call_requested
status_changed tool_call_started chat_commit_started status_changed checkpoint_created
status_changed chat_commit_requested status_changed chat_commit_completed tool_result_stored
tool_call_completed chat_commit_recorded tool_call_requested status_changed tool_call_started
tool_result_stored tool_call_completed agent_loop_finished status_changed persistent_changes_committed
persistent_state_metadata_update_requested persistent_state_metadata_updated status_changed run_completed
"""
HAPPY_PATH = _SPELLED_OUT.split()
"""The types of the 54 events of the happy path, in their order."""
