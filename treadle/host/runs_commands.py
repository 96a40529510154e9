"""`treadle runs`: reading runs back, also while another process drives them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..views import MODEL_TURN_CHARS
from . import fork_command, prune_command, runs_list
from .driving import all_events
from .ending import print_json, run_folder
from .integrity_texts import show_report
from .options import AsJson, Data, RunName, existing_data_root
from .reading import read
from .run_summary import summary
from .tables import event_table, summary_table, to_screen, turn_text

app = typer.Typer(
    help="Read runs back: what happened, what was said, what was written.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.command("fork")(fork_command.fork)


@app.callback()
def runs(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command("list")(runs_list.list_runs)
app.command("prune")(prune_command.prune)


@app.command()
def show(run: RunName, data: Data = None, as_json: AsJson = False) -> None:
    """One run: how it went, how it ended, and what is in its workspace."""
    root = existing_data_root(data)
    record = read(root, lambda engine: engine.read_run(run))
    events = read(root, lambda engine: all_events(engine, record.id))
    told = summary(record, run_folder(root, record), events)
    if as_json:
        print_json(told.to_json())
    else:
        to_screen(summary_table(told))


@app.command()
def events(
    run: RunName,
    after: Annotated[int | None, typer.Option("--after", min=0, metavar="SEQ", help="Only what came after it.")] = None,
    before: Annotated[
        int | None, typer.Option("--before", min=0, metavar="SEQ", help="Only the last ones before it.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, max=500, help="At most so many.", show_default="all; 100 with --before")
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """The journal: every event in its order."""
    root = existing_data_root(data)
    if limit is None and before is None:
        page = read(root, lambda engine: all_events(engine, run, after or 0))
    else:
        page = read(root, lambda engine: engine.read_events(run, after_seq=after, before_seq=before, limit=limit))
    if as_json:
        print_json({"events": [event.to_json() for event in page]})
    else:
        to_screen(event_table(page))


@app.command()
def turn(
    run: RunName,
    round: Annotated[int, typer.Argument(metavar="ROUND", help="From 1.")],
    max_chars: Annotated[int, typer.Option(help="Cut each text there.")] = MODEL_TURN_CHARS,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """What the model said and called in one round."""
    said = read(existing_data_root(data), lambda engine: engine.read_model_turn(run, round, max_chars))
    if as_json:
        print_json(said)
    else:
        to_screen(turn_text(said))


@app.command()
def file(
    run: RunName,
    path: Annotated[str, typer.Argument(metavar="PATH", help="Inside the run folder, such as output/main.md.")],
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """A file of the run folder, as it is."""
    found = read(existing_data_root(data), lambda engine: engine.read_workspace_file(run, path))
    if as_json:
        keys = ("path", "text", "sha256", "chars", "words")
        print_json({key: getattr(found, key) for key in keys})
    else:
        sys.stdout.write(found.text)


@app.command()
def verify(run: RunName, data: Data = None, as_json: AsJson = False) -> None:
    """Check a run against its journal: lines, hashes, files, answers, commits. Exit 1 where there are faults."""
    report = read(existing_data_root(data), lambda engine: engine.verify_run(run))
    if as_json:
        print_json(report.to_json())
    else:
        show_report(report)
    raise typer.Exit(0 if report.ok else 1)
