"""A run's MCP tools come back from its folder as they were frozen, or are refused."""

from __future__ import annotations

import pytest

from treadle.graph.errors import InvalidData
from treadle.graph.jsontext import Json, dumps, loads
from treadle.graph.mcp_tools import frozen, mcp_tool, thawed
from treadle.graph.messages import Annotations

SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/A"}},
    "$defs": {"A": {"type": "string"}},
}
TOOLS = (
    mcp_tool("mcp.shed.add", "Add", "Adds.", SCHEMA, Annotations(read_only=True, source_kind="mcp")),
    mcp_tool("mcp.shed.look.up", None, None, {"type": "object"}, Annotations(mutating=True, idempotent=True)),
)


def test_what_was_frozen_is_thawed_unchanged() -> None:
    assert thawed(loads(dumps(frozen(TOOLS)))) == TOOLS


def test_a_tool_that_only_reads_or_says_that_it_is_idempotent_may_be_called_again() -> None:
    mutating = mcp_tool("mcp.shed.note", None, None, {"type": "object"}, Annotations(mutating=True))

    assert [tool.is_repeatable for tool in (*TOOLS, mutating)] == [True, True, False]


DAMAGES: list[dict[str, Json]] = [
    {"kind": "other"}, {"schemaVersion": 2}, {"tools": None}, {"tools": [{}]}, {"tools": ["x"]},
    {"tools": [{**TOOLS[0].spec.to_json(), "name": "workspace.commit"}]},
    {"tools": [{**TOOLS[0].spec.to_json(), "inputSchema": 5}]},
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_list_is_refused(damage: dict[str, Json]) -> None:
    with pytest.raises(InvalidData, match=r"input/mcp_tools\.json"):
        thawed({**frozen(TOOLS), **damage})
