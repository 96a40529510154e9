"""A tool of an MCP server, among the tools of a run: its arguments are checked here, and its server does the rest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from jsonschema.exceptions import best_match
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from ..graph.errors import ToolRefused
from ..graph.jsontext import Json
from ..graph.mcp_tools import McpTool
from .arguments import given, refused
from .tool import Answer, Bench, Tool


def mcp_tools(tools: Sequence[McpTool]) -> dict[str, Tool]:
    """By name, as a run calls them."""
    return {
        tool.spec.name: Tool(tool.spec, partial(_run, tool), acts_outside=True, is_repeatable=tool.is_repeatable)
        for tool in tools
    }


def _run(tool: McpTool, arguments: Json, bench: Bench) -> Answer:
    fields = given(arguments).fields
    check_arguments(fields, tool.spec.input_schema)
    if bench.mcp is None:
        raise ToolRefused("mcp.server_unavailable", "No MCP server can be reached from here.")
    answer = bench.mcp.call(tool, fields)
    if answer.is_error:
        raise ToolRefused("mcp.tool_error", answer.text)
    return Answer(answer.text, answer.structured)


def check_arguments(arguments: dict[str, Json], schema: dict[str, Json]) -> None:
    """Raises ToolRefused `tool.invalid_arguments` with the path of the first fault."""
    empty: Registry[Json] = Registry()  # nothing is fetched for a reference that leads out of the schema
    validator = validator_for(schema)(schema, registry=empty)
    try:
        fault = best_match(validator.iter_errors(arguments))
    except (Unresolvable, RecursionError):
        return  # its server knows what it means
    if fault is not None:
        raise refused(f"{fault.json_path}: {fault.message[:300]}")
