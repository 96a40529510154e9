"""`treadle secrets`: keys by name. A value comes from standard input or is asked for; it is never an argument or shown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..graph.errors import InvalidInput, NotFound
from .ending import print_json
from .options import AsJson, Data, data_root

if TYPE_CHECKING:
    from ..storage.secrets import FileSecrets

app = typer.Typer(
    help="Keep keys by name, in a file for you alone or in the system's keyring.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

SecretName = Annotated[str, typer.Argument(metavar="NAME", help="Such as api_key_openai.")]
InKeyring = Annotated[
    bool, typer.Option("--keyring", metavar="", help="In the system's keyring; a connection says keyring:NAME.")
]


@app.callback()
def secrets(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list")
def list_secrets(data: Data = None, as_json: AsJson = False) -> None:
    """The names in the data root's file; a keyring can't be listed."""
    names = _file(data).names()
    if as_json:
        print_json(names)
    else:
        sys.stdout.write("".join(f"{name}\n" for name in names))


@app.command("set", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def set_secret(context: typer.Context, name: SecretName, in_keyring: InKeyring = False, data: Data = None) -> None:
    """Store a key: it is read from standard input, or asked for without being shown."""
    if context.args:  # refused here: the usual message would quote it
        raise InvalidInput(
            "a key is never an argument: pipe it in, or run this in a terminal to be asked; "
            "one that was typed as an argument may stand in your shell's history"
        )
    from ..storage.secrets import KeyringSecrets

    value = _value(name)
    (KeyringSecrets() if in_keyring else _file(data)).set(name, value)
    typer.echo(f"stored {name}")


@app.command()
def remove(name: SecretName, in_keyring: InKeyring = False, data: Data = None) -> None:
    """Forget a key."""
    from ..storage.secrets import KeyringSecrets

    if not (KeyringSecrets() if in_keyring else _file(data)).remove(name):
        raise NotFound(f"there is no secret {name}")
    typer.echo(f"removed {name}")


def _value(name: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(f"Value of {name}", hide_input=True, err=True))
    try:
        value = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        value = ""
    if not value.strip():
        raise InvalidInput("standard input holds no text; pipe the key in, or run this in a terminal to be asked")
    return value.strip()


def _file(data: Path | None) -> FileSecrets:
    from ..storage.secrets import FILE, FileSecrets

    return FileSecrets(data_root(data) / FILE)
