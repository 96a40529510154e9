"""`treadle run`: the next reply of a chat file, by any server that speaks one of the built formats."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..graph.jsontext import Json
from .options import AsJson, Data, WireLog, Yes, data_root, read_json

if TYPE_CHECKING:
    from .stage import Stage


def run(
    chat: Annotated[Path, typer.Option("--chat", metavar="CHAT.jsonl", help="The SillyTavern chat to write into.")],
    prompt: Annotated[Path, typer.Option("--prompt", metavar="SNAPSHOT.json", help="The prompt snapshot.")],
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="The model server's base URL, such as http://127.0.0.1:8080/v1.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The model's name there.")] = None,
    api_key_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="The environment variable that holds the key.")
    ] = None,
    connection: Annotated[
        str | None,
        typer.Option(metavar="ID", help="A stored connection, in place of these (treadle connections list)."),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(metavar="ID|FILE", help="A stored profile, or a file.", show_default="default-writer")
    ] = None,
    generation_type: Annotated[
        str | None, typer.Option(metavar="TYPE", help="normal, regenerate, swipe, …", show_default="normal")
    ] = None,
    presentation: Annotated[
        str | None, typer.Option(metavar="HOW", help="foreground or background.", show_default="the profile's")
    ] = None,
    run_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Name the run: the same name and input is the same run.")
    ] = None,
    wire_log: WireLog = None,
    data: Data = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Write the next reply of a chat."""
    from .stage import Stage  # these here and not above, so that the help comes at once
    from .starting import ModelChoice, contradictions, start_request

    snapshot = read_json(prompt, "the prompt snapshot")
    stage = Stage.at(chat, data_root(data), as_json=as_json, wire_log=wire_log, yes=yes)
    choice = ModelChoice(base_url, model, api_key_env, connection)
    questions = sys.stdin.isatty() and not yes
    conflicts = contradictions(snapshot, choice)
    if questions and conflicts:
        typer.confirm(f"{'; '.join(conflicts)}. Use the command line's?", abort=True, err=True)
    request = start_request(
        chat=chat,
        ref=stage.ref,
        snapshot=snapshot,
        choice=choice,
        profile=profile,
        generation_type=generation_type,
        presentation=presentation,
        run_id=run_id,
        overrule=yes or questions,
    )
    if questions:
        typer.confirm(f"Write the reply into {chat}?", default=True, abort=True, err=True)
    raise typer.Exit(asyncio.run(_run(stage, request)))


async def _run(stage: Stage, request: dict[str, Json]) -> int:
    async with stage.engine() as engine:
        end = await stage.begin(engine, request)
    return stage.close(end)
