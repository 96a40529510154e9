"""Names of MCP tools, what a wildcard covers, and aliases that every server takes and that mean one tool."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.gateway.calls import wire_name
from treadle.gateway.schemas.rules import check_aliases
from treadle.graph.mcp_names import McpName, alias_of, covers, is_many, is_shown, is_tool, mcp_name
from treadle.graph.messages import ToolSpec
from treadle.nodes.registry import specs

TOOLS = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=128).filter(is_tool)
SERVERS = st.from_regex(r"[a-z0-9][a-z0-9-]{0,31}", fullmatch=True)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("mcp.shed.add", ("shed", "add")),
        ("mcp.my-shed.look.up", ("my-shed", "look.up")),
        ("mcp.shed.*", ("shed", "*")),
        ("mcp.shed.查找", ("shed", "查找")),
        ("mcp.shed", None),
        ("mcp.shed.", None),
        ("mcp..add", None),
        ("mcp.Shed.add", None),
        ("mcp.my_shed.add", None),
        ("mcp.-shed.add", None),
        ("mcp.shed.two words", None),
        ("mcp.shed.a\u0007", None),
        ("mcp.shed.\ud800", None),
        ("mcp.shed." + "x" * 129, None),
        ("mcp." + "s" * 33 + ".add", None),
        ("workspace.commit", None),
    ],
)
def test_a_name_is_a_server_and_its_tool_or_none_at_all(name: str, parts: tuple[str, str] | None) -> None:
    assert mcp_name(name) == (parts and McpName(*parts))


def test_a_wildcard_covers_the_tools_of_its_server_and_a_name_itself_alone() -> None:
    assert is_many("mcp.shed.*")
    assert covers("mcp.shed.*", "mcp.shed.add")
    assert not covers("mcp.shed.*", "mcp.barn.add")
    assert not covers("mcp.shed.add", "mcp.shed.adder")
    assert not covers("mcp.shed.*", "workspace.commit")
    assert is_shown("mcp.shed.add", ["mcp.shed.*"], ["mcp.shed.die"])
    assert not is_shown("mcp.shed.add", ["mcp.shed.add"], ["mcp.shed.*"])


def test_an_alias_says_the_name_where_it_can_and_else_is_marked_by_its_hash() -> None:
    assert alias_of("mcp.my-shed.look_up") == "mcp_my-shed_look_up"
    assert alias_of("mcp.shed.look.up") == "mcp_shed_look_up_7a17868d"
    assert alias_of("mcp.shed." + "x" * 80) == "mcp_shed_" + "x" * 46 + "_" + alias_of("mcp.shed." + "x" * 80)[-8:]
    assert alias_of("workspace.read_file") == "workspace_read_file"


@given(SERVERS, TOOLS)
def test_every_alias_is_one_that_servers_take_and_that_results_are_sent_under(server: str, tool: str) -> None:
    name = str(McpName(server, tool))
    check_aliases([*specs(), _spec(name)])

    assert wire_name(name) == alias_of(name)


@given(st.sets(st.tuples(SERVERS, st.from_regex(r"[a-c._-]{1,4}", fullmatch=True)), min_size=2, max_size=8))
def test_tools_whose_names_are_alike_have_aliases_of_their_own(named: set[tuple[str, str]]) -> None:
    check_aliases([_spec(str(McpName(server, tool))) for server, tool in named])


def _spec(name: str) -> ToolSpec:
    return ToolSpec(name, "", "", {"type": "object"})
