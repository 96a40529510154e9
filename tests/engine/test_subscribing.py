"""Following a run: every event once and in order, for an iterator and for a handler."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from treadle.engine.subscribing import PAGE, Subscription
from treadle.graph.errors import InvalidInput, NotFound
from treadle.graph.events import Event
from treadle.testkit.replies import Reply

from ..scenarios import words
from ..scenarios.hosts import never
from ..scenarios.stage import RUN, Stage

WHOLE = list(range(1, 55))


async def _until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not done():
            await asyncio.sleep(0.005)


async def test_an_iterator_gives_every_event_and_ends_with_the_run(stage: Stage) -> None:
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH) as show:
        await show.start()
        live = [event.seq async for event in show.engine.subscribe(RUN)]
        replayed = [event.seq async for event in show.engine.subscribe(RUN)]

    assert live == replayed == WHOLE


async def test_an_iterator_begins_after_the_seq_it_is_given(stage: Stage) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    async with stage.show() as show:
        told = [event.seq async for event in show.engine.subscribe(RUN, after_seq=50)]

    assert told == [51, 52, 53, 54]


async def test_an_iterator_that_begins_at_the_end_ends_at_once(stage: Stage) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    async with stage.show() as show, asyncio.timeout(20):
        told = [event.seq async for event in show.engine.subscribe(RUN, after_seq=WHOLE[-1])]

    assert told == []


async def test_an_iterator_that_begins_at_an_end_that_only_the_journal_tells_ends_too(stage: Stage) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    stage.forget_the_end()
    async with stage.show() as show, asyncio.timeout(20):
        told = [event.seq async for event in show.engine.subscribe(RUN, after_seq=WHOLE[-1])]

    assert told == []


async def test_an_iterator_ends_also_where_the_journal_never_got_the_end(stage: Stage) -> None:
    stage.disk.fail("append", containing=b'"run_failed"')
    before = await stage.play(words.NO_SUCH_MODEL)
    async with stage.show() as show, asyncio.timeout(20):
        told = [event.type async for event in show.engine.subscribe(RUN)]

    assert told == before.types
    assert told[-1] == "model_call_attempt_failed"


class LateEnd:
    """A run that ends while one looks whether it has: its last event comes between the page and the record."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    async def page(self, run_id: str, after_seq: int, limit: int) -> list[Event]:
        return self._events[after_seq : after_seq + limit]

    async def ended(self, run_id: str) -> bool:
        self._events = [Event(1, "evt_1", run_id, "2026-01-01T00:00:00.000Z", "info", "run_completed", None)]
        return True

    def wake(self, run_id: str, callback: Callable[[], None]) -> Callable[[], None]:
        return lambda: None


async def test_an_end_that_comes_while_one_looks_for_it_is_told() -> None:
    async with asyncio.timeout(20):
        told = [event.type async for event in Subscription(LateEnd(), RUN, 0, 500, PAGE)]

    assert told == ["run_completed"]


async def test_an_iterator_follows_a_run_that_another_engine_drives(stage: Stage) -> None:
    gate = asyncio.Event()

    async def opened() -> Reply:
        await gate.wait()
        return words.WRITE

    async with stage.show(opened, words.COMMIT_AND_FINISH) as driver, stage.show() as reader:
        await driver.start()
        following = reader.engine.subscribe(RUN)
        seen: list[int] = []
        async for event in following:
            seen.append(event.seq)
            if event.seq == 11:
                gate.set()

    assert seen == WHOLE


async def test_iterators_do_not_disturb_each_other(stage: Stage) -> None:
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH) as show:
        await show.start()

        async def follow() -> list[int]:
            return [event.seq async for event in show.engine.subscribe(RUN)]

        told = await asyncio.gather(*(follow() for _ in range(3)))

    assert told == [WHOLE] * 3


async def test_a_run_that_nobody_knows_can_not_be_followed(stage: Stage) -> None:
    async with stage.show() as show:
        with pytest.raises(NotFound):
            async for _ in show.engine.subscribe("run_of_nobody"):
                raise AssertionError("there is nothing to tell")
        with pytest.raises(InvalidInput):
            show.engine.subscribe("  ")


async def test_a_handler_gets_the_whole_run_from_its_first_event(stage: Stage) -> None:
    seen: list[int] = []
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH) as show:
        await show.start()
        subscription = show.engine.subscribe(RUN, lambda event: seen.append(event.seq))
        await _until(lambda: len(seen) == 54)
        subscription.unsubscribe()

    assert seen == WHOLE


async def test_a_handler_gets_the_events_after_the_seq_it_is_given(stage: Stage) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    seen: list[int] = []
    async with stage.show() as show:
        subscription = show.engine.subscribe(RUN, lambda event: seen.append(event.seq), after_seq=40, limit=5)
        await _until(lambda: len(seen) == 14)
        subscription.unsubscribe()

    assert seen == WHOLE[40:]


async def test_what_a_handler_raises_goes_to_its_error_handler_and_the_next_events_still_come(stage: Stage) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    seen: list[int] = []
    faults: list[Exception] = []

    def stumble(event: Event) -> None:
        seen.append(event.seq)
        if event.seq % 2:
            raise ZeroDivisionError(event.seq)

    async with stage.show() as show:
        subscription = show.engine.subscribe(RUN, stumble, on_error=faults.append)
        await _until(lambda: len(seen) == 54)
        subscription.unsubscribe()

    assert seen == WHOLE
    assert [fault.args[0] for fault in faults] == WHOLE[::2]


async def test_a_fault_that_nobody_takes_goes_to_the_loop(stage: Stage) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: told.append(context.get("exception")))

    def stumble(event: Event) -> None:
        if event.seq == 3:
            raise ZeroDivisionError

    async with stage.show() as show:
        subscription = show.engine.subscribe(RUN, stumble)
        await _until(lambda: bool(told))
        subscription.unsubscribe()

    assert [type(fault) for fault in told] == [ZeroDivisionError]


async def test_nothing_is_told_after_unsubscribe_and_a_second_one_changes_nothing(stage: Stage) -> None:
    seen: list[int] = []
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH) as show:

        def take_three(event: Event) -> None:
            seen.append(event.seq)
            if event.seq == 3:
                subscription.unsubscribe()

        await show.start()
        subscription = show.engine.subscribe(RUN, take_three)
        await show.engine.wait(RUN)
        subscription.unsubscribe()
        await asyncio.sleep(0.05)

    assert seen == [1, 2, 3]


async def test_a_handler_of_a_run_that_nobody_knows_is_told_so(stage: Stage) -> None:
    faults: list[Exception] = []
    async with stage.show() as show:
        subscription = show.engine.subscribe("run_of_nobody", print, on_error=faults.append)
        await _until(lambda: bool(faults))
        subscription.unsubscribe()

    assert isinstance(faults[0], NotFound)


async def test_a_handler_must_be_callable(stage: Stage) -> None:
    async with stage.show() as show:
        with pytest.raises(InvalidInput):
            show.engine.subscribe(RUN, "print")  # type: ignore[call-overload]  # what a script may do


async def test_an_engine_that_is_closed_leaves_no_handler_waiting_for_ever(stage: Stage) -> None:
    seen: list[int] = []
    async with stage.show(never) as show:
        await show.start()
        subscription = show.engine.subscribe(RUN, lambda event: seen.append(event.seq))
        await _until(lambda: len(seen) == 11)
    subscription.unsubscribe()

    assert seen == WHOLE[:11]
