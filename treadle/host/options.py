"""What several commands share: the data root, files given by path, and how the program was called."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..graph.errors import InvalidInput, NotFound
from ..graph.jsontext import Json, loads
from ..storage.runs import TREE
from ..storage.wire_log import WireLevel

DEFAULT_DATA = "treadle-data"
CHAT_FILE = "chatFile"
"""Where a run's intent keeps the chat's path: a resume finds its host by it."""

Data = Annotated[
    Path | None,
    typer.Option("--data", help="The data root.", metavar="DIR", show_default=f"$TREADLE_DATA, else ./{DEFAULT_DATA}"),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", metavar="", help="Answer every question with yes.")]
AsJson = Annotated[bool, typer.Option("--json", metavar="", help="Print JSON for programs.")]
WireLog = Annotated[
    WireLevel | None,
    typer.Option(
        "--wire-log",
        help="What to keep of the calls to the model; full keeps their bodies, for treadle wire.",
        show_default="the settings file's, else metadata",
    ),
]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")]


def data_root(given: Path | None) -> Path:
    """`--data`, else `$TREADLE_DATA`, else `./treadle-data`; raises InvalidInput where that is a file."""
    root = given or Path(os.environ.get("TREADLE_DATA") or DEFAULT_DATA)
    if root.exists() and not root.is_dir():
        raise InvalidInput(f"the data root {root} is a file; name a folder with --data")
    return root


def existing_data_root(given: Path | None) -> Path:
    """The data root, which holds runs already; raises NotFound."""
    root = data_root(given)
    if not (root / TREE).is_dir():
        state = "holds no runs" if root.is_dir() else "does not exist"
        raise NotFound(f"the data root {root} {state}; name the right one with --data, or make a run: {program()} demo")
    return root


def read_json(path: Path, what: str) -> Json:
    """The value in a JSON file of the user's; raises InvalidInput or NotFound, naming the file and the line."""
    try:
        return loads(read_bytes(path, what))
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{what} {path} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} {path} is not JSON: {error}") from error


def read_bytes(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise NotFound(f"{what} {path} does not exist") from error
    except OSError as error:
        raise InvalidInput(f"{what} {path} can't be read: {error.strerror or error}") from error


def program() -> str:
    """This program as a shell of the user finds it: pasted before a command's name, it works."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m treadle"
    found = shutil.which("treadle")
    if called.stem != "treadle" or (found and Path(found).resolve() == called.resolve()):
        return "treadle"
    return shlex.quote(nearest(called))


def nearest(path: Path) -> str:
    """The path from here where it lies below the working directory, else whole."""
    whole = path.absolute()
    here = Path.cwd()
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)


def data_option(given: Path | None) -> str:
    """What must follow a command so that it finds the same data root: nothing where it is the default one."""
    return f" --data {shlex.quote(nearest(given))}" if given else ""
