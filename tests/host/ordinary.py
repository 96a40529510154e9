"""What an ordinary user may do with a data root: `python -m tests.host.ordinary PLAY DATA [COMMAND…]` prints what came of it.

PLAY is `commands`: each COMMAND, a JSON list of arguments in which `DATA` stands for the data root, is typed once; or
`writing`: a run writes below DATA, and its folder becomes read-only in the middle. Both are done in a fork that has
given up root, since root ignores permissions; it is played before on a copy, as whoever we are, so that all that
it needs is imported: the ordinary user may be unable to read the interpreter's own files.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treadle.engine.engine import Engine
from treadle.graph.errors import TreadleError
from treadle.host.cli import exit_code
from treadle.storage.database import RunDatabase
from treadle.storage.disk import RealDisk
from treadle.storage.runs import DATABASE, RunStore
from treadle.testkit.ports import ManualClock
from treadle.testkit.replies import Reply

from ..scenarios import words
from ..scenarios.script import ByRound
from ..scenarios.stage import RUN, Stage

NOBODY = 65534


def commands(data: Path, lines: list[list[str]]) -> list[Any]:
    """Exit code and what was said, of each."""
    return [_typed([argument.replace("DATA", str(data)) for argument in line]) for line in lines]


def _typed(arguments: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = exit_code(arguments)
    return code, out.getvalue(), err.getvalue()


def database(data: Path, _: list[list[str]]) -> list[Any]:
    """What every run's database says of marks and leases."""
    found: list[Any] = []
    store = RunStore(data, RealDisk())
    for name in store.names():
        one = RunDatabase(store.folder(store.load(name)) / DATABASE, clock=ManualClock())
        found.append([one.marked("word"), one.lease() is not None])
    return found


def writing(data: Path, _: list[list[str]]) -> list[Any]:
    """How the run stopped when its folder became read-only, and how it ended when it could be written again."""
    return asyncio.run(_write(data))


async def _write(folder: Path) -> list[Any]:
    stage = Stage(folder)

    async def shut() -> Reply:
        _permit(stage.run_folder(), 0o555)
        return words.COMMIT_AND_FINISH

    told: list[Any] = []
    async with stage.engine(ByRound(words.WRITE, shut), stage.host) as engine:
        await engine.start_run_with_prompt_snapshot(stage.request())
        told.append(await _outcome(engine))
    _permit(stage.run_folder(), 0o755)
    async with stage.engine(ByRound(words.WRITE, words.COMMIT_AND_FINISH), stage.host) as engine:
        await engine.resume_run(RUN)
        told.append(await _outcome(engine))
    return told


async def _outcome(engine: Engine) -> list[str]:
    try:
        record = await engine.wait(RUN)
        said = str(record.status)
    except TreadleError as error:
        said = str(error)
    events = await engine.read_events(RUN, before_seq=sys.maxsize, limit=1)
    return [said, events[-1].type, str(events[-1].payload["message"]) if events[-1].payload else ""]


def _permit(folder: Path, mode: int) -> None:
    for path in (folder, *(each for each in folder.rglob("*") if each.is_dir())):
        path.chmod(mode)


PLAYS: dict[str, Callable[[Path, list[list[str]]], list[Any]]] = {
    "commands": commands,
    "database": database,
    "writing": writing,
}


def main(play: str, data: Path, lines: list[list[str]]) -> None:
    with tempfile.TemporaryDirectory() as warm:
        shutil.copytree(data, Path(warm) / "data")
        PLAYS[play](Path(warm) / "data", lines)
    told, say = os.pipe()
    child = os.fork()
    if child == 0:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        os.write(say, json.dumps(PLAYS[play](data, lines)).encode())
        os._exit(0)
    os.close(say)
    with os.fdopen(told, "rb") as pipe:
        print(pipe.read().decode())
    os.waitpid(child, 0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), [json.loads(line) for line in sys.argv[3:]])
