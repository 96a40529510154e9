"""`schema_render`: one tool as a format's request carries it."""

from __future__ import annotations

import asyncio
import copy

from treadle.gateway.gateway import FORMATS, ModelGateway
from treadle.gateway.schemas.rules import RULES, tool_parameters
from treadle.graph.jsontext import Json, dumps, loads
from treadle.graph.messages import Message, Role, TextPart, ToolSpec

from ..faults import CaseFault, an_object, only
from ..observed import Observed
from ..stage import Stage, staged

KEYS = frozenset({"provider_format", "tool"})

_SCHEMAS = {"claude_messages": "input_schema"}
"""The key that holds a tool's schema, where it is not `parameters`."""


def run(given: dict[str, Json]) -> Observed:
    return asyncio.run(_run(given))


async def _run(given: dict[str, Json]) -> Observed:
    tool = an_object(given["tool"], "tool")
    only(tool, ("name", "model_name", "title", "description", "input_schema"), "tool")
    kept = copy.deepcopy(tool["input_schema"])
    spec = ToolSpec(tool["name"], tool.get("title", "T"), tool.get("description", "D"), tool["input_schema"])
    name = given["provider_format"]
    held = await _in_a_request(name, spec) if name in FORMATS else _by_the_rules(name, spec)
    return Observed(
        facts={
            "rendered": held.get(_schema_key(name), {}),
            "tool": held,
            "canonical_unchanged": dumps(spec.input_schema) == dumps(kept),
            "terminates": True,
        }
    )


async def _in_a_request(provider_format: str, spec: ToolSpec) -> Json:
    async with staged() as stage:
        (held,) = tools_in(request_with(stage, provider_format, (spec,)), provider_format)
    return held


def _by_the_rules(provider_format: str, spec: ToolSpec) -> Json:
    """The tool by the rules of a format that is not built."""
    if provider_format not in RULES:
        raise CaseFault(f"there is no provider format {provider_format}")
    parameters = tool_parameters(spec, RULES[provider_format])
    return {"name": spec.model_name, "description": spec.description, _schema_key(provider_format): parameters}


def _schema_key(provider_format: str) -> str:
    return _SCHEMAS.get(provider_format, "parameters")


def request_with(stage: Stage, provider_format: str, tools: tuple[ToolSpec, ...]) -> Json:
    """The body of a request with these tools."""
    gateway: ModelGateway = stage.engine().services.gateway
    settings = stage.settings(provider_format)
    connection = gateway.connect(settings)
    fragment = gateway.encode_turn(connection, Message(Role.USER, (TextPart("hello"),)))
    outgoing = gateway.outgoing(connection, settings, [fragment], tools, {"sessionId": "s"})
    return loads(gateway.build(outgoing).body)


def tools_in(body: Json, provider_format: str) -> list[Json]:
    """The tools of a request, each the object that holds its name and schema."""
    match provider_format:
        case "openai_compatible":
            return [tool["function"] for tool in body["tools"]]
        case "gemini":
            return [declared for tool in body["tools"] for declared in tool["functionDeclarations"]]
        case "openai_responses" | "claude_messages" | "gemini_interactions":
            return list(body["tools"])
        case other:
            raise CaseFault(f"there is no provider format {other}")
