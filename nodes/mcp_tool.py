"""A tool of an MCP server, among the tools of a run: its schema says what it takes, and its server does the rest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..graph.errors import ToolRefused
from ..graph.jsontext import Json
from ..graph.mcp_tools import McpTool
from .arguments.given import given
from .tool import Answer, Bench, Tool


def mcp_tools(tools: Sequence[McpTool]) -> dict[str, Tool]:
    """By name, as a run calls them."""
    return {
        tool.spec.name: Tool(
            tool.spec, partial(_run, tool), closed=True, acts_outside=True, is_repeatable=tool.is_repeatable
        )
        for tool in tools
    }


def _run(tool: McpTool, arguments: Json, bench: Bench) -> Answer:
    fields = given(arguments).fields
    if bench.mcp is None:
        raise ToolRefused("mcp.server_unavailable", "No MCP server can be reached from here.")
    answer = bench.mcp.call(tool, fields)
    if answer.is_error:
        raise ToolRefused("mcp.tool_error", answer.text)
    return Answer(answer.text, answer.structured)
