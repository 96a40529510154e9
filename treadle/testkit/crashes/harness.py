"""Kills a run at a point, lets another process go on, and checks what comes of it; at one point, or at all."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...graph.errors import InvalidInput, NotFound
from ..ports import NEW_YEAR, ManualClock
from .checking import Fault, Kill, check, unstored
from .left import Left, left
from .play import Play, Stage
from .points import WITHIN, Operation, Point, points_of, sampled
from .processes import run_forked, serving, trouble, warm
from .questions import Questions
from .watching import Chance, Doom, Watch, WatchedDisk, watched_connect

OPERATIONS: Final = "operations.json"
_HOUR: Final = 3600.0
_EARLY: Final = 12
"""Of a resume's operations, the first ones are its own; half of the second kills come there."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A play that was left alone: where it can be killed, and what it leaves."""

    points: tuple[Point, ...]
    left: Left


@dataclass(frozen=True, slots=True)
class Struck:
    """A point at which the run was killed, and what did not hold afterwards."""

    point: Point
    again: Chance | None
    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        second = "" if self.again is None else f", and while it was resumed at {self.again}"
        return "\n".join([f"killed {self.point}{second}", *(f"- {fault}" for fault in self.faults)])


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a play that was killed everywhere."""

    points: int
    faults: tuple[Struck, ...]
    """The points after which something did not hold; their folders are kept."""
    seconds: float


def crash_points(play: Play, folder: Path) -> Whole:
    """Play it whole, below a folder that must not exist yet, and tell every point at which it can be killed.

    Raises InvalidInput where the play does not come to its end, where it is not sound in itself, and where this
    process can't be forked: it has other threads, or the system has no fork (Windows).
    """
    warm()
    with _set(play, folder) as address:
        ended = run_forked(lambda: asyncio.run(_begin(play, folder, address, None)), folder)
    if ended != "done":
        raise InvalidInput(f"the play did not come to its end: {trouble(folder) or ended}")
    operations = [Operation(**told) for told in json.loads((folder / OPERATIONS).read_text("utf-8"))]
    whole = left(folder, play.run_id, play.outside)
    unsound = check(whole, whole, (), same_requests=play.same_requests)
    if unsound:
        raise InvalidInput("\n".join(["the play is not sound though nothing was killed", *map(str, unsound)]))
    return Whole(points_of(operations), whole)


def crash_at(play: Play, whole: Whole, point: Point, folder: Path, *, again: Chance | None = None) -> Struck:
    """Play it below a folder that must not exist yet, kill it at the point, and see it to its end in another process.

    `again`: the process that resumes is killed too, and a third one goes on. Raises InvalidInput where this process
    can't be forked.
    """
    warm()
    kills: list[Kill] = []
    with _set(play, folder) as address:
        ended = run_forked(lambda: asyncio.run(_begin(play, folder, address, point)), folder)
        if ended != "killed":
            return Struck(point, again, (Fault("the point is reached", f" {ended} {trouble(folder)}"),))
        kills.append(_kill(play, folder, str(point), cuts_file=point.moment == WITHIN))
        if again is not None:
            ended = run_forked(lambda: asyncio.run(_go_on(play, folder, address, 1, again)), folder)
            if ended == "killed":
                kills.append(_kill(play, folder, str(again), cuts_file=True))
        if again is None or ended == "killed":
            ended = run_forked(lambda: asyncio.run(_go_on(play, folder, address, 2, None)), folder)
    if ended != "done":
        return Struck(point, again, (Fault("the run goes on", f" {trouble(folder) or ended}"),))
    found = left(folder, play.run_id, play.outside)
    return Struck(point, again, tuple(check(whole.left, found, kills, same_requests=play.same_requests)))


def crash_everywhere(
    play: Play,
    folder: Path,
    *,
    sample: int | None = None,
    seed: int = 0,
    share: tuple[int, int] = (1, 1),
    tell: Callable[[Struck], None] | None = None,
) -> Report:
    """Kill the play at each of its points, or at `sample` of them, chosen by `seed`: one of each sort first.

    The folder is made; what is left of a point without a fault is removed. `share`: the first number's part of as many
    as the second says, for several processes that divide the work. `tell` is given each point when it is done. Raises
    as `crash_points` does.
    """
    began = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    whole = crash_points(play, folder / "whole")
    points = whole.points if sample is None else sampled(whole.points, sample, seed)
    number, of = share
    struck: list[Struck] = []
    mine = list(enumerate(points, start=1))[number - 1 :: of]
    for place, point in mine:
        here = folder / f"at-{place}"
        done = crash_at(play, whole, point, here, again=_second(point, whole, seed))
        struck.append(done)
        if not done.faults:
            shutil.rmtree(here)
        if tell is not None:
            tell(done)
    return Report(len(mine), tuple(done for done in struck if done.faults), time.monotonic() - began)


def _second(point: Point, whole: Whole, seed: int) -> Chance:
    """Where the resume is killed: the same for the same point and seed, and sometimes past its end."""
    chance = random.Random(f"{seed} {point}")
    early = chance.random() < 0.5
    last = _EARLY if early else max(_EARLY, len(whole.points) // 3)
    return Chance(chance.randint(1, last), chance.randrange(12))


@contextmanager
def _set(play: Play, folder: Path) -> Generator[str]:
    """The play's folder, and the address of its model while the block runs."""
    folder.mkdir(parents=True)
    provider = play.provider
    if provider is None:
        yield ""
        return
    with serving(lambda: provider(Questions(folder)), folder) as address:
        yield address


async def _begin(play: Play, folder: Path, address: str, doom: Doom | None) -> None:
    watch = Watch(folder, play.run_id, doom)
    stage = _stage(folder, address, 0, watch)
    await play.prepare(stage)
    watch.begin()
    async with play.engine(stage) as engine:
        await engine.start_run_with_prompt_snapshot(play.request(stage))
        await play.attend(engine, play.run_id)
    told = [operation.to_json() for operation in watch.operations]
    (folder / OPERATIONS).write_text(json.dumps(told), "utf-8")


async def _go_on(play: Play, folder: Path, address: str, number: int, doom: Doom | None) -> None:
    """Resume the run; one that was killed before it existed is started again, by its name."""
    watch = Watch(folder, play.run_id, doom)
    stage = _stage(folder, address, number, watch)
    watch.begin()
    async with play.engine(stage) as engine:
        try:
            await engine.resume_run(play.run_id)
        except NotFound:
            await engine.start_run_with_prompt_snapshot(play.request(stage))
        await play.attend(engine, play.run_id)


def _stage(folder: Path, address: str, number: int, watch: Watch) -> Stage:
    clock = ManualClock(NEW_YEAR + number * _HOUR)
    questions = Questions(folder)
    return Stage(folder, questions, address, WatchedDisk(watch), watched_connect(watch), clock, _Ids(number))


def _kill(play: Play, folder: Path, where: str, *, cuts_file: bool) -> Kill:
    return Kill(where, cuts_file, unstored(left(folder, play.run_id, lambda _: None)))


class _Ids:
    """Ids that no other process of the play gives."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._given = 0
        self._lock = threading.Lock()

    def new(self) -> str:
        with self._lock:
            self._given += 1
            return f"{self._number:08x}{self._given:024x}"
