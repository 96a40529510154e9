"""`treadle profiles`: how runs work, by name; made, checked, stored and looked into."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..graph.errors import InvalidInput
from ..graph.jsontext import Json, dumps, is_object
from .ending import print_json
from .options import AsJson, Data, data_root, program
from .tables import diagnosis_table, issue_table, pair_table, profile_table, to_screen

if TYPE_CHECKING:
    from ..engine.profiles.api import Profiles
    from ..engine.services import Services

app = typer.Typer(
    help="Say how runs work: tools, folders, budgets, instructions. Begin with: treadle profiles new ID",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ProfileId = Annotated[str, typer.Argument(metavar="ID", help="Lower-case letters, digits, _ and -.")]
ProfilePath = Annotated[Path, typer.Argument(metavar="FILE", help="JSON; comments are fine.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Where to write it; - prints it.")]


@app.callback()
def profiles(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list")
def list_profiles(data: Data = None, as_json: AsJson = False) -> None:
    """The profiles that runs may ask for, and the files that can't be used."""
    listed = asyncio.run(_profiles(data).list())
    if as_json:
        print_json(listed)
        return
    to_screen(profile_table(listed["profiles"]))
    if listed["issues"]:
        typer.echo()
        to_screen(issue_table(listed["issues"]))


@app.command()
def show(profile: ProfileId, data: Data = None, as_json: AsJson = False) -> None:
    """One profile with its defaults filled in."""
    from .profile_records import loaded

    document = asyncio.run(loaded(_services(data), profile))
    if as_json:
        print_json(document)
    else:
        to_screen(pair_table(_flat(document)))


@app.command()
def new(profile: ProfileId, out: Out = None, as_json: AsJson = False) -> None:
    """Write a file to begin with: every field, with a comment on what it means."""
    from .profile_starter import starter

    text = starter(profile)
    path = out or Path(f"{profile.strip()}.jsonc")
    if str(path) == "-":
        typer.echo(text, nl=False)
        return
    _write_new(path, text)
    _say(as_json, f"wrote {path}; edit it, then: {program()} profiles check {path}", {"ok": True, "file": str(path)})


@app.command()
def check(file: ProfilePath, as_json: AsJson = False) -> None:
    """Whether a file is a profile; else its first fault: the field, the line, the code."""
    from .profile_files import profile_file

    try:
        profile = profile_file(file).profile()
    except InvalidInput as refused:
        if not as_json:
            raise
        print_json({"ok": False, "code": refused.error_code, "message": refused.message, **refused.details})
        raise typer.Exit(2) from refused
    if as_json:
        print_json({"ok": True, "id": profile.id, "file": str(file)})
    else:
        typer.echo(f"{file}: profile {profile.id} is in order")


@app.command()
def save(
    file: ProfilePath,
    replace: Annotated[bool, typer.Option("--replace", metavar="", help="Overwrite the one of that id.")] = False,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Store the profile in a file under its id."""
    from .profile_records import stored

    profile_id = asyncio.run(stored(_services(data), file, replace=replace))
    _say(as_json, f"stored profile {profile_id}", {"ok": True, "id": profile_id})


@app.command()
def delete(profile: ProfileId, data: Data = None, as_json: AsJson = False) -> None:
    """Forget a stored profile; default-writer is the built-in one again."""
    asyncio.run(_profiles(data).delete(profile))
    _say(as_json, f"deleted profile {profile}", {"ok": True, "id": profile})


@app.command()
def diagnose(profile: ProfileId, data: Data = None, as_json: AsJson = False) -> None:
    """What a stored profile is fit for, and what is in its way: its rules, its preset, its connection."""
    found = asyncio.run(_profiles(data).diagnose(profile))
    if as_json:
        print_json(found)
    else:
        to_screen(pair_table({key: value for key, value in found.items() if key != "diagnostics"}))
        if found["diagnostics"]:
            typer.echo()
            to_screen(diagnosis_table(found["diagnostics"]))


@app.command()
def prompt(
    profile: Annotated[
        str | None,
        typer.Argument(metavar="ID|FILE", help="A stored profile, or a file.", show_default="default-writer"),
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """What the model is told of its work under a profile."""
    from .profile_records import prompt_of

    told = asyncio.run(prompt_of(_services(data), profile))
    if as_json:
        print_json(told)
    else:
        typer.echo(told["agentSystemPrompt"])


@app.command()
def repair(
    file: Annotated[str, typer.Argument(metavar="NAME.json", help="The file's name, as list tells it.")],
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Do what list recommends for a file that can't be used: mend its id, or delete it."""
    done = asyncio.run(_profiles(data).repair_file(file))
    what = f"{file} is now profile {done['profileId']}" if "profileId" in done else f"deleted {file}"
    _say(as_json, what, {"ok": True, **done})


@app.command()
def schema(out: Out = None, as_json: AsJson = False) -> None:
    """The JSON Schema of a profile's file, for editors."""
    from ..graph.profiles.fields import published_schema

    text = dumps(published_schema(), pretty=True).decode() + "\n"
    if out is None or str(out) == "-":
        typer.echo(text, nl=False)
        return
    out.write_text(text, "utf-8", newline="\n")
    _say(as_json, f"wrote {out}", {"ok": True, "file": str(out)})


def _profiles(data: Path | None) -> Profiles:
    from ..engine.profiles.api import Profiles

    return Profiles(_services(data))


def _services(data: Path | None) -> Services:
    from ..engine.services import Services

    return Services(data_root(data))


def _say(as_json: bool, line: str, told: dict[str, Json]) -> None:
    if as_json:
        print_json(told)
    else:
        typer.echo(line)


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError as error:
        raise InvalidInput(f"{path} exists already; name another file with --out") from error


def _flat(document: dict[str, Json]) -> dict[str, Json]:
    """The fields of blocks as fields of their own, by their paths."""
    flat: dict[str, Json] = {}
    for name, value in document.items():
        flat |= {f"{name}.{key}": member for key, member in value.items()} if is_object(value) else {name: value}
    return flat
