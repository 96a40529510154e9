"""Every invariant is seen to fail, each by a run that is wrong in just that."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from treadle.graph.jsontext import Json
from treadle.testkit.crashes.checking import Kill, check, unstored
from treadle.testkit.crashes.left import Left
from treadle.testkit.crashes.questions import Question

KILL = Kill("somewhere", leaves_temporary=False, unstored=None)
LOST = Kill("at the model", leaves_temporary=True, unstored=(1, 1))


def events(*told: tuple[str, Json]) -> tuple[dict[str, Json], ...]:
    return tuple(
        {"seq": seq, "id": f"evt_{seq}", "type": kind, "payload": payload}
        for seq, (kind, payload) in enumerate(told, start=1)
    )


RESUME: tuple[str, Json] = ("run_resumed", {"epoch": 2})
STORY: list[tuple[str, Json]] = [
    ("run_created", {"workspaceId": "w"}),
    ("model_call_attempt_started", {"round": 1, "attempt": 1}),
    ("model_response_stored", {"round": 1, "responseId": "r1"}),
    ("tool_call_completed", {"round": 1, "callId": "c", "elapsedMs": 3}),
    ("run_completed", None),
]
WHOLE = Left(
    events=events(*STORY),
    damaged=(),
    statuses={"run.json": "completed", "index": "completed"},
    files={"output/main.md": "Tea."},
    effects=Counter({("replace", "output/main.md", "sha"): 1}),
    asked=(Question(1, 1, "{}"),),
    temporary=(),
    outside=[{"text": "Tea.", "commits": ["c1"]}],
)
RESUMED = replace(WHOLE, events=events(*STORY[:2], RESUME, *STORY[2:]))


def broken(found: Left, *kills: Kill) -> list[str]:
    return [fault.invariant for fault in check(WHOLE, found, kills or (KILL,))]


def test_a_run_that_went_on_as_it_should_breaks_nothing() -> None:
    slower: tuple[str, Json] = ("tool_call_completed", {"round": 1, "callId": "c", "elapsedMs": 9})

    assert broken(RESUMED) == []
    assert broken(replace(RESUMED, events=events(*STORY[:3], slower, *STORY[4:]))) == []


@pytest.mark.parametrize(
    ("found", "invariant"),
    [
        (replace(WHOLE, events=events(*STORY[:3], STORY[4])), "the same events in the same order"),
        (
            replace(WHOLE, events=events(*STORY[:4], ("run_completed", {"x": 1}))),
            "the same events in the same order",
        ),
        (
            replace(WHOLE, events=(*WHOLE.events[:-1], {**WHOLE.events[-1], "seq": 7})),
            "seq counts from 1 without a gap",
        ),
        (replace(WHOLE, events=(*WHOLE.events[:-1], {**WHOLE.events[-1], "id": "evt_1"})), "event ids differ"),
        (replace(WHOLE, events=events(*STORY, STORY[-1])), "one terminal event"),
        (replace(WHOLE, events=events(*STORY[:-1])), "one terminal event"),
        (
            replace(WHOLE, events=events(*STORY, ("status_changed", {"status": "failed"}))),
            "nothing of the run after its terminal event",
        ),
        (
            replace(WHOLE, events=events(STORY[0], RESUME, RESUME, *STORY[1:])),
            "each kill is told by one resume at most",
        ),
        (replace(WHOLE, damaged=("{half",)), "every line of the journal is an event"),
        (
            replace(WHOLE, statuses={"run.json": "completed", "index": "finishing"}),
            "records and journal tell one status",
        ),
        (replace(WHOLE, files={"output/main.md": "Tea.Tea."}), "the same files"),
        (replace(WHOLE, outside=[*WHOLE.outside, *WHOLE.outside]), "the same outside"),
        (replace(WHOLE, effects=Counter({("replace", "output/main.md", "sha"): 2})), "each effect once"),
        (replace(WHOLE, asked=()), "every answer was asked for"),
        (replace(WHOLE, asked=WHOLE.asked * 2), "no stored answer is paid for twice"),
        (replace(WHOLE, asked=(Question(1, 1, "[]"),)), "the same questions to the model"),
        (replace(WHOLE, temporary=("run.json.0123456789abcdef.tmp",)), "no temporary file but of a write cut off"),
    ],
)
def test_what_is_wrong_with_a_run_is_found(found: Left, invariant: str) -> None:
    assert invariant in broken(found)


def test_an_answer_that_was_not_stored_is_asked_for_once_more_for_each_kill() -> None:
    assert broken(replace(RESUMED, asked=WHOLE.asked * 2), LOST) == []
    assert broken(replace(RESUMED, asked=WHOLE.asked * 3), LOST) == ["no stored answer is paid for twice"]
    assert broken(replace(RESUMED, asked=WHOLE.asked * 3), LOST, LOST) == []


def test_a_write_that_was_cut_off_explains_one_temporary_file() -> None:
    assert broken(replace(RESUMED, temporary=("a",)), LOST) == []
    assert broken(replace(RESUMED, temporary=("a", "b")), LOST) == ["no temporary file but of a write cut off"]


def test_a_session_is_replayed_once_after_each_kill() -> None:
    replay: tuple[str, Json] = ("provider_session_replayed", {"round": 1})
    once = replace(WHOLE, events=events(*STORY[:2], replay, *STORY[2:]))
    twice = replace(WHOLE, events=events(*STORY[:2], replay, replay, *STORY[2:]))

    assert broken(once) == []
    assert broken(twice) == ["the same events in the same order"]


@pytest.mark.parametrize(
    ("length", "key"),
    [(1, None), (2, (1, 1)), (3, None)],
)
def test_an_answer_is_unstored_from_the_start_of_its_attempt_until_it_is_told(
    length: int, key: tuple[int, int] | None
) -> None:
    assert unstored(replace(WHOLE, events=events(*STORY[:length]))) == key


def test_a_fault_shows_what_was_expected_and_what_was_found() -> None:
    (fault,) = check(WHOLE, replace(WHOLE, files={"output/main.md": "Milk."}), (KILL,))

    assert '- "output/main.md": "Tea."' in str(fault)
    assert '+ "output/main.md": "Milk."' in str(fault)
