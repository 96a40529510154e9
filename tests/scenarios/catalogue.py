"""The list of the scenarios, by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import getmembers, iscoroutinefunction
from types import ModuleType

from . import breaks, cancels, courses, graph_mode
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
    name: scenario for room in (courses, cancels, breaks, graph_mode) for name, scenario in _scenarios(room).items()
}
