"""A run as it goes: one line for each step, made from its transitions and the events between them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import wrap
from typing import Self, cast

from rich.console import Console
from rich.status import Status
from rich.text import Text

from ..graph.events import Event, EventType
from ..graph.jsontext import Json
from ..graph.table import Outcome, RetryStep, Step, inside

_STEP, _OUTCOME, _TIME = 17, 15, 8
_BROAD = 10_000

_COLOURS = {
    Outcome.TRANSIENT: "yellow", Outcome.DRIFTED: "yellow", Outcome.REFUSED_BY_RULE: "yellow",
    Outcome.WROTE: "green", Outcome.COMMITTED: "green", Outcome.COMPLETED: "bold green",
    Outcome.BROKEN: "red", Outcome.FAILED: "bold red", Outcome.REFUSED: "red", Outcome.TEXT_ONLY: "red",
    Outcome.ROUNDS_SPENT: "red", Outcome.PARTIAL_SUCCESS: "bold yellow", Outcome.CANCELLED: "bold yellow",
}  # fmt: skip


_DISPATCH, _COMMIT, _FINISH = frozenset({Step.DISPATCH_TOOLS}), frozenset({Step.COMMIT}), frozenset({Step.FINISH})
_MODEL = frozenset({Step.CALL_MODEL, inside(RetryStep.ATTEMPT)})

_WRITERS: dict[str, frozenset[str]] = {
    EventType.PROFILE_RESOLVED: frozenset({Step.RESOLVE_PROFILE}),
    EventType.CONTEXT_ASSEMBLED: frozenset({Step.ASSEMBLE_CONTEXT}),
    EventType.MODEL_CALL_ATTEMPT_STARTED: _MODEL,
    EventType.MODEL_CALL_ATTEMPT_FAILED: _MODEL,
    EventType.MODEL_COMPLETED: _MODEL,
    EventType.DRIFT_RECOVERY_ATTEMPTED: _MODEL,
    EventType.MODEL_CALL_RETRY_SCHEDULED: frozenset({inside(RetryStep.BACKOFF)}),
    EventType.TOOL_CALL_AWAITING_APPROVAL: _DISPATCH,
    EventType.TOOL_CALL_APPROVED: frozenset({Step.AWAIT_APPROVAL}),
    EventType.TOOL_CALL_DENIED: frozenset({Step.AWAIT_APPROVAL}),
    EventType.CHAT_COMMIT_COMPLETED: _COMMIT,
    EventType.CHAT_COMMIT_FAILED: _COMMIT,
    EventType.PERSISTENT_CHANGES_COMMITTED: _FINISH,
    EventType.PERSISTENT_CHANGES_COMMIT_FAILED: _FINISH,
    EventType.RUN_FAILED: _FINISH,
    EventType.RUN_PARTIAL_SUCCESS: _FINISH,
}
"""Which steps write the events that a row speaks of; those that are not here may stand anywhere."""


@dataclass(frozen=True, slots=True)
class Row:
    """One step that was taken; `notes` says what happened in it, a line each."""

    step: str
    outcome: str
    elapsed_ms: float
    notes: tuple[str, ...] = ()

    @property
    def inside(self) -> bool:
        """It is a step of the retry sub-graph."""
        return "/" in self.step


def told_by(step: str, outcome: str, waiting: deque[Event]) -> list[Event]:
    """Take from the waiting events those that this step wrote: the next step may have written some already."""
    found: list[Event] = []
    asked = False
    while waiting and step in _writers(waiting[0], step, outcome):
        if waiting[0].type == EventType.MODEL_CALL_ATTEMPT_STARTED:
            if asked:
                break
            asked = True
        found.append(waiting.popleft())
    return found


def row(step: str, outcome: str, elapsed_ms: float, events: Iterable[Event]) -> Row:
    notes = (_note(event) for event in events)
    return Row(step, outcome, elapsed_ms, tuple(note for note in notes if note))


class Timeline:
    """Prints the rows of a run; on a terminal the step under way is shown below them."""

    def __init__(self, console: Console, *, plain: bool = False) -> None:
        self._console = console
        self._live = console.is_terminal and not plain
        self._status: Status | None = None
        self._begun = False

    def __enter__(self) -> Self:
        if self._live:
            self._status = self._console.status("starting", spinner="dots")
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def pause(self) -> None:
        """Leave the screen to others."""
        if self._status:
            self._status.stop()

    def go_on(self) -> None:
        if self._status:
            self._status.start()

    def _heading(self) -> None:
        head = f"{'step':<{_STEP}} {'outcome':<{_OUTCOME}} {'time':>{_TIME}}  what happened"
        self._print(Text(head, style="bold" if self._live else ""))

    def show(self, row: Row, next_step: str) -> None:
        if not self._begun:
            self._begun = True
            self._heading()
        width = self._console.width if self._live else None
        for line in lines(row, coloured=self._live, width=width):
            self._print(line)
        if self._status and next_step != Step.END:
            self._status.update(next_step)

    def _print(self, line: Text) -> None:
        self._console.print(line, soft_wrap=True)


def lines(row: Row, *, coloured: bool = True, width: int | None = None) -> list[Text]:
    """The row as lines of text: the first has step, outcome and time, further notes stand below.

    Notes are broken to `width`, if there is one.
    """
    name = f"  {row.step.partition('/')[2]}" if row.inside else row.step
    first = Text(f"{name:<{_STEP}} ", style="dim" if coloured and row.inside else "")
    first.append(f"{row.outcome:<{_OUTCOME}} ", style=_COLOURS.get(Outcome(row.outcome), "") if coloured else "")
    first.append(f"{_time(row.elapsed_ms):>{_TIME}}", style="dim" if coloured else "")
    indent = " " * (_STEP + _OUTCOME + _TIME + 4)
    room = max(20, (width or _BROAD) - len(indent))
    told = [line for note in row.notes for line in wrap(note, room)]
    if told:
        first.append(f"  {told[0]}")
    return [first, *(Text(indent + line) for line in told[1:])]


def _writers(event: Event, step: str, outcome: str) -> frozenset[str]:
    payload = cast(dict[str, Json], event.payload or {})
    match event.type:
        case EventType.TOOL_CALL_COMPLETED | EventType.TOOL_CALL_FAILED if payload["name"] == "workspace.commit":
            return _COMMIT if outcome == Outcome.COMMIT_ASKED else _COMMIT | _DISPATCH
        case EventType.TOOL_CALL_COMPLETED | EventType.TOOL_CALL_FAILED:
            return _DISPATCH
        case EventType.CHECKPOINT_CREATED if payload["reason"] != "chat_commit":
            return frozenset({Step.CHECKPOINT})
        case _:
            return _WRITERS.get(event.type, frozenset({step}))


def _time(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 10_000 else f"{milliseconds:.0f} ms"


def _note(event: Event) -> str:
    """What a person wants to know of an event on its step's line; empty for most."""
    payload = cast(dict[str, Json], event.payload or {})
    match event.type:
        case EventType.PROFILE_RESOLVED:
            return f"{payload['profileId']}, {payload['source']}"
        case EventType.CONTEXT_ASSEMBLED:
            return f"{payload['request']['messageCount']} messages, {len(payload['tools'])} tools"
        case (
            EventType.MODEL_CALL_ATTEMPT_FAILED
            | EventType.CHAT_COMMIT_FAILED
            | EventType.PERSISTENT_CHANGES_COMMIT_FAILED
        ):
            return str(payload["message"])
        case EventType.MODEL_CALL_RETRY_SCHEDULED:
            return f"attempt {payload['nextAttempt']} after {payload['intervalMs']} ms"
        case EventType.MODEL_COMPLETED:
            return f"round {payload['round']}: {_counted(payload['toolCallCount'], 'tool call')}"
        case EventType.DRIFT_RECOVERY_ATTEMPTED:
            return f"told to use its tools ({payload['attempt']} of {payload['maxAttempts']})"
        case EventType.TOOL_CALL_COMPLETED if payload["name"] != "workspace.commit":
            return " ".join([_tool(payload), *map(str, payload["resourceRefs"][:1])])
        case EventType.TOOL_CALL_FAILED:
            return f"{_tool(payload)} refused: {payload.get('errorCode') or payload.get('message')}"
        case EventType.TOOL_CALL_AWAITING_APPROVAL:
            return f"{_tool(payload)} waits for approval"
        case EventType.TOOL_CALL_APPROVED:
            return f"{_tool(payload)} approved{', with other arguments' if 'editedArgumentsRef' in payload else ''}"
        case EventType.TOOL_CALL_DENIED:
            return f"{_tool(payload)} denied{': ' + payload['reason'] if 'reason' in payload else ''}"
        case EventType.CHECKPOINT_CREATED if payload["reason"] != "chat_commit":
            return str(payload["checkpointId"])
        case EventType.CHAT_COMMIT_COMPLETED:
            return f"{payload['path']} -> message {payload['messageId']} ({payload['mode']})"
        case EventType.PERSISTENT_CHANGES_COMMITTED:
            return f"{_counted(payload['changeCount'], 'file')} kept for later runs" if payload["changeCount"] else ""
        case EventType.RUN_FAILED | EventType.RUN_PARTIAL_SUCCESS:
            return f"{payload['code']}: {payload['message']}"
        case _:
            return ""


def _tool(payload: dict[str, Json]) -> str:
    """The tool's name, short where it is one of the workspace's own."""
    return str(payload["name"]).removeprefix("workspace.")


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
