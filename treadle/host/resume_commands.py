"""`treadle resume` and `treadle cancel`: what to do with a run that is there already."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ..graph.errors import InvalidInput
from ..graph.jsontext import Json
from ..storage.disk import RealDisk
from ..storage.runs import GENERATION_INTENT, RunRecord, RunStore
from .options import CHAT_FILE, AsJson, Data, RunName, WireLog, Yes, existing_data_root, read_json

if TYPE_CHECKING:
    from ..engine.engine import Engine
    from .stage import Stage

_PATIENCE_SECONDS = 10.0
_GLANCE_SECONDS = 0.1


def resume(
    run: RunName,
    chat: Annotated[
        Path | None, typer.Option("--chat", metavar="CHAT.jsonl", help="Where the chat is now, if it was moved.")
    ] = None,
    wire_log: WireLog = None,
    data: Data = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Go on with a run that was left or that a crash stopped."""
    from .stage import Stage  # here and not above, so that the help comes at once

    root = existing_data_root(data)
    record = RunStore(root, RealDisk()).load(run)
    stage = Stage.at(chat or chat_of(root, record), root, as_json=as_json, wire_log=wire_log, yes=yes)
    raise typer.Exit(asyncio.run(_resume(stage, record.id)))


def cancel(run: RunName, data: Data = None) -> None:
    """Stop a run, also one that another process drives; what it has committed stays."""
    raise typer.Exit(asyncio.run(_cancel(existing_data_root(data), run)))


def chat_of(root: Path, record: RunRecord) -> Path:
    """The chat file that the run was started on from the command line; raises InvalidInput where none is known."""
    intent_file = RunStore(root, RealDisk()).folder(record) / GENERATION_INTENT
    intent: Json = read_json(intent_file, "the run's intent") if intent_file.exists() else None
    known = cast(dict[str, Json], intent).get(CHAT_FILE) if isinstance(intent, dict) else None
    if not isinstance(known, str):
        raise InvalidInput(f"run {record.id} was not started from the command line; name its chat with --chat")
    return Path(known)


async def _resume(stage: Stage, run_id: str) -> int:
    async with stage.engine() as engine:
        end = await stage.go_on(engine, run_id)
    return stage.close(end)


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
