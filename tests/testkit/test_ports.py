"""Ids that count, and a clock that moves only when it is told."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from treadle.testkit.ports import NEW_YEAR, CountingIds, ManualClock


def test_ids_count_and_have_the_shape_of_real_ones() -> None:
    ids = CountingIds()

    assert [ids.new(), ids.new()] == ["0" * 31 + "1", "0" * 31 + "2"]


def test_threads_never_share_an_id() -> None:
    ids = CountingIds()
    with ThreadPoolExecutor(8) as pool:
        given = [asked.result() for asked in [pool.submit(ids.new) for _ in range(500)]]

    assert len(set(given)) == 500


def test_a_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock()
    before = clock.now()
    clock.advance(2.5)

    assert before == NEW_YEAR
    assert clock.now() == clock.monotonic() == NEW_YEAR + 2.5


async def test_a_sleep_moves_the_time_on_at_once() -> None:
    clock = ManualClock()
    await clock.sleep(3600)

    assert clock.now() == NEW_YEAR + 3600
    assert clock.slept == [3600]


async def test_sleepers_wait_until_the_time_has_been_moved_past_their_end() -> None:
    clock = ManualClock(sleepers_wait=True)
    short, long = (asyncio.create_task(clock.sleep(seconds)) for seconds in (1, 10))
    await asyncio.sleep(0)
    clock.advance(1)
    await short

    assert clock.sleeping == 1
    clock.advance(9)
    await long
    assert clock.sleeping == 0


async def test_a_sleeper_that_is_cancelled_is_forgotten() -> None:
    clock = ManualClock(sleepers_wait=True)
    task = asyncio.create_task(clock.sleep(1))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert clock.sleeping == 0
