"""`treadle mcp-servers`: the servers whose tools a profile may name, and what they offer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..gateway.connections.connection import without_query
from ..graph.errors import NotFound
from ..graph.jsontext import Json
from ..graph.mcp_names import ALL, McpName, is_tool
from ..storage.mcp_servers import FILE
from .ending import print_json
from .options import AsJson, Data, data_root, nearest
from .tables import mcp_server_table, mcp_tool_table, to_screen

if TYPE_CHECKING:
    from ..engine.mcp.client import Listed
    from ..engine.mcp.settings import ServerSettings
    from ..engine.services import Services

app = typer.Typer(
    help="See the MCP servers of the data root, and the tools that they offer to profiles.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ServerName = Annotated[str, typer.Argument(metavar="NAME", help="As the servers file calls it.")]


@app.callback()
def mcp_servers(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list")
def list_servers(data: Data = None, as_json: AsJson = False) -> None:
    """The servers of the servers file; none of them is started or asked."""
    rows = [_server_row(name, held) for name, held in _services(data).mcp.settings().items()]
    if as_json:
        print_json(rows)
    elif not rows:
        typer.echo(f"No MCP servers are named; name them in {nearest(data_root(data) / FILE)}")
    else:
        to_screen(mcp_server_table(rows))


@app.command()
def check(server: ServerName, data: Data = None, as_json: AsJson = False) -> None:
    """Start or reach the server, and show its tools by the names that a profile gives them."""
    mcp = _services(data).mcp
    held = mcp.settings().get(server)
    if held is None:
        known = ", ".join(mcp.settings()) or "none"
        raise NotFound(f"the servers file names no {server!r}; it names: {known}", code="mcp.server_denied")
    rows = [_tool_row(server, held, tool) for tool in mcp.listed([server])[server]]
    if as_json:
        print_json(rows)
    else:
        to_screen(mcp_tool_table(rows))


def _server_row(name: str, held: ServerSettings) -> dict[str, Json]:
    """Without arguments, variables and headers: a key may stand there."""
    return {
        "name": name,
        "server": held.command if held.url is None else without_query(held.url),
        "transport": "stdio" if held.url is None else "http",
        "enabled": held.enabled,
        "allowTools": None if held.allow_tools is None else list(held.allow_tools),
        "denyTools": list(held.deny_tools),
    }


def _tool_row(server: str, held: ServerSettings, tool: Listed) -> dict[str, Json]:
    fit = is_tool(tool.name) and tool.name != ALL
    marks = ("read-only" if tool.read_only else "mutating", *(["idempotent"] if tool.idempotent else []))
    return {
        "name": str(McpName(server, tool.name)) if fit else None,
        "tool": tool.name,
        "allowed": held.allows(tool.name),
        "marks": list(marks),
        "description": tool.description,
    }


def _services(data: Path | None) -> Services:
    from ..engine.services import Services

    return Services(data_root(data))
