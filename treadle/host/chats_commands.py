"""`treadle chats`: what is kept of chats beside their files."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..graph.errors import InvalidInput
from ..graph.jsontext import Json
from .ending import print_json
from .options import AsJson, Data, Yes, existing_data_root

if TYPE_CHECKING:
    from ..engine.history.forgetting import ForgottenChat

app = typer.Typer(
    help="What is kept of chats beside their files.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Chats = Annotated[list[Path], typer.Argument(metavar="CHAT.jsonl...", help="The chats, each by its file.")]


@app.callback()
def chats(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def forget(chats: Chats, yes: Yes = False, data: Data = None, as_json: AsJson = False) -> None:
    """Remove what is kept of chats that you are about to delete: runs and persistent files. The chat files stay."""
    root = existing_data_root(data)
    if not yes:
        if not sys.stdin.isatty():
            raise InvalidInput("forgetting a chat can't be undone, and nobody is here to ask; add --yes")
        names = ", ".join(path.name for path in chats)
        typer.confirm(f"Remove all runs and persistent files of {names}?", abort=True, err=True)
    forgotten = asyncio.run(_forget(root, chats))
    if as_json:
        print_json([each.to_json() for each in forgotten])
        return
    for path, each in zip(chats, forgotten, strict=True):
        runs = f"{len(each.run_ids)} run{'' if len(each.run_ids) == 1 else 's'}"
        what = f"{runs} and the persistent files removed" if each.removed else "there was nothing"
        typer.echo(f"{path}: {what}")


async def _forget(root: Path, paths: list[Path]) -> tuple[ForgottenChat, ...]:
    from ..engine.engine import Engine  # these here and not above, so that the help comes at once
    from .chat_folder import ChatFolderHost

    host, refs = None, list[dict[str, Json]]()
    for path in paths:
        found, ref = ChatFolderHost.for_chat(path)
        if host is not None and found.folder != host.folder:
            raise InvalidInput(f"{path} is not in the same folder of chats as {paths[0]}; forget it by itself")
        host = host or found
        refs.append({"chatRef": ref.to_json()})
    async with Engine(root, host) as engine:
        return await engine.forget_chats(*refs)
