"""`treadle runs prune`: what retention would take away, and, if asked to, does."""

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
from .tables import prune_table, to_screen

if TYPE_CHECKING:
    from ..engine.history.reports import PruneResult, RetentionPlan

_COUNT = "0 to 10000; the settings file's number unless given."


def prune(
    keep_recent: Annotated[
        int | None, typer.Option("--keep-recent", metavar="N", help=f"How many ended runs stay at all: {_COUNT}")
    ] = None,
    keep_full: Annotated[
        int | None, typer.Option("--keep-full", metavar="N", help=f"How many of these stay whole: {_COUNT}")
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", metavar="", help="Do it.")] = False,
    details: Annotated[int | None, typer.Option(metavar="N", help="Show at most so many runs, up to 1000.")] = None,
    yes: Yes = False,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Which ended runs are to be slimmed to their journal, and which deleted; nothing is changed without --apply."""
    root = existing_data_root(data)
    given = {"keepRecentTerminalRuns": keep_recent, "keepFullRecentRuns": keep_full}
    retention = {name: count for name, count in given.items() if count is not None}
    if not apply or not yes:
        plan = asyncio.run(_plan(root, retention, details))
        _show(plan, as_json=as_json and not apply)
    if not apply:
        return
    if not yes:
        _ask()
    result = asyncio.run(_apply(root, retention, details))
    raise typer.Exit(_told(result, as_json=as_json))


async def _plan(root: Path, retention: dict[str, Json], details: int | None) -> RetentionPlan:
    from ..engine.engine import Engine  # here and not above, so that the help comes at once

    async with Engine(root) as engine:
        return await engine.retention.plan(retention, details)


async def _apply(root: Path, retention: dict[str, Json], details: int | None) -> PruneResult:
    from ..engine.engine import Engine

    async with Engine(root) as engine:
        return await engine.retention.apply(retention, details)


def _show(plan: RetentionPlan, *, as_json: bool) -> None:
    if as_json:
        print_json(plan.to_json())
        return
    to_screen(prune_table(plan.to_json()))
    counts = plan.counts
    typer.echo(
        f"{counts['delete_run']} to delete, {counts['slim_heavy_artifacts']} to slim, {counts['keep']} kept, "
        f"{counts['blocked']} left alone"
    )


def _ask() -> None:
    if not sys.stdin.isatty():
        raise InvalidInput("deleting can't be undone, and nobody is here to ask; add --yes")
    typer.confirm("Delete and slim these runs?", abort=True, err=True)


def _told(result: PruneResult, *, as_json: bool) -> int:
    """Say what was done; the exit code."""
    if as_json:
        print_json(result.to_json())
    else:
        typer.echo(f"{result.deleted} deleted, {result.slimmed} slimmed")
        for failure in result.failures:
            print(f"treadle: run {failure.run_id}: {failure.error.message}", file=sys.stderr)
    return 1 if result.failures else 0
