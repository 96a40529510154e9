"""`treadle resume` and `treadle cancel`: what to do with a run that is there already."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..graph.errors import InvalidInput
from ..storage.disk import RealDisk
from ..storage.runs import RunRecord, RunStore
from .options import AsJson, Data, RunName, WireLog, Yes, existing_data_root
from .recovery import Going, resume_all, resume_one, show_interrupted

if TYPE_CHECKING:
    from ..engine.engine import Engine

_PATIENCE_SECONDS = 10.0
_GLANCE_SECONDS = 0.1


def resume(
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="The run's id; without it, list those that were interrupted.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", metavar="", help="Go on with every interrupted run, one after another.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", metavar="", help="Go on also where the profile or the machine has changed since."),
    ] = False,
    chat: Annotated[
        Path | None, typer.Option("--chat", metavar="CHAT.jsonl", help="Where the chat is now, if it was moved.")
    ] = None,
    wire_log: WireLog = None,
    data: Data = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Go on with a run that was left or that a crash stopped."""
    _check_named(run, every=every, force=force, chat=chat)
    root = existing_data_root(data)
    if run is None and not every:
        show_interrupted(root, as_json=as_json)
        return
    how = Going(root, force=force, wire_log=wire_log, yes=yes, as_json=as_json)
    if run is None:
        raise typer.Exit(resume_all(how))
    record = RunStore(root, RealDisk()).load(run)
    raise typer.Exit(resume_one(how, record, chat))


def cancel(run: RunName, data: Data = None) -> None:
    """Stop a run, also one that another process drives; what it has committed stays."""
    raise typer.Exit(asyncio.run(_cancel(existing_data_root(data), run)))


def _check_named(run: str | None, *, every: bool, force: bool, chat: Path | None) -> None:
    """Raises InvalidInput for options that have no run, or too many, to hold for."""
    if run is not None and every:
        raise InvalidInput(f"name the run {run}, or say --all, not both")
    if run is None and chat is not None:
        raise InvalidInput("--chat is the chat of one run: name the run")
    if run is None and force and not every:
        raise InvalidInput("--force needs to know for what: name the run, or say --all")


async def _cancel(root: Path, run_id: str) -> int:
    from ..engine.engine import Engine

    async with Engine(root) as engine:
        before = await engine.read_run(run_id)
        await engine.cancel(run_id)
        record = before if before.status.is_terminal else await _ended(engine, run_id)
    if not record.status.is_terminal:
        typer.echo(f"Run {run_id} was asked to stop and has not yet; see: treadle runs show {run_id}")
        return 1
    already = "already " if before.status.is_terminal else ""
    typer.echo(f"Run {run_id}: {already}{str(record.status).replace('_', ' ')}")
    return 0


async def _ended(engine: Engine, run_id: str) -> RunRecord:
    """The record once the driver has obeyed, or as it is when our patience ends."""
    record = await engine.read_run(run_id)
    for _ in range(round(_PATIENCE_SECONDS / _GLANCE_SECONDS)):
        if record.status.is_terminal:
            break
        await asyncio.sleep(_GLANCE_SECONDS)
        record = await engine.read_run(run_id)
    return record
