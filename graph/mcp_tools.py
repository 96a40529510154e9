"""The tools of MCP servers as a run knows them: frozen at its start, and what a call of one answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .errors import InvalidData
from .jsontext import Json, is_list, is_object
from .mcp_names import mcp_name
from .messages import Annotations, ToolSpec

KIND = "treadle.mcpTools"


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool, as its server described it when the run was started."""

    spec: ToolSpec
    """Its name is `mcp.<server>.<tool>`, its schema the server's own."""
    server: str
    tool: str
    """As the server calls it."""

    @property
    def is_repeatable(self) -> bool:
        """A call of which nobody knows whether it was carried out may be made again."""
        return self.spec.annotations.read_only or self.spec.annotations.idempotent


@dataclass(frozen=True, slots=True)
class McpAnswer:
    """What a server answered, without what is no text."""

    text: str
    structured: Json = None
    is_error: bool = False


def mcp_tool(
    name: str, title: str | None, description: str | None, schema: dict[str, Json], annotations: Annotations
) -> McpTool:
    """The tool of this full name; raises ValueError where it is none."""
    named = mcp_name(name)
    if named is None:
        raise ValueError(f"{name!r} is no name of an MCP tool")
    spec = ToolSpec(name, title or named.tool, description or "", schema, annotations, source=f"mcp:{named.server}")
    return McpTool(spec, named.server, named.tool)


def frozen(tools: Sequence[McpTool]) -> Json:
    """The document `input/mcp_tools.json`."""
    return {"schemaVersion": 1, "kind": KIND, "tools": [tool.spec.to_json() for tool in tools]}


def thawed(document: Json) -> tuple[McpTool, ...]:
    """The tools of that document; raises InvalidData where it is not what a run froze."""
    try:
        if document["kind"] != KIND or document["schemaVersion"] != 1 or not is_list(document["tools"]):
            raise ValueError("its kind or version is another")
        return tuple(_thawed(tool) for tool in document["tools"])
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidData(f"input/mcp_tools.json is not a list of frozen tools: {error!r}") from error


def _thawed(stored: Json) -> McpTool:
    marks = stored["annotations"]
    if not is_object(stored["inputSchema"]) or not is_object(marks):
        raise TypeError(f"the tool {stored['name']!r} is damaged")
    annotations = Annotations(
        read_only=marks.get("readOnly", False) is True,
        mutating=marks.get("mutating", False) is True,
        idempotent=marks.get("idempotent", False) is True,
        source_kind=marks.get("sourceKind"),
    )
    return mcp_tool(stored["name"], stored["title"], stored["description"], stored["inputSchema"], annotations)
