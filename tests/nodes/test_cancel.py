"""What a thread waits for is stopped when the signal goes up, before or after it began to wait."""

from __future__ import annotations

from treadle.nodes.cancel import CancelSignal


def test_what_is_open_is_stopped_when_the_signal_goes_up_and_not_after_it_was_left() -> None:
    signal, stopped = CancelSignal(), list[str]()
    with signal.stopping(lambda: stopped.append("left")):
        pass
    with signal.stopping(lambda: stopped.append("open")):
        signal.raise_()

    assert stopped == ["open"]


def test_what_is_opened_after_the_signal_is_stopped_at_once() -> None:
    signal, stopped = CancelSignal(), list[str]()
    signal.raise_()
    with signal.stopping(lambda: stopped.append("late")):
        assert stopped == ["late"]
