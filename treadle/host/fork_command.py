"""`treadle runs fork`: a new run that begins where another one stood."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..graph.jsontext import Json
from ..storage.disk import RealDisk
from ..storage.runs import RunStore
from ..views import own_events
from .driving import all_events
from .options import AsJson, Data, RunName, WireLog, Yes, existing_data_root
from .recovery import chat_of

if TYPE_CHECKING:
    from .stage import Stage


def fork(
    run: RunName,
    at: Annotated[int | None, typer.Option("--at", metavar="SEQ", help="As it stood after this event.")] = None,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="CP", help="As it stood after this checkpoint, such as cp_000002.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(metavar="ID|FILE", help="Go on under another profile.", show_default="the run's own")
    ] = None,
    chat: Annotated[
        Path | None, typer.Option("--chat", metavar="CHAT.jsonl", help="Where the chat is now, if it was moved.")
    ] = None,
    run_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Name the fork: the same name and input is the same fork.")
    ] = None,
    wire_log: WireLog = None,
    data: Data = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Make a new run that stands where this one stood, and see it to its end; this one stays as it is."""
    from .stage import Stage  # these here and not above, so that the help comes at once
    from .starting import profile_fields

    root = existing_data_root(data)
    record = RunStore(root, RealDisk()).load(run)
    file = chat or chat_of(root, record)
    stage = Stage.at(file, root, as_json=as_json, wire_log=wire_log, yes=yes)
    fields = {} if profile is None else profile_fields(profile)
    asked = {"profile_id": fields.get("profileId"), "profile": fields.get("profile"), "new_run_id": run_id}
    if sys.stdin.isatty() and not yes:
        typer.confirm(f"Write another reply into {file}?", default=True, abort=True, err=True)
    raise typer.Exit(asyncio.run(_fork(stage, record.id, {"at_seq": at, "checkpoint_id": checkpoint, **asked})))


async def _fork(stage: Stage, run_id: str, asked: dict[str, Json]) -> int:
    async with stage.engine() as engine:
        name = asked["new_run_id"]
        known = isinstance(name, str) and engine.services.store.exists(name)
        handle = await engine.fork_run(run_id, **asked)
        if known:
            end = await stage.go_on(engine, handle.run_id)
        else:
            own = own_events(await all_events(engine, handle.run_id))
            end = await stage.attend(engine, handle.run_id, after_seq=own[0].seq)
    return stage.close(end)
