"""Interrupted runs from the command line: which there are, and going on with one of them or with all."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from ..graph.errors import InvalidInput, TreadleError
from ..graph.jsontext import Json
from ..graph.status import RunStatus
from ..storage.disk import RealDisk
from ..storage.leases import LEASE_MS
from ..storage.runs import GENERATION_INTENT, RunRecord, RunStore
from ..storage.wire_log import WireLevel
from .ending import Ending, print_json
from .options import CHAT_FILE, program, read_json
from .reading import read
from .tables import interrupted_table, to_screen

if TYPE_CHECKING:
    from ..engine.recovering import InterruptedRun
    from .stage import Stage


@dataclass(frozen=True, slots=True)
class Going:
    """How a command goes on with runs."""

    root: Path
    force: bool
    wire_log: WireLevel | None
    yes: bool
    as_json: bool


def show_interrupted(root: Path, *, as_json: bool) -> None:
    """The runs that have not ended and that nobody drives."""
    found = read(root, lambda engine: engine.recover())
    if as_json:
        print_json([run.to_json() for run in found])
    elif found:
        to_screen(interrupted_table(found))
        typer.echo(f"Go on with one: {program()} resume RUN; with all: {program()} resume --all")
    else:
        typer.echo(f"No run is interrupted. One whose process was killed is free {LEASE_MS // 1000} s after.")


def resume_one(how: Going, record: RunRecord, chat: Path | None) -> int:
    """Go on with the run, show how it ended; the exit code."""
    stage = _stage(how, record, chat)
    return stage.close(asyncio.run(_driven(how, stage, record.id)))


def resume_all(how: Going) -> int:
    """Go on with each interrupted run, one after another; 0 where all completed, 130 once a person stopped one, else 1.

    What stops one is told on stderr and stops none of the others.
    """
    found = read(how.root, lambda engine: engine.recover())
    if not found and not how.as_json:
        show_interrupted(how.root, as_json=False)
    code, told = 0, list[Json]()
    for run in found:
        try:
            end = _went_on(how, run)
        except TreadleError as error:
            code = 1
            told.append({"runId": run.run_id, "error": {"code": error.error_code, "message": error.message}})
            print(f"treadle: run {run.run_id}: {error.message} ({error.error_code})", file=sys.stderr)
            continue
        told.append(end.to_json())
        if end.record.status is RunStatus.CANCELLED and run.status is not RunStatus.CANCELLING:
            print("treadle: stopped; the runs after it are as they were", file=sys.stderr)
            code = end.exit_code
            break
        code = code or min(end.exit_code, 1)
    if how.as_json:
        print_json(told)
    return code


def _went_on(how: Going, run: InterruptedRun) -> Ending:
    """One of many, shown as it ended; raises what its files, its chat or a change since its start refuse."""
    if run.error is not None:
        raise run.error
    record = RunStore(how.root, RealDisk()).load(run.run_id)
    stage = _stage(how, record)
    if not how.as_json:
        typer.echo(f"Run {record.id} goes on.")
    end = asyncio.run(_driven(how, stage, record.id))
    if not how.as_json:
        stage.close(end)
    return end


async def _driven(how: Going, stage: Stage, run_id: str) -> Ending:
    async with stage.engine() as engine:
        return await stage.go_on(engine, run_id, force=how.force)


def _stage(how: Going, record: RunRecord, chat: Path | None = None) -> Stage:
    from .stage import Stage  # here and not above, so that the help comes at once

    where = chat or chat_of(how.root, record)
    return Stage.at(where, how.root, as_json=how.as_json, wire_log=how.wire_log, yes=how.yes)


def chat_of(root: Path, record: RunRecord) -> Path:
    """The chat file that the run was started on from the command line; raises InvalidInput where none is known."""
    intent_file = RunStore(root, RealDisk()).folder(record) / GENERATION_INTENT
    intent: Json = read_json(intent_file, "the run's intent") if intent_file.exists() else None
    known = cast(dict[str, Json], intent).get(CHAT_FILE) if isinstance(intent, dict) else None
    if not isinstance(known, str):
        raise InvalidInput(f"run {record.id} was not started from the command line; name its chat with --chat")
    return Path(known)
