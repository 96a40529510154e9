"""`treadle connections`: which models a data root knows, by name; keys are among the secrets, never here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..graph.errors import InvalidInput, NotFound
from ..graph.jsontext import Json
from .ending import print_json
from .options import AsJson, Data, data_root, read_json
from .tables import connection_table, pair_table, to_screen

if TYPE_CHECKING:
    from ..engine.services import Services

app = typer.Typer(
    help="Name the models that runs may use: server, model, key by its name, switches.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ConnectionId = Annotated[str, typer.Argument(metavar="ID", help="Lower-case letters, digits, _ and -.")]


@app.callback()
def connections(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list")
def list_connections(data: Data = None, as_json: AsJson = False) -> None:
    """The connections of the data root; a record that is wrong is told as that."""
    from .connection_records import overview

    rows = overview(_services(data))
    if as_json:
        print_json(rows)
    else:
        to_screen(connection_table(rows))


@app.command()
def show(connection: ConnectionId, data: Data = None, as_json: AsJson = False) -> None:
    """One record, without the values of its headers."""
    from .connection_records import shown

    document = shown(_services(data), connection)
    if as_json:
        print_json(document)
    else:
        to_screen(pair_table(document))


@app.command()
def add(
    connection: ConnectionId,
    source: Annotated[
        str | None, typer.Option(metavar="NAME", help="openai, claude, makersuite, …", show_default="custom")
    ] = None,
    base_url: Annotated[str | None, typer.Option(metavar="URL", help="Of source custom: the server.")] = None,
    api_format: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="Of source custom.", show_default="openai_compat")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The model's name there.")] = None,
    secret: Annotated[
        str | None, typer.Option(metavar="NAME", help="The key's name: NAME, env:NAME or keyring:NAME; not the key.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="TEXT", help="For people.", show_default="the id")] = None,
    switch: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Such as supportsTools=false; may be repeated.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="A whole record, in place of all these.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", metavar="", help="Overwrite the one of that id.")] = False,
    data: Data = None,
) -> None:
    """Store a connection."""
    from .connection_records import Wanted, record_of, stored

    wanted = Wanted(source, base_url, api_format, model, secret, name, tuple(switch or ()))
    if file is not None and wanted != Wanted():
        raise InvalidInput("--file holds a whole record; leave the other options out")
    document = read_json(file, "the record") if file is not None else record_of(connection, wanted)
    stored(_services(data), connection, document, replace=replace)
    typer.echo(f"stored connection {connection}")


@app.command()
def remove(connection: ConnectionId, data: Data = None) -> None:
    """Forget a connection; its key stays among the secrets."""
    from ..gateway.connections.stored import check_id

    if not _services(data).connections.remove(check_id(connection)):
        raise NotFound(f"there is no connection {connection}", code="llm_connection.not_found")
    typer.echo(f"removed connection {connection}")


@app.command()
def check(
    connection: ConnectionId,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="Another model of that server.")] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Whether a run could use it: the record, the policy and the key are looked at, and nobody is asked."""
    from .connection_records import checked

    found: dict[str, Json] = checked(_services(data), connection, model)
    if as_json:
        print_json(found)
    else:
        to_screen(pair_table(found))


def _services(data: Path | None) -> Services:
    from ..engine.services import Services

    return Services(data_root(data))
