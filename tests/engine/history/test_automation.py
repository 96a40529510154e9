"""Retention by itself: when it goes, when it goes again, and that it ends with its engine."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from treadle.engine.engine import Engine

from .desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk.at(tmp_path)
    for number in range(2):
        desk.shelf.put(f"run_{number}", created=number)
    return desk


def engine(desk: Desk) -> Engine:
    return Engine(desk.shelf.data_root, clock=desk.clock, disk=desk.shelf.disk)


async def until(so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not so():
            await asyncio.sleep(0.002)


async def after(desk: Desk, seconds: float, sleeps: int) -> None:
    """Let the time go by, and wait until the automation sleeps for the so-manieth time."""
    desk.clock.advance(seconds)
    await until(lambda: len(desk.clock.slept) == sleeps and desk.clock.sleeping == 1)


async def test_it_is_off_unless_the_settings_switch_it_on(desk: Desk) -> None:
    async with engine(desk):
        await asyncio.sleep(0.02)
        assert desk.clock.slept == []
    desk.settings(keepRecentTerminalRuns=0, keepFullRecentRuns=0)
    async with engine(desk):
        await asyncio.sleep(0.02)
        assert desk.clock.slept == []

    assert desk.listed() == ["run_1", "run_0"]


async def test_the_first_pass_comes_after_45_seconds_and_the_next_every_half_hour(desk: Desk) -> None:
    desk.settings(autoPruneEnabled=True, keepRecentTerminalRuns=1, keepFullRecentRuns=1)
    async with engine(desk):
        await until(lambda: desk.clock.sleeping == 1)
        desk.clock.advance(44)
        await asyncio.sleep(0.02)
        assert desk.listed() == ["run_1", "run_0"]

        await after(desk, 1, sleeps=2)
        assert desk.listed() == ["run_1"]
        desk.shelf.put("run_2", created=2)
        await after(desk, 30 * 60, sleeps=3)

    assert desk.listed() == ["run_2"]
    assert desk.clock.slept == [45, 1800, 1800]


async def test_a_pass_that_comes_to_nothing_is_tried_again_after_a_minute(desk: Desk) -> None:
    desk.settings(autoPruneEnabled=True, keepRecentTerminalRuns=1, keepFullRecentRuns=1)
    async with engine(desk) as one:
        await until(lambda: desk.clock.sleeping == 1)
        desk.shelf.disk.fail("read", when="llm-settings.json", error=errno.EIO)
        await after(desk, 45, sleeps=2)
        told = one.retention.automation.last_error
        desk.shelf.disk.heal()
        await after(desk, 60, sleeps=3)

        assert "Input/output error" in str(told)
        assert one.retention.automation.last_error is None
    assert desk.clock.slept == [45, 60, 1800]
    assert desk.listed() == ["run_1"]


async def test_what_is_switched_off_meanwhile_does_nothing(desk: Desk) -> None:
    desk.settings(autoPruneEnabled=True, keepRecentTerminalRuns=0, keepFullRecentRuns=0)
    async with engine(desk):
        await until(lambda: desk.clock.sleeping == 1)
        desk.settings(autoPruneEnabled=False, keepRecentTerminalRuns=0, keepFullRecentRuns=0)
        await after(desk, 45, sleeps=2)

    assert desk.listed() == ["run_1", "run_0"]


async def test_settings_that_can_not_be_read_keep_no_engine_from_reading_runs(desk: Desk) -> None:
    desk.settings(keepAll=True)
    async with engine(desk) as one:
        assert [run.id for run in (await one.list_runs()).runs] == ["run_1", "run_0"]
        assert "$.retention.keepAll is not a known field" in str(one.retention.automation.last_error)

    assert desk.clock.slept == []


async def test_it_ends_with_its_engine(desk: Desk) -> None:
    desk.settings(autoPruneEnabled=True, keepRecentTerminalRuns=0, keepFullRecentRuns=0)
    async with engine(desk) as one:
        await until(lambda: desk.clock.sleeping == 1)
        await one.close()
        desk.clock.advance(3600)
        await asyncio.sleep(0.02)

    assert desk.clock.sleeping == 0
    assert desk.listed() == ["run_1", "run_0"]
