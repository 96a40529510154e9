"""What a profile gets of the servers' tools: wildcards made names, and refusals that say what there is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import pytest

from treadle.engine.mcp.client import Listed
from treadle.engine.mcp.offer import DESCRIPTION_CHARS, SCHEMA_BYTES, Offer, offer
from treadle.engine.mcp.settings import ServerSettings
from treadle.graph.errors import InvalidInput, TreadleError
from treadle.graph.jsontext import Json
from treadle.graph.mcp_names import alias_of
from treadle.graph.profiles.resolved import SEED_TOOLS, parse_profile, resolve

from .shed import profile

OBJECT: dict[str, Json] = {"type": "object"}


def listed(name: str, **changes: Json) -> Listed:
    return replace(Listed(name, None, "Does it.", OBJECT, read_only=False, idempotent=False), **changes)


@dataclass
class Servers:
    """Two servers in memory; it notes who was asked."""

    shed: tuple[Listed, ...] = (listed("add", read_only=True), listed("note"), listed("set", idempotent=True))
    held: dict[str, ServerSettings] = field(
        default_factory=lambda: {"shed": ServerSettings(command="x"), "barn": ServerSettings(command="x")}
    )
    asked: list[str] = field(default_factory=list[str])

    def settings(self) -> Mapping[str, ServerSettings]:
        return self.held

    def listed(self, servers: Iterable[str]) -> dict[str, tuple[Listed, ...]]:
        self.asked += servers
        return {name: self.shed if name == "shed" else (listed("milk"),) for name in self.asked}


def offered(*names: str, servers: Servers | None = None, **tools: Json) -> Offer:
    document = profile(*names, **tools)
    return offer(resolve(parse_profile(document, known_tools=SEED_TOOLS)), servers or Servers())


def test_wildcards_become_the_tools_of_their_server_everywhere_and_a_tools_own_budget_goes_first() -> None:
    got = offered(
        "mcp.shed.add", "mcp.shed.*", deny=["mcp.shed.set"], approval=["mcp.shed.*"],
        maxCallsPerTool={"mcp.shed.*": 2, "mcp.shed.note": 5},
    )  # fmt: skip

    tools = got.profile.definition.tools
    assert tools.allow[len(SEED_TOOLS) :] == ("mcp.shed.add", "mcp.shed.note", "mcp.shed.set")
    assert tools.approval == ("mcp.shed.add", "mcp.shed.note", "mcp.shed.set")
    assert tools.max_calls_per_tool == {"mcp.shed.add": 2, "mcp.shed.note": 5}
    assert [tool.spec.name for tool in got.tools] == ["mcp.shed.add", "mcp.shed.note", "mcp.shed.set"]


def test_only_servers_of_which_something_is_allowed_are_asked() -> None:
    servers = Servers()
    none, some = offered(servers=servers), offered("mcp.shed.add", deny=["mcp.barn.*"], servers=servers)

    assert (none.tools, len(some.tools), servers.asked) == ((), 1, ["shed"])


def test_the_settings_add_to_what_may_be_called_again() -> None:
    servers = Servers(held={"shed": ServerSettings.model_validate({"command": "x", "idempotentTools": ["note"]})})

    assert [tool.is_repeatable for tool in offered("mcp.shed.*", servers=servers).tools] == [True, True, True]


@pytest.mark.parametrize(
    ("tools", "code", "says"),
    [
        ({"allow": ["mcp.mill.*"]}, "mcp.server_denied", "$.tools.allow[13] names the MCP server 'mill'"),
        ({"deny": ["mcp.mill.x"]}, "mcp.server_denied", "$.tools.deny[0]"),
        ({"allow": ["mcp.shed.saw"]}, "mcp.tool_denied", "there are: add, note, set"),
        ({"allow": ["mcp.shed.*"], "deny": ["mcp.shed.adn"]}, "mcp.tool_denied", "$.tools.deny[0]"),
        ({"allow": ["mcp.shed.*"], "approval": ["mcp.shed.adn"]}, "mcp.tool_denied", "$.tools.approval[0]"),
        ({"allow": ["mcp.shed.*"], "maxCallsPerTool": {"mcp.shed.adn": 1}}, "mcp.tool_denied", 'maxCallsPerTool["mcp.shed.adn"]'),
        ({"allow": ["mcp.shed.*"], "toolDescriptions": {"mcp.shed.adn": {"description": "x"}}}, "mcp.tool_denied", "toolDescriptions"),
    ],
)  # fmt: skip
def test_a_name_that_means_nothing_is_refused_with_its_place(tools: dict[str, Json], code: str, says: str) -> None:
    names = tools.pop("allow", ["mcp.shed.*"])
    with pytest.raises(TreadleError) as refused:
        offered(*names, **tools)

    assert refused.value.error_code == code
    assert says in refused.value.message


@pytest.mark.parametrize(
    ("tool", "says"),
    [
        (listed("*"), "its name is none"),
        (listed("two words"), "its name is none"),
        (listed("x" * 129), "its name is none"),
        (listed("long", description="x" * (DESCRIPTION_CHARS + 1)), "more than 16000 characters"),
        (listed("big", schema={**OBJECT, "description": "x" * SCHEMA_BYTES}), "64000 are taken"),
        (listed("list", schema={"type": "array"}), "no object"),
        (listed("odd", schema={"type": "object", "properties": {"a": {"type": "nothing"}}}), "the schema is broken at"),
        (listed(alias_of("mcp.shed.a.b").removeprefix("mcp_shed_")), "by the same name as"),
    ],
)
def test_a_tool_that_no_model_can_be_given_is_refused_and_the_remedy_named(tool: Listed, says: str) -> None:
    with pytest.raises(InvalidInput, match="denyTools") as refused:
        offered("mcp.shed.*", servers=Servers(shed=(listed("a.b"), tool)))

    assert refused.value.error_code == "mcp.tool_invalid"
    assert says in refused.value.message


def test_more_tools_than_models_take_are_refused() -> None:
    with pytest.raises(InvalidInput, match="names 101 tools"):
        offered("mcp.shed.*", servers=Servers(shed=tuple(listed(f"t{number}") for number in range(101))))
