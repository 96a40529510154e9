"""A worker is stopped, its lease runs out, another takes its run over: when the first wakes, it changes nothing."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from treadle.graph.errors import RunBusy
from treadle.graph.jsontext import Json
from treadle.graph.ports import WireReply, WireRequest

from ..scenarios.hosts import SlowHost
from ..scenarios.stage import RUN, Played, Stage
from . import stopping

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGSTOP")


class Worker:
    """The program that is stopped."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self._program = program
        self._stands_still = False

    def play(self, point: str, folder: Path) -> None:
        """A run, up to the point at which it stands still."""
        if self._stands_still:  # in a test that failed
            self.wake()
        self._stands_still = True
        assert self._say(f"{point} {folder}") == "stopped"

    def wake(self) -> str:
        """Go on to the end, and say how that was."""
        self._stands_still = False
        return self._say("go on")

    def _say(self, line: str) -> str:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(f"{line}\n")
        self._program.stdin.flush()
        return self._program.stdout.readline().strip()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    command = [sys.executable, "-m", stopping.__name__]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        yield Worker(program)
        program.communicate(timeout=30)


@pytest.mark.parametrize(
    "point", ["in_call", "before_the_state_is_saved", pytest.param("before_the_effect", marks=pytest.mark.slow)]
)
def test_a_worker_that_wakes_while_another_drives_its_run_changes_nothing(
    worker: Worker, tmp_path: Path, point: str
) -> None:
    worker.play(point, tmp_path)
    woken = asyncio.run(_woken_in_the_middle(worker, tmp_path))

    assert woken.outcome == "agent.run_busy"
    assert woken.after == woken.before
    _ended_once(woken.played)


@pytest.mark.slow
def test_nor_does_one_whose_first_thought_is_to_keep_its_lease(worker: Worker, tmp_path: Path) -> None:
    worker.play("in_call", tmp_path)
    (tmp_path / "slept").write_text("3600")
    woken = asyncio.run(_woken_in_the_middle(worker, tmp_path))

    assert woken.outcome == "agent.run_busy"
    assert woken.after == woken.before
    _ended_once(woken.played)


@pytest.mark.parametrize(
    "point",
    [
        "before_the_commit",
        *(pytest.param(point, marks=pytest.mark.slow) for point in ("in_call", "before_the_note", "before_the_end")),
    ],
)
def test_nor_does_one_that_wakes_when_the_run_has_ended_and_it_is_told_how(
    worker: Worker, tmp_path: Path, point: str
) -> None:
    """It is the chat, then, that knows what it has been given before."""
    worker.play(point, tmp_path)
    played = asyncio.run(_taken_over(tmp_path))
    left = _all_there_is(tmp_path)

    assert worker.wake() == "completed"
    assert _all_there_is(tmp_path) == left
    _ended_once(played)


@pytest.mark.slow
@pytest.mark.parametrize("point", ["before_the_commit", "before_the_note"])
def test_where_both_are_at_the_chat_it_is_given_the_same_and_keeps_it_once(
    worker: Worker, tmp_path: Path, point: str
) -> None:
    """The first had asked before it was taken over: the chat may still take it from the first, and the run does not."""
    worker.play(point, tmp_path)
    woken = asyncio.run(_woken_in_the_middle(worker, tmp_path))
    changed = {path for path, was in woken.before.items() if woken.after[path] != was}

    assert woken.outcome == "agent.run_busy"
    assert {Path(path).name for path in changed} == {"tea.jsonl"}
    _ended_once(woken.played)


@pytest.mark.slow  # the one who would take over waits for the change to end, for as long as it may
def test_a_worker_that_is_stopped_inside_a_change_can_not_be_taken_over_and_ends_its_run_itself(
    worker: Worker, tmp_path: Path
) -> None:
    worker.play("inside_the_guard", tmp_path)
    with pytest.raises(RunBusy):
        asyncio.run(_taken_over(tmp_path))

    assert worker.wake() == "completed"
    played = asyncio.run(_read(tmp_path))
    assert "run_resumed" not in played.types
    assert _commits(played) == 1


@pytest.mark.slow
def test_a_worker_that_wakes_before_anybody_took_over_goes_on(worker: Worker, tmp_path: Path) -> None:
    worker.play("in_call", tmp_path)
    (tmp_path / "slept").write_text("3600")

    assert worker.wake() == "completed"
    assert "run_resumed" not in asyncio.run(_read(tmp_path)).types


async def _taken_over(folder: Path) -> Played:
    """The run, driven to its end by an engine of this process, an hour later."""
    stage = Stage.found(folder)
    stage.clock.advance(3600)
    async with stage.engine(stopping.Model(), stage.host) as engine:
        await engine.resume_run(RUN)
        await engine.wait(RUN)
        return await stage.played(engine)


class Woken(NamedTuple):
    outcome: str
    """Of the worker that was stopped."""
    before: dict[str, object]
    after: dict[str, object]
    played: Played


async def _woken_in_the_middle(worker: Worker, folder: Path) -> Woken:
    """The first worker wakes, and comes to its end, while another has its run and waits for the model or the chat."""
    stage, gate = Stage.found(folder), asyncio.Event()
    stage.clock.advance(3600)
    model, host = Gated(gate), SlowHost(stage.host, commit=gate.wait, metadata=gate.wait)
    async with stage.engine(model, host) as engine:
        await engine.resume_run(RUN)
        waits = [asyncio.create_task(model.reached.wait()), asyncio.create_task(host.reached.wait())]
        _, others = await asyncio.wait(waits, timeout=30, return_when=asyncio.FIRST_COMPLETED)
        for other in others:
            other.cancel()
        before = _all_there_is(folder)
        outcome = await asyncio.to_thread(worker.wake)
        after = _all_there_is(folder)
        gate.set()
        await engine.wait(RUN)
        return Woken(outcome, before, after, await stage.played(engine))


class Gated(stopping.Model):
    """Answers no request before the gate is open."""

    def __init__(self, gate: asyncio.Event) -> None:
        super().__init__()
        self._gate = gate
        self.reached = asyncio.Event()

    async def send(self, request: WireRequest) -> WireReply:
        self.reached.set()
        await self._gate.wait()
        return await super().send(request)


async def _read(folder: Path) -> Played:
    stage = Stage.found(folder)
    async with stage.engine() as engine:
        return await stage.played(engine)


def _all_there_is(folder: Path) -> dict[str, object]:
    """Every file, its bytes and which file it is; of the database, the rows."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != stopping.OUTCOME:
            found[str(path)] = (path.stat().st_ino, path.read_bytes()) if "run.sqlite" not in path.name else None
    (database,) = folder.rglob("run.sqlite")
    with closing(sqlite3.connect(database)) as connection:
        found[str(database)] = list(connection.iterdump())
    return {key: value for key, value in found.items() if value is not None}


def _ended_once(played: Played) -> None:
    """As if nothing had been, but that the run was resumed."""
    assert played.types[-1] == "run_completed"
    assert [event.seq for event in played.events] == list(range(1, len(played.events) + 1))
    assert [event.payload["epoch"] for event in played.events if event.type == "run_resumed"] == [2]
    assert played.files == {"output/main.md": stopping.TEXT, "persist/notes.md": "The tide owns a kettle.\n"}
    assert [message["mes"] for message in played.messages[2:]] == [stopping.TEXT]
    assert _commits(played) == 1


def _commits(played: Played) -> int:
    """How often the run's message says that it was committed."""
    notes: Json = played.messages[-1]["extra"]["tauritavern"]["agent"]
    return len(notes["commits"])
