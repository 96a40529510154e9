"""The timeline's rows: each event on the row of the step that wrote it."""

from __future__ import annotations

from collections import deque
from itertools import count

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from treadle.graph.events import Event, EventType, level_of
from treadle.graph.jsontext import Json
from treadle.host.timeline import Row, Timeline, lines, row, told_by

_SEQ = count(1)


def event(kind: EventType, **payload: Json) -> Event:
    seq = next(_SEQ)
    return Event(seq, f"evt_{seq}", "run_1", "2026-01-01T00:00:00Z", level_of(kind), kind, payload or None)


STARTED = event(EventType.MODEL_CALL_ATTEMPT_STARTED, round=1, attempt=1)
FAILED = event(EventType.MODEL_CALL_ATTEMPT_FAILED, message="busy")
SCHEDULED = event(EventType.MODEL_CALL_RETRY_SCHEDULED, nextAttempt=2, intervalMs=100)
STARTED_AGAIN = event(EventType.MODEL_CALL_ATTEMPT_STARTED, round=1, attempt=2)
ANSWERED = event(EventType.MODEL_COMPLETED, round=1, toolCallCount=1)
READ = event(EventType.TOOL_CALL_COMPLETED, name="workspace.read_file", resourceRefs=["output/main.md"])
COMMITTED = event(EventType.CHAT_COMMIT_COMPLETED, path="output/main.md", messageId="4", mode="replace")
ASKED_AGAIN = event(EventType.MODEL_COMPLETED, round=2, toolCallCount=2)

STEPS: list[tuple[str, str, list[Event]]] = [
    ("call_model", "transient", [STARTED, FAILED]),
    ("retry_model/backoff", "waited", [SCHEDULED]),
    ("retry_model/attempt", "tools_called", [STARTED_AGAIN, ANSWERED]),
    ("retry_model", "tools_called", []),
    ("dispatch_tools", "commit_asked", [READ]),
    ("commit", "committed", [COMMITTED]),
    ("dispatch_tools", "next_round", []),
    ("call_model", "tools_called", [ASKED_AGAIN]),
]


@given(st.lists(st.integers(0, 8), min_size=len(STEPS), max_size=len(STEPS)))
def test_an_event_stands_on_its_steps_row_however_early_it_is_read(early: list[int]) -> None:
    journal = [event for _, _, own in STEPS for event in own]
    waiting: deque[Event] = deque()
    read, written, rows = 0, 0, list[list[Event]]()

    for (step, outcome, own), ahead in zip(STEPS, early, strict=True):
        written += len(own)
        upto = max(read, min(written + ahead, len(journal)))
        waiting += journal[read:upto]
        read = upto
        rows.append(told_by(step, outcome, waiting))

    assert rows == [own for _, _, own in STEPS]


def test_two_attempts_in_a_row_share_no_event() -> None:
    waiting = deque([STARTED, ANSWERED, STARTED_AGAIN, ASKED_AGAIN])

    assert told_by("call_model", "drifted", waiting) == [STARTED, ANSWERED]
    assert told_by("call_model", "tools_called", waiting) == [STARTED_AGAIN, ASKED_AGAIN]


def test_a_row_says_what_happened_in_plain_words() -> None:
    refused = event(EventType.TOOL_CALL_FAILED, name="workspace.apply_patch", errorCode="workspace.patch_no_change")

    assert row("dispatch_tools", "wrote", 3, [READ, refused]).notes == (
        "read_file output/main.md",
        "apply_patch refused: workspace.patch_no_change",
    )
    assert row("commit", "committed", 3, [COMMITTED]).notes == ("output/main.md -> message 4 (replace)",)
    assert row("call_model", "tools_called", 3, [ANSWERED]).notes == ("round 1: 1 tool call",)


def test_what_a_person_said_stands_on_the_row_of_the_wait() -> None:
    asked = event(EventType.TOOL_CALL_AWAITING_APPROVAL, name="workspace.write_file")
    allowed = event(
        EventType.TOOL_CALL_APPROVED, name="workspace.write_file", editedArgumentsRef="tool-args/c.edited.json"
    )
    denied = event(EventType.TOOL_CALL_DENIED, name="workspace.write_file", reason="too wet")
    waiting = deque([asked, allowed, asked, denied])
    taken = [("dispatch_tools", "approval_needed"), ("await_approval", "decided")] * 2

    notes = [row(*edge, 0, told_by(*edge, waiting)).notes for edge in taken]

    assert notes == [
        ("write_file waits for approval",),
        ("write_file approved, with other arguments",),
        ("write_file waits for approval",),
        ("write_file denied: too wet",),
    ]


def test_further_notes_stand_below_the_first() -> None:
    first, second = lines(Row("dispatch_tools", "wrote", 12.4, ("one", "two")))

    assert first.plain.split() == ["dispatch_tools", "wrote", "12", "ms", "one"]
    assert second.plain.index("two") == first.plain.index("one")


def test_a_step_of_the_sub_graph_is_set_in() -> None:
    (line,) = lines(Row("retry_model/backoff", "waited", 100))

    assert line.plain.startswith("  backoff")


def test_a_long_time_is_told_in_seconds() -> None:
    (line,) = lines(Row("call_model", "tools_called", 61_250))

    assert line.plain.endswith("61.2 s")


def test_words_of_others_are_never_read_as_markup() -> None:
    console = Console(record=True, width=200, force_terminal=False)
    with console.capture() as captured, Timeline(console) as timeline:
        timeline.show(Row("finish", "failed", 1, ("[bold]not bold[/bold]",)), "__end__")

    assert "[bold]not bold[/bold]" in captured.get()


def test_on_a_terminal_long_notes_are_broken_at_words_below_each_other() -> None:
    said = [line.plain for line in lines(Row("finish", "failed", 1, ("why " * 30,)), width=80)]

    assert len(said) > 1
    assert max(map(len, said)) <= 80
    assert len({line.index("why") for line in said}) == 1
    assert sum(line.count("why") for line in said) == 30
