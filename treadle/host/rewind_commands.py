"""`treadle runs diff`, `checkpoints` and `rollback`: what a run changed, and going back to a moment of it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from ..graph.errors import InvalidInput
from ..storage.runs import RunRecord
from .chat_folder import ChatFolderHost
from .ending import print_json
from .options import AsJson, Data, RunName, Yes, existing_data_root
from .reading import read
from .recovery import chat_of
from .tables import checkpoint_table, to_screen

if TYPE_CHECKING:
    from ..engine.engine import Engine
    from ..engine.rewinding.diffing import FileDiff

CHECKPOINT = "CHECKPOINT"


class Scope(StrEnum):
    """What is put back."""

    WORKSPACE = "workspace"
    COMMITTED_MESSAGE = "committed-message"


def diff(
    run: RunName,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Only these files and folders.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar=CHECKPOINT, help="From there.", show_default="the run's start")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar=CHECKPOINT, help="To there.", show_default="what stands on disk")
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """What changed in a run's files, as a diff that patch -p1 and git apply take."""
    found = read(existing_data_root(data), lambda engine: engine.read_diff(run, start, end, paths or None))
    if as_json:
        print_json(found.to_json())
        return
    lines = [line for file in found.files for line in _shown(file)]
    if sys.stdout.isatty():
        _print_coloured(lines)
    else:
        sys.stdout.write("".join(lines))


def checkpoints(run: RunName, data: Data = None, as_json: AsJson = False) -> None:
    """The moments that a run's files are kept of: what diff and rollback take."""
    found = read(existing_data_root(data), lambda engine: engine.list_checkpoints(run))
    if as_json:
        print_json([one.to_json() for one in found])
    else:
        to_screen(checkpoint_table(found))


def rollback(
    run: RunName,
    checkpoint: Annotated[str, typer.Argument(metavar=CHECKPOINT, help="Such as cp_000002.")],
    scope: Annotated[Scope, typer.Option(help="The run's files, or its message in the chat.")] = Scope.WORKSPACE,
    chat: Annotated[
        Path | None, typer.Option("--chat", metavar="CHAT.jsonl", help="Where the chat is now, if it was moved.")
    ] = None,
    data: Data = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Put a run's files, or its message in the chat, back as they were at a checkpoint."""
    root = existing_data_root(data)
    record = read(root, lambda engine: engine.read_run(run))
    at = (chat or chat_of(root, record)) if scope is Scope.COMMITTED_MESSAGE else None
    told = read(root, lambda engine: _plan(engine, record, checkpoint, at))
    for line in told:
        typer.echo(line, err=True)
    if not yes:
        if not sys.stdin.isatty():
            raise InvalidInput("there is no terminal to ask at; add --yes to do it. Nothing was changed")
        typer.confirm("Do it?", abort=True, err=True)
    asyncio.run(_roll_back(root, record, checkpoint, scope, at, as_json=as_json))


async def _roll_back(
    root: Path, record: RunRecord, checkpoint: str, scope: Scope, chat: Path | None, *, as_json: bool
) -> None:
    from ..engine.engine import Engine

    host = None if chat is None else ChatFolderHost.for_chat(chat)[0]
    async with Engine(root, host) as engine:
        done = await engine.rollback(record.id, checkpoint, scope.value)
    if as_json:
        print_json(done.to_json())
    else:
        what = "files are" if scope is Scope.WORKSPACE else "message is"
        typer.echo(f"Run {record.id}: its {what} as at {checkpoint}.")


async def _plan(engine: Engine, record: RunRecord, checkpoint: str, chat: Path | None) -> list[str]:
    """What will change, a line each."""
    from ..engine.rewinding.message import commits_at
    from ..engine.rewinding.past import past_of

    if chat is None:
        found = await engine.read_diff(record.id, from_checkpoint_id=checkpoint)
        return [f"{_UNDONE[file.status]} {file.path}" for file in found.files] or ["no file changes"]
    stay = await asyncio.to_thread(lambda: commits_at(past_of(engine.services, record.id), checkpoint))
    if not stay:
        return [f"the run's message, or its swipe, will be removed from {chat}"]
    made = ", then ".join(f"{one['path']} ({one['mode']}, {one['checkpointId']})" for one in stay)
    return [f"the run's message in {chat} will be what these commits made it: {made}"]


_UNDONE = {"added": "remove", "modified": "put back", "deleted": "bring back"}


def _shown(file: FileDiff) -> list[str]:
    """The file's diff; what has none is a remark, which programs that apply diffs pass over."""
    if file.unified_diff is not None:
        return [f"{line}\n" for line in file.unified_diff.removesuffix("\n").split("\n")]
    why = " (no text, so no diff)" if file.binary else " (what it held is kept nowhere)" if file.content_lost else ""
    return [f"# {file.path}: {file.status}{why}\n"]


_STYLES = {"+": "green", "-": "red", "@": "cyan", "d": "bold", "n": "bold", "i": "bold", "#": "dim", "\\": "dim"}


def _print_coloured(lines: Sequence[str]) -> None:
    console = Console(highlight=False)
    for line in lines:
        style = "bold" if line.startswith(("--- ", "+++ ")) else _STYLES.get(line[0], "")
        console.print(Text(line, style=style), end="", soft_wrap=True)
