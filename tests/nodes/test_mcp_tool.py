"""A call of an MCP tool is checked against the tool's own schema before its server is asked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from treadle.graph.errors import ToolRefused
from treadle.graph.jsontext import Json
from treadle.graph.mcp_tools import McpAnswer, McpTool, mcp_tool
from treadle.graph.messages import Annotations
from treadle.graph.paths import ROOTS
from treadle.nodes.arguments.check import check_arguments
from treadle.nodes.mcp_tool import mcp_tools
from treadle.nodes.reads import ReadState
from treadle.nodes.tool import Answer, Bench
from treadle.testkit.workspace import MemoryWorkspace

from .desk import profile

PAIR = {"$ref": "#/$defs/Pair"}
DEFS = {"Pair": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}
BENCH = Bench(MemoryWorkspace(roots=ROOTS), profile(), ReadState())


@dataclass
class Servers:
    answer: McpAnswer = field(default_factory=lambda: McpAnswer("three", {"total": 3}))
    asked: list[tuple[str, Json]] = field(default_factory=list[tuple[str, Json]])

    def call(self, tool: McpTool, arguments: dict[str, Json]) -> McpAnswer:
        self.asked.append((tool.tool, arguments))
        return self.answer


def call(servers: Servers | None, arguments: Json, *, additional: bool = True, **properties: Json) -> object:
    schema: dict[str, Json] = {
        "type": "object", "properties": properties, "$defs": DEFS, "additionalProperties": additional,
    }  # fmt: skip
    made = mcp_tools([mcp_tool("mcp.shed.add", None, None, schema, Annotations(mutating=True))])["mcp.shed.add"]
    check_arguments(made, arguments)
    return made.run(arguments, replace(BENCH, mcp=servers))


def test_what_fits_goes_to_the_server_and_its_answer_comes_back() -> None:
    servers = Servers()
    answer = call(servers, {"pair": {"a": 1}}, pair=PAIR)

    assert answer == Answer("three", {"total": 3})
    assert servers.asked == [("add", {"pair": {"a": 1}})]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("{", "cut off in the middle"),
        ([], "must be an object"),
        ({"pair": {"a": "one"}}, 'pair.a must be a whole number, not "one"'),
        ({"pair": {}}, "pair.a is missing"),
        ({"pair": None}, "pair must be an object, not null"),
    ],
)
def test_what_does_not_fit_never_reaches_the_server(arguments: Json, says: str) -> None:
    servers = Servers()
    with pytest.raises(ToolRefused) as refused:
        call(servers, arguments, pair=PAIR)

    assert refused.value.code == "tool.invalid_arguments"
    assert says in refused.value.message
    assert servers.asked == []


def test_keys_that_the_schema_refuses_are_refused_and_others_go_to_the_server() -> None:
    servers = Servers()
    call(servers, {"more": 1})
    with pytest.raises(ToolRefused, match="more"):
        call(servers, {"more": 1}, additional=False)

    assert servers.asked == [("add", {"more": 1})]


def test_an_answer_that_is_a_fault_is_told_as_one_and_a_run_without_servers_says_so() -> None:
    with pytest.raises(ToolRefused, match="locked") as failed:
        call(Servers(McpAnswer("locked", is_error=True)), {})
    with pytest.raises(ToolRefused) as nobody:
        call(None, {})

    assert (failed.value.code, nobody.value.code) == ("mcp.tool_error", "mcp.server_unavailable")
