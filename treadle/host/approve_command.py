"""`treadle approve`: the calls of a run that wait for a person, and that person's word on one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..graph.errors import InvalidInput
from ..graph.jsontext import Json
from .approving import described, to_publish
from .ending import print_json
from .options import AsJson, Data, RunName, data_option, existing_data_root, program, read_json

if TYPE_CHECKING:
    from ..engine.engine import Engine

_PATIENCE_SECONDS = 10.0
_GLANCE_SECONDS = 0.1


def approve(
    run: RunName,
    call: Annotated[str | None, typer.Argument(metavar="CALL", help="The call's id; left out, list the calls.")] = None,
    deny: Annotated[bool, typer.Option("--deny", metavar="", help="Do not let it run.")] = False,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why; a denied call's is told to the model.")
    ] = None,
    arguments: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Let it run with these arguments in place of the model's.")
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Let a call run that waits for a person, or deny it, wherever the run is driven; without CALL, list what waits."""
    root = existing_data_root(data)
    if call is None:
        if deny or reason is not None or arguments is not None:
            raise InvalidInput(f"name the call that is meant; these wait: {program()} approve {run}")
        asyncio.run(_list(root, run, as_json=as_json))
        return
    edited = None if arguments is None else read_json(arguments, "the arguments")
    told = asyncio.run(_decide(root, run, call, not deny, reason, edited))
    if as_json:
        print_json({"runId": run, "callId": call, "approved": not deny, "seenByDriver": told})
        return
    said = "denied" if deny else "approved"
    typer.echo(f"Run {run}: call {call} {said}")
    if not told:
        typer.echo(f"Nobody drives the run now; it goes on with: {program()} resume {run}{data_option(data)}")


async def _list(root: Path, run_id: str, *, as_json: bool) -> None:
    from ..engine.engine import Engine

    async with Engine(root) as engine:
        found = await engine.pending_approvals(run_id)
        texts = [await to_publish(engine, each) for each in found]
    if as_json:
        print_json([call.to_json() for call in found])
        return
    if not found:
        typer.echo(f"Run {run_id}: no call waits for a person")
    for each, published in zip(found, texts, strict=True):
        typer.echo(f"[{each.state}] " + "\n".join(described(each, published)))


async def _decide(root: Path, run_id: str, call_id: str, approved: bool, reason: str | None, edited: Json) -> bool:
    """Whether a process that drives the run has taken the word."""
    from ..engine.engine import Engine

    async with Engine(root) as engine:
        driven = await engine.approve_tool_call(run_id, call_id, approved, reason, edited)
        return driven and await _taken(engine, run_id, call_id)


async def _taken(engine: Engine, run_id: str, call_id: str) -> bool:
    for _ in range(round(_PATIENCE_SECONDS / _GLANCE_SECONDS)):
        found = await engine.pending_approvals(run_id)
        if not found or found[0].call_id != call_id or found[0].state == "waiting":
            return True
        await asyncio.sleep(_GLANCE_SECONDS)
    return False
