"""The ledger finds what was told, and forgets what no step looks back at."""

from __future__ import annotations

from treadle.graph.events import Event, EventType
from treadle.graph.jsontext import Json
from treadle.storage.ledger import Ledger

PROLOGUE: tuple[tuple[EventType, Json], ...] = (
    (EventType.RUN_CREATED, {"workspaceId": "w"}),
    (EventType.STATUS_CHANGED, {"status": "initializing_workspace"}),
    (EventType.WORKSPACE_INITIALIZED, {"workspaceId": "w"}),
)


def round_of(number: int) -> list[tuple[EventType, Json]]:
    """A round with a write and a commit: half of its events do not name it."""
    call: dict[str, Json] = {"round": number, "callId": f"c{number}"}
    commit: dict[str, Json] = {"commitId": f"commit_{number}", "callId": f"c{number}"}
    return [
        (EventType.STATUS_CHANGED, {"status": "calling_model"}),
        (EventType.MODEL_CALL_ATTEMPT_STARTED, {"round": number, "attempt": 1}),
        (EventType.TOOL_CALL_REQUESTED, call),
        (EventType.CHECKPOINT_CREATED, {"checkpointId": f"ckpt_{number}"}),
        (EventType.CHAT_COMMIT_REQUESTED, commit),
        (EventType.CHAT_COMMIT_COMPLETED, commit),
        (EventType.CHAT_COMMIT_RECORDED, {**call, "commitId": f"commit_{number}", "commitCount": number}),
    ]


def add(ledger: Ledger, told: list[tuple[EventType, Json]] | tuple[tuple[EventType, Json], ...]) -> None:
    ledger.add(Event(1, "evt", "run_1", "t", "info", event_type, payload) for event_type, payload in told)


def test_its_size_is_flat_over_a_thousand_rounds() -> None:
    ledger = Ledger()
    add(ledger, PROLOGUE)
    sizes: set[int] = set()
    for number in range(1, 1001):
        ledger.forget_before(number - 1)
        add(ledger, round_of(number))
        sizes.add(len(ledger))

    assert sizes == {2 + 6, 2 + 12}


def test_what_names_no_round_is_forgotten_with_the_round_it_came_in() -> None:
    ledger = Ledger()
    add(ledger, PROLOGUE)
    for number in (1, 2, 3):
        add(ledger, round_of(number))
    ledger.forget_before(3)

    told = [event.payload["commitId"] for event in ledger.told(EventType.CHAT_COMMIT_REQUESTED)]
    assert told == ["commit_3"]
    assert ledger.find(EventType.CHECKPOINT_CREATED, checkpointId="ckpt_2") is None
    assert ledger.find(EventType.CHECKPOINT_CREATED, checkpointId="ckpt_3") is not None


def test_what_came_before_the_first_round_and_after_the_last_stays() -> None:
    ledger = Ledger()
    add(ledger, [*PROLOGUE, *round_of(1), *round_of(2), (EventType.RUN_COMPLETED, None)])
    ledger.forget_before(2)

    assert ledger.has(EventType.RUN_CREATED, {"workspaceId": "w"})
    assert ledger.has(EventType.RUN_COMPLETED, None)


def test_an_event_that_may_come_again_is_never_held() -> None:
    ledger = Ledger()
    add(ledger, PROLOGUE)

    assert not ledger.has(EventType.STATUS_CHANGED, {"status": "initializing_workspace"})
    assert ledger.told(EventType.STATUS_CHANGED) == []
