"""`treadle runs list`: which runs there are, a page at a time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..graph.status import RunStatus
from .ending import print_json
from .options import AsJson, Data, data_option, existing_data_root, program
from .tables import run_table, to_screen

if TYPE_CHECKING:
    from ..engine.history.listing import RunPage


def list_runs(
    chat: Annotated[
        Path | None,
        typer.Option("--chat", metavar="CHAT.jsonl", help="Only those of this chat, whatever its name was."),
    ] = None,
    status: Annotated[
        list[RunStatus] | None, typer.Option("--status", help="Only such ones; may be given several times.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many, newest first.")] = 50,
    before: Annotated[
        str | None, typer.Option("--before", metavar="RUN", help="Only those that stand after it.")
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """The runs below the data root, newest first."""
    page = asyncio.run(_page(existing_data_root(data), chat, status, limit, before))
    if as_json:
        print_json(page.to_json())
        return
    to_screen(run_table(page.runs))
    for each in page.damaged:
        typer.echo(f"can't be read: {each.file}: {each.reason}")
    if page.next_cursor is not None:
        typer.echo(f"more: {program()} runs list --before {page.next_cursor.run_id}{data_option(data)}")


async def _page(
    root: Path, chat: Path | None, statuses: list[RunStatus] | None, limit: int, before: str | None
) -> RunPage:
    from ..engine.engine import Engine  # these here and not above, so that the help comes at once
    from ..engine.history.query import RunCursor
    from .chat_folder import ChatFolderHost

    stable = None
    if chat is not None:
        host, ref = ChatFolderHost.for_chat(chat)
        stable = await host.stable_chat_id(ref)
    async with Engine(root) as engine:
        place = None if before is None else await engine.read_run(before)
        cursor = None if place is None else RunCursor(place.created_at, place.id)
        return await engine.list_runs(stable_chat_id=stable, statuses=statuses, before=cursor, limit=limit)
