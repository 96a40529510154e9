"""Whether a run that was left stands between its steps, so that its files may be put back under it. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ...graph.events import Event, EventType
from ...graph.jsontext import Json


def begun_step(events: Iterable[Event]) -> str | None:
    """What was begun and not ended, to be read on after "the run was left in the middle of"; None where nothing was.

    A call lasts until its result is told, one that changes a file until the checkpoint, a commit until it is recorded.
    What only asks (the model, a person) is no step: it is asked again.
    """
    step: str | None = None
    ends: frozenset[EventType] = frozenset()
    for event in events:
        if event.type in ends:
            step, ends = None, frozenset()
        elif event.type in _BEGIN:
            step, ends = f"{_BEGIN[event.type]}{_named(event.payload)}", _ends(event)
    return step


_CALL_ENDS = frozenset({EventType.TOOL_CALL_COMPLETED, EventType.TOOL_CALL_FAILED})
_CHANGE_ENDS = frozenset({EventType.CHECKPOINT_CREATED, EventType.TOOL_CALL_FAILED})
_COMMIT_ENDS = frozenset({EventType.CHAT_COMMIT_RECORDED, EventType.CHAT_COMMIT_FAILED})
_BEGIN: dict[str, str] = {
    EventType.TOOL_CALL_STARTED: "the call ",
    EventType.CHAT_COMMIT_STARTED: "the commit of call ",
    EventType.AGENT_LOOP_FINISHED: "its end",
}


def _named(told: dict[str, Json]) -> str:
    """The call's id, with its tool's name or the file that it commits."""
    return f"{told['callId']} ({told.get('name') or told.get('path')})" if "callId" in told else ""


def _ends(event: Event) -> frozenset[EventType]:
    match event.type:
        case EventType.AGENT_LOOP_FINISHED:
            return frozenset()  # from here on only the run's terminal event ends it
        case EventType.CHAT_COMMIT_STARTED:
            return _COMMIT_ENDS
        case _:
            return _CHANGE_ENDS if "effect" in event.payload else _CALL_ENDS
