"""Many who follow one run: each gets each event once and in order, and together they cost little more than one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from treadle.engine.engine import Engine
from treadle.engine.subscribing import Handler
from treadle.testkit.replies import Reply

from ..scenarios import words
from ..scenarios.stage import RUN, Stage

MANY = 1000
WHOLE = list(range(1, 55))


async def _follow(engine: Engine, after_seq: int = 0) -> list[int]:
    return [event.seq async for event in engine.subscribe(RUN, after_seq=after_seq)]


async def _slowly(engine: Engine) -> list[int]:
    seen: list[int] = []
    async for event in engine.subscribe(RUN):
        seen.append(event.seq)
        await asyncio.sleep(0.001 * (event.seq % 3))
    return seen


def _into(seen: list[int]) -> Handler:
    return lambda event: seen.append(event.seq)


def _touches(stage: Stage, operation: str) -> int:
    return sum(touch.operation == operation and touch.path.name == "events.jsonl" for touch in stage.disk.log)


async def test_a_thousand_followers_get_each_event_once_and_read_each_page_once(stage: Stage) -> None:
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH) as show:
        await show.start()
        told = await asyncio.gather(*(_follow(show.engine) for _ in range(MANY)))

    assert told == [WHOLE] * MANY
    assert _touches(stage, "read_range") <= _touches(stage, "append") + 1  # one more for the beginning


async def test_a_thousand_that_begin_late_read_what_was_before_once(stage: Stage) -> None:
    await stage.play(words.WRITE, words.COMMIT_AND_FINISH)
    async with stage.show() as show:
        before = _touches(stage, "read_range")
        told = await asyncio.gather(*(_follow(show.engine) for _ in range(MANY)))

    assert told == [WHOLE] * MANY
    assert _touches(stage, "read_range") - before <= 4


async def test_the_slow_the_late_and_those_who_leave_disturb_nobody(stage: Stage) -> None:
    gate = asyncio.Event()

    async def opened() -> Reply:
        await gate.wait()
        return words.WRITE

    async with stage.show(opened, words.COMMIT_AND_FINISH) as show:
        engine = show.engine
        await show.start()
        handled: list[list[int]] = [[] for _ in range(50)]
        leaving: list[list[int]] = [[] for _ in range(50)]
        stays = [engine.subscribe(RUN, _into(seen)) for seen in handled]
        leaves = [engine.subscribe(RUN, _into(seen)) for seen in leaving]
        early = [asyncio.ensure_future(_follow(engine)) for _ in range(50)]
        slow = [asyncio.ensure_future(_slowly(engine)) for _ in range(50)]
        await _until(lambda: all(len(seen) == 11 for seen in (*handled, *leaving)))
        for subscription in leaves:
            subscription.unsubscribe()
        late = [asyncio.ensure_future(_follow(engine, after_seq=number)) for number in range(54)]
        gate.set()
        told = await asyncio.gather(*early, *slow)
        told_late = await asyncio.gather(*late)
        await _until(lambda: all(len(seen) == 54 for seen in handled))
        for subscription in stays:
            subscription.unsubscribe()

    assert told + handled == [WHOLE] * 150
    assert told_late == [WHOLE[number:] for number in range(54)]
    assert leaving == [WHOLE[:11]] * 50


async def test_followers_are_woken_by_each_append_and_need_not_look_themselves(stage: Stage) -> None:
    handled: list[list[int]] = [[] for _ in range(20)]
    async with stage.show(words.WRITE, words.COMMIT_AND_FINISH) as show:
        await show.start()
        stays = [show.engine.subscribe(RUN, _into(seen), interval_ms=3_600_000) for seen in handled]
        await _until(lambda: all(len(seen) == 54 for seen in handled))
        for subscription in stays:
            subscription.unsubscribe()

    assert handled == [WHOLE] * 20


async def _until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not done():
            await asyncio.sleep(0.005)
