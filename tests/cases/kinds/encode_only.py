"""`encode_only`: messages, written as a host writes them, made into one request of a format."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from treadle.gateway import calls
from treadle.graph.identity import CallId
from treadle.graph.jsontext import Json, dumps, is_list
from treadle.graph.messages import Message, Part, Role, TextPart, ToolCall, ToolCallPart, ToolResult, ToolResultPart
from treadle.nodes.registry import canonical_name, specs
from treadle.nodes.snapshot_messages import messages_of

from ..faults import CaseFault, a_list, an_object
from ..observed import Observed
from ..stage import staged
from ..upstream import Sent

KEYS = frozenset({"provider_format", "messages", "tools"})


def run(given: dict[str, Json]) -> Observed:
    return asyncio.run(_run(given))


async def _run(given: dict[str, Json]) -> Observed:
    async with staged() as stage:
        gateway = stage.engine().services.gateway
        settings = stage.settings(given.get("provider_format", "openai_compatible"))
        connection = gateway.connect(settings)
        messages = [_message(an_object(entry, "a message")) for entry in a_list(given["messages"], "messages")]
        fragments = [gateway.encode_turn(connection, message) for message in messages]
        tools = specs() if given.get("tools") else ()
        body = gateway.build(gateway.outgoing(connection, settings, fragments, tools, {"sessionId": "s"})).body
        return Observed(sent=[Sent(body, stage.clock.now())], next_sent=0)


def _message(entry: dict[str, Json]) -> Message:
    if entry.get("role") == "tool":
        return Message(Role.TOOL, (ToolResultPart(_result(entry)),))
    (message,) = _prompt(entry)
    if not entry.get("tool_calls"):
        return message
    parts: tuple[Part, ...] = tuple(part for part in message.parts if part != TextPart(""))
    return Message(Role.ASSISTANT, (*parts, *(ToolCallPart(_call(call)) for call in entry["tool_calls"])))


def _prompt(entry: dict[str, Json]) -> Iterator[Message]:
    """As the runtime reads a prompt, without the agent's own part of it."""
    yield messages_of({"messages": [entry]}, "the agent's own part")[-1]


def _call(given: Json) -> ToolCall:
    name, text = given["function"]["name"], given["function"].get("arguments")
    arguments, invalid = calls.arguments(text)
    return ToolCall(CallId(given["id"]), canonical_name(name), arguments, name, invalid, raw=dumps(given))


def _result(entry: dict[str, Json]) -> ToolResult:
    content = entry.get("content")
    if is_list(content):
        raise CaseFault("a tool message's content must be a text")
    return ToolResult(CallId(entry["tool_call_id"]), canonical_name(entry.get("name") or "tool"), content or "")
