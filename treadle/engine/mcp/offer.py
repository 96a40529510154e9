"""Which tools of MCP servers a run gets: what its profile names, of what the settings allow and the servers offer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from ...graph.errors import InvalidData, InvalidInput, NotFound
from ...graph.jsontext import dumps
from ...graph.mcp_names import ALL, McpName, is_tool, mcp_name
from ...graph.mcp_tools import McpTool, mcp_tool
from ...graph.messages import Annotations
from ...graph.profiles.resolved import ResolvedProfile
from ...graph.profiles.schema import Tools
from ...nodes.arguments.schema import compiled
from .client import Listed
from .settings import ServerSettings

MOST_TOOLS = 100
"""Of a run, from all its servers: providers take no more than 128 with the built-in ones."""

DESCRIPTION_CHARS = 16_000
SCHEMA_BYTES = 64_000


class Offer(NamedTuple):
    profile: ResolvedProfile
    """Its `*` stand for the tools themselves."""
    tools: tuple[McpTool, ...]


class Servers(Protocol):
    def settings(self) -> Mapping[str, ServerSettings]: ...

    def listed(self, servers: Iterable[str]) -> dict[str, tuple[Listed, ...]]: ...


def offer(profile: ResolvedProfile, servers: Servers) -> Offer:
    """What the run of this profile gets; servers are asked only where it names them. Blocking.

    Raises NotFound or InvalidInput `mcp.server_denied`, `mcp.tool_denied`, `mcp.tool_invalid` or
    `mcp.too_many_tools`, and McpFailed `mcp.server_unavailable`.
    """
    tools = profile.definition.tools
    named = list(_named(tools))
    if not named:
        return Offer(profile, ())
    settings = servers.settings()
    for where, name in named:
        _check_server(where, name, settings)
    listed = servers.listed(dict.fromkeys(name.server for _, name in _in(tools.allow, "allow")))
    usable = {server: _usable(settings[server], offered) for server, offered in listed.items()}
    for where, name in named:
        if name.server in usable:
            _check_tool(where, name, usable[name.server])
    definition = profile.definition.model_copy(update={"tools": _expanded(tools, usable)})
    wanted = [name for name in dict.fromkeys(definition.tools.allow) if mcp_name(name)]
    if len(wanted) > MOST_TOOLS:
        raise InvalidInput(
            f"the profile's $.tools.allow names {len(wanted)} tools of MCP servers, and a run takes {MOST_TOOLS}; name "
            "those that it needs",
            code="mcp.too_many_tools",
        )
    made = tuple(_made(name, settings, usable) for name in wanted)
    _check_aliases(made)
    return Offer(replace(profile, definition=definition), made)


def _named(tools: Tools) -> Iterator[tuple[str, McpName]]:
    """Every MCP name in the profile, with its place."""
    approval = () if tools.approval == "mutating" else tools.approval
    yield from _in(tools.allow, "allow")
    yield from _in(tools.deny, "deny")
    yield from _in(approval, "approval")
    yield from _in(tools.max_calls_per_tool, "maxCallsPerTool")
    yield from _in(tools.tool_descriptions, "toolDescriptions")


def _in(names: Iterable[str], field: str) -> Iterator[tuple[str, McpName]]:
    for index, name in enumerate(names):
        named = mcp_name(name)
        if named is not None:
            place = f'["{name}"]' if isinstance(names, Mapping) else f"[{index}]"
            yield f"$.tools.{field}{place}", named


def _check_server(where: str, name: McpName, settings: Mapping[str, ServerSettings]) -> None:
    held = settings.get(name.server)
    if held is None:
        known = f"its servers are {', '.join(sorted(settings))}" if settings else "it names none"
        raise NotFound(
            f"the profile's {where} names the MCP server {name.server!r}, which is not in the user's servers file; {known}",
            code="mcp.server_denied",
        )
    if not held.enabled:
        raise InvalidInput(
            f"the profile's {where} names the MCP server {name.server!r}, which the user's servers file has switched off",
            code="mcp.server_denied",
        )


def _usable(settings: ServerSettings, offered: Sequence[Listed]) -> dict[str, Listed]:
    return {tool.name: tool for tool in offered if settings.allows(tool.name)}


def _check_tool(where: str, name: McpName, usable: Mapping[str, Listed]) -> None:
    if name.tool in usable or (name.tool == ALL and usable):
        return
    known = ", ".join(sorted(tool for tool in usable if is_tool(tool)))
    raise NotFound(
        f"the profile's {where} names {str(name)!r}, which the MCP server does not offer or the user's servers file does "
        f"not allow; there are: {known or 'none'}",
        code="mcp.tool_denied",
    )


def _expanded(tools: Tools, usable: Mapping[str, Mapping[str, Listed]]) -> Tools:
    def each(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one for name in names for one in _meant(name, usable)))

    budgets: dict[str, int] = {}
    for name, budget in tools.max_calls_per_tool.items():
        for one in _meant(name, usable):
            if one == name or one not in tools.max_calls_per_tool:  # a tool's own budget goes before its server's
                budgets[one] = budget
    changes: dict[str, object] = {"allow": each(tools.allow), "deny": each(tools.deny)}
    if tools.approval != "mutating":
        changes["approval"] = each(tools.approval)
    shown = {name for name in each(tools.allow) if name not in each(tools.deny)}
    changes["max_calls_per_tool"] = {name: budget for name, budget in budgets.items() if name in shown}
    return tools.model_copy(update=changes)


def _meant(name: str, usable: Mapping[str, Mapping[str, Listed]]) -> Iterator[str]:
    named = mcp_name(name)
    if named is None or named.tool != ALL or named.server not in usable:
        yield name
        return
    for tool in usable[named.server]:
        one = McpName(named.server, tool)
        if not is_tool(tool) or tool == ALL:
            raise _unfit(str(one), "its name is none that a profile can hold")
        yield str(one)


def _made(name: str, settings: Mapping[str, ServerSettings], usable: Mapping[str, Mapping[str, Listed]]) -> McpTool:
    named = mcp_name(name)
    assert named is not None
    listed = usable[named.server][named.tool]
    _check_fit(name, listed)
    idempotent = listed.idempotent or listed.name in settings[named.server].idempotent_tools
    marks = Annotations(
        read_only=listed.read_only, mutating=not listed.read_only, idempotent=idempotent, source_kind="mcp"
    )
    return mcp_tool(name, listed.title, listed.description, listed.schema, marks)


def _check_fit(name: str, tool: Listed) -> None:
    """Raises InvalidInput for a description or a schema that a model can't be given."""
    if len(tool.description or "") + len(tool.title or "") > DESCRIPTION_CHARS:
        raise _unfit(name, f"its description has more than {DESCRIPTION_CHARS} characters")
    size = len(dumps(tool.schema))
    if size > SCHEMA_BYTES:
        raise _unfit(name, f"its schema has {size} bytes, and {SCHEMA_BYTES} are taken")
    if tool.schema.get("type") != "object":
        raise _unfit(name, "its arguments are no object")
    try:
        compiled(tool.schema, closed=True)
    except InvalidData as error:
        raise _unfit(name, error.message[:200]) from None


def _check_aliases(tools: Sequence[McpTool]) -> None:
    seen: dict[str, str] = {}
    for tool in tools:
        other = seen.setdefault(tool.spec.model_name, tool.spec.name)
        if other != tool.spec.name:
            raise _unfit(tool.spec.name, f"the model would call it by the same name as {other}")


def _unfit(name: str, fault: str) -> InvalidInput:
    return InvalidInput(
        f"the MCP tool {name!r} can't be given to a model: {fault}; leave it out, by the profile's tools.allow or by "
        "denyTools of the servers file",
        code="mcp.tool_invalid",
    )
