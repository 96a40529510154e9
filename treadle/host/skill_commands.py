"""`treadle skills`: what is installed for runs to read; looked at before it is installed, and never run."""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..graph.errors import InvalidInput, NotFound, StorageFailed
from ..graph.jsontext import Json
from .ending import print_json
from .options import AsJson, Data, data_root
from .tables import file_table, pair_table, skill_table, to_screen

if TYPE_CHECKING:
    from ..storage.skills.requests import SkillRequests

app = typer.Typer(
    help="Install, look at, export and delete the skills that runs may read.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

SkillName = Annotated[str, typer.Argument(metavar="NAME", help="The skill's name, as its SKILL.md says.")]
From = Annotated[Path, typer.Argument(metavar="PATH", help="A folder with a SKILL.md, a .zip or a .ttskill.")]
Number = Annotated[int | None, typer.Option(metavar="N")]


@app.callback()
def skills(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list")
def list_skills(data: Data = None, as_json: AsJson = False) -> None:
    """The installed skills; what had to be mended is told on stderr."""
    found = _requests(data).listing()
    _notes(found["repairs"])
    if as_json:
        print_json(found["skills"])
    else:
        to_screen(skill_table(found["skills"]))


@app.command()
def show(name: SkillName, data: Data = None, as_json: AsJson = False) -> None:
    """One skill: its entry and its files."""
    requests = _requests(data)
    files = requests.list_files({"name": name})
    entry = next((each for each in requests.listing()["skills"] if each["name"] == name.strip()), {"name": name})
    if as_json:
        print_json({**entry, "files": files})
        return
    to_screen(pair_table(entry))
    typer.echo()
    to_screen(file_table(files))


@app.command()
def preview(path: From, data: Data = None, as_json: AsJson = False) -> None:
    """What an import would install: files, warnings, conflict. Nothing is changed."""
    found = _requests(data).preview(_input(path))
    if as_json:
        print_json(found)
        return
    to_screen(pair_table(found["skill"]))
    typer.echo()
    to_screen(file_table(found["files"]))
    typer.echo(f"\n{_STANDS[found['conflict']['kind']]}")
    for warning in found["warnings"]:
        typer.echo(f"warning: {warning}")


@app.command()
def install(
    path: From,
    replace: Annotated[bool, typer.Option("--replace", metavar="", help="Another version gives way.")] = False,
    skip: Annotated[bool, typer.Option("--skip", metavar="", help="Another version stays.")] = False,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Install a skill. Another version of that name is left alone unless you say what to do."""
    if replace and skip:
        raise InvalidInput("--replace and --skip exclude each other; give one")
    requests = _requests(data)
    given = _input(path)
    warnings = requests.preview(given)["warnings"]
    strategy = "replace" if replace else "skip" if skip else None
    done = requests.install({"input": given, "conflictStrategy": strategy})
    _notes(warnings)
    if as_json:
        print_json(done)
    else:
        typer.echo(f"{done['action'].replace('_', ' ')} {done['name']}")


@app.command()
def export(
    name: SkillName,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", show_default="NAME.zip", help="Where to write it.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", metavar="", help="Overwrite the file.")] = False,
    data: Data = None,
) -> None:
    """Write a skill as a zip, which installs elsewhere as the same."""
    done = _requests(data).export({"name": name})
    target = output or Path(done["fileName"])
    if target.exists() and not replace:
        raise InvalidInput(f"{target} exists; name another file with -o, or add --replace")
    try:
        target.write_bytes(base64.b64decode(done["contentBase64"]))
    except OSError as error:
        raise StorageFailed(f"writing {target}: {error.strerror or error}") from error
    typer.echo(f"wrote {target}")


@app.command()
def read(
    name: SkillName,
    path: Annotated[str, typer.Argument(metavar="FILE", help="A file of the skill.")] = "SKILL.md",
    start_line: Number = None,
    line_count: Number = None,
    start_char: Number = None,
    max_chars: Number = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """A text file of a skill, or a part of it."""
    span = {"startLine": start_line, "lineCount": line_count, "startChar": start_char, "maxChars": max_chars}
    found = _requests(data).read_file({"name": name, "path": path, **span})
    if as_json:
        print_json(found)
    else:
        sys.stdout.write(found["text"])


@app.command()
def delete(name: SkillName, data: Data = None) -> None:
    """Delete a skill, its files and its entry."""
    typer.echo(f"deleted {_requests(data).delete({'name': name})['name']}")


@app.command()
def repair(data: Data = None, as_json: AsJson = False) -> None:
    """Make the index anew from the installed folders; a damaged one is kept aside."""
    found = _requests(data).repair()
    if as_json:
        print_json(found)
        return
    for line in found["repairs"]:
        typer.echo(line)
    count = len(found["skills"])
    typer.echo(f"the index holds {count} {'skill' if count == 1 else 'skills'}")


_STANDS = {
    "new": "new: no skill of this name is installed",
    "same": "same: it is installed already",
    "different": "different: another version is installed; install it with --replace, or leave it with --skip",
}


def _input(path: Path) -> dict[str, Json]:
    if not path.exists():
        raise NotFound(f"{path} does not exist; name a folder with a SKILL.md, or an archive of one")
    return {"kind": "directory" if path.is_dir() else "archiveFile", "path": str(path)}


def _notes(lines: list[str]) -> None:
    for line in lines:
        typer.echo(f"treadle: note: {line}", err=True)


def _requests(data: Path | None) -> SkillRequests:
    from ..engine.services import SystemClock
    from ..storage.disk import RealDisk
    from ..storage.skills.requests import SkillRequests
    from ..storage.skills.store import SkillStore

    disk = RealDisk()
    return SkillRequests(SkillStore(data_root(data), disk, SystemClock()), disk)
