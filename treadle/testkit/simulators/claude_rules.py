"""What Anthropic's Messages asks of a request by itself: its fields, its tools, its cache marks, the shape of each block."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from ...graph.jsontext import Json, is_list, is_object
from .provider import RequestRefused

_KEYS = frozenset(
    {"model", "messages", "max_tokens", "system", "stop_sequences", "stream", "temperature", "top_p", "top_k"}
    | {"thinking", "output_config", "tools", "tool_choice", "metadata", "service_tier", "cache_control", "container"}
    | {"context_management", "mcp_servers", "inference_geo"}
)
_TOOL_KEYS = frozenset(
    {"name", "description", "input_schema", "type", "cache_control", "strict", "input_examples", "defer_loading"}
    | {"allowed_callers", "eager_input_streaming"}
)
_BLOCK_KEYS = {
    "text": {"text", "cache_control", "citations"},
    "image": {"source", "cache_control"},
    "document": {"source", "title", "context", "citations", "cache_control"},
    "search_result": {"source", "title", "content", "citations", "cache_control"},
    "tool_result": {"tool_use_id", "content", "is_error", "cache_control"},
    "tool_use": {"id", "name", "input", "caller", "cache_control"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
}
"""By type, what a block may hold; blocks of the provider's own tools are not looked into."""

_NEEDED: dict[str, dict[str, type]] = {
    "text": {"text": str}, "image": {"source": dict}, "document": {"source": dict}, "tool_result": {"tool_use_id": str},
    "tool_use": {"id": str, "name": str, "input": dict}, "thinking": {"thinking": str, "signature": str},
    "redacted_thinking": {"data": str},
}  # fmt: skip
_USER_ONLY = frozenset({"image", "document", "search_result", "tool_result"})
_ASSISTANT_ONLY = frozenset({"tool_use", "thinking", "redacted_thinking"})
_PARTS = frozenset({"text", "image", "document", "search_result"})
"""What a result's content may hold."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_MAX_MARKS = 4
_MIN_BUDGET = 1024


def check(body: dict[str, Json]) -> None:
    """Raises RequestRefused for the first rule that the body breaks."""
    for key in body:
        if key not in _KEYS:
            raise _extra(key)
    for key in ("model", "max_tokens", "messages"):
        if body.get(key) is None:
            raise RequestRefused(f"{key}: Field required")
    if not isinstance(body["model"], str) or not body["model"]:
        raise RequestRefused("model: String should have at least 1 character")
    _check_whole("max_tokens", body["max_tokens"], 1)
    if body.get("stream", False) is not False:
        raise RequestRefused("stream: this server does not stream; it must be false")
    _check_sampling(body)
    _check_thinking(body)
    _check_tools(body)
    _check_system(body.get("system", []))
    messages = body["messages"]
    if not is_list(messages):
        raise RequestRefused("messages: Input should be a valid list")
    if not messages:
        raise RequestRefused("messages: at least one message is required")
    for place, message in enumerate(messages):
        _check_message(message, f"messages.{place}")
    _check_marks(body)


def _check_whole(key: str, value: Json, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise RequestRefused(f"{key}: Input should be a valid integer")
    if value < least:
        raise RequestRefused(f"{key}: Input should be greater than or equal to {least}")


def _check_sampling(body: dict[str, Json]) -> None:
    for key in ("temperature", "top_p"):
        value = body.get(key)
        if value is None:
            continue
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise RequestRefused(f"{key}: Input should be a valid number")
        if not 0 <= value <= 1:
            raise RequestRefused(f"{key}: range: 0..1")
    if body.get("top_k") is not None:
        _check_whole("top_k", body["top_k"], 0)
    stops = body.get("stop_sequences", [])
    if not is_list(stops) or not all(isinstance(stop, str) for stop in stops):
        raise RequestRefused("stop_sequences: Input should be a valid list")
    if not all(stop.strip() for stop in stops):
        raise RequestRefused("stop_sequences: each stop sequence must contain non-whitespace")


def _check_thinking(body: dict[str, Json]) -> None:
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type") if is_object(thinking) else None
    known = {"enabled": {"type", "budget_tokens", "display"}, "adaptive": {"type", "display"}, "disabled": {"type"}}
    if kind not in known:
        raise RequestRefused(
            f"thinking: Input tag '{kind}' found using 'type' does not match any of the expected tags: "
            "'adaptive', 'disabled', 'enabled'"
        )
    for key in thinking:
        if key not in known[kind]:
            raise _extra(f"thinking.{kind}.{key}")
    if kind == "disabled":
        return
    if kind == "enabled":
        if "budget_tokens" not in thinking:
            raise RequestRefused("thinking.enabled.budget_tokens: Field required")
        _check_whole("thinking.enabled.budget_tokens", thinking["budget_tokens"], _MIN_BUDGET)
        if thinking["budget_tokens"] >= body["max_tokens"]:
            raise RequestRefused("`max_tokens` must be greater than `thinking.budget_tokens`.")
    choice = body.get("tool_choice")
    if is_object(choice) and choice.get("type") in ("any", "tool"):
        raise RequestRefused("Thinking may not be enabled when tool_choice forces tool use.")
    if body.get("temperature") not in (None, 1):
        raise RequestRefused("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")
    if body.get("top_k") is not None:
        raise RequestRefused("`top_k` must be unset when thinking is enabled or in adaptive mode.")
    if body.get("top_p") is not None and body["top_p"] < 0.95:
        raise RequestRefused("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")


def _check_tools(body: dict[str, Json]) -> None:
    tools = body.get("tools", [])
    if not is_list(tools):
        raise RequestRefused("tools: Input should be a valid list")
    names: set[str] = set()
    for place, tool in enumerate(tools):
        name = _check_tool(tool, f"tools.{place}")
        if name in names:
            raise RequestRefused("tools: Tool names must be unique.")
        names.add(name)
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not is_object(choice) or choice.get("type") not in ("auto", "any", "tool", "none"):
        raise RequestRefused("tool_choice: Input should be an object with type 'auto', 'any', 'tool' or 'none'")
    for key in choice:
        if key not in ("type", "name", "disable_parallel_tool_use"):
            raise _extra(f"tool_choice.{choice['type']}.{key}")
    if not tools:
        raise RequestRefused("tool_choice: tool_choice may only be specified while providing tools.")
    if choice["type"] == "tool" and choice.get("name") not in names:
        raise RequestRefused(f"tool_choice: Tool '{choice.get('name')}' not found in provided tools")


def _check_tool(tool: Json, where: str) -> str:
    if not is_object(tool):
        raise RequestRefused(f"{where}: Input should be a valid dictionary")
    if tool.get("type", "custom") != "custom":
        return str(tool.get("name"))
    where = f"{where}.custom"
    for key in tool:
        if key not in _TOOL_KEYS:
            raise _extra(f"{where}.{key}")
    for key in ("name", "input_schema"):
        if key not in tool:
            raise RequestRefused(f"{where}.{key}: Field required")
    name = tool["name"]
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RequestRefused(f"{where}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
    _check_schema(tool["input_schema"], f"{where}.input_schema")
    return name


def _check_schema(schema: Json, where: str) -> None:
    if not is_object(schema):
        raise RequestRefused(f"{where}: Input should be a valid dictionary")
    if "type" not in schema:
        raise RequestRefused(f"{where}.type: Field required")
    if schema["type"] != "object":
        raise RequestRefused(f"{where}.type: Input should be 'object'")
    if schema.keys() & {"oneOf", "allOf", "anyOf"}:
        raise RequestRefused(f"{where}: input_schema does not support oneOf, allOf, or anyOf at the top level")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as fault:
        raise RequestRefused(
            f"{where}: JSON schema is invalid. It must match JSON Schema draft 2020-12 "
            "(https://json-schema.org/draft/2020-12)."
        ) from fault
    for key in schema.get("properties", {}):
        if not _PROPERTY.fullmatch(key):
            raise RequestRefused(f"{where}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'")


def _check_system(system: Json) -> None:
    if isinstance(system, str):
        return
    if not is_list(system):
        raise RequestRefused("system: Input should be a valid string or list")
    for place, block in enumerate(system):
        if not is_object(block) or block.get("type") != "text":
            raise RequestRefused(f"system.{place}.type: Input should be 'text'")
        _check_block(block, f"system.{place}", "system")


def _check_message(message: Json, where: str) -> None:
    if not is_object(message):
        raise RequestRefused(f"{where}: Input should be a valid dictionary")
    for key in message:
        if key not in ("role", "content"):
            raise _extra(f"{where}.{key}")
    role, content = message.get("role"), message.get("content")
    if role == "system":
        raise RequestRefused(
            'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, '
            'not "system" as an input message role.'
        )
    if role not in ("user", "assistant"):
        raise RequestRefused(f"{where}.role: Input should be 'user' or 'assistant'")
    if content is None:
        raise RequestRefused(f"{where}.content: Field required")
    if not content:
        raise RequestRefused(f"{where}: all messages must have non-empty content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not is_list(content):
        raise RequestRefused(f"{where}.content: Input should be a valid list")
    for place, block in enumerate(content):
        _check_block(block, f"{where}.content.{place}", role)


def _check_block(block: Json, where: str, role: str) -> None:
    kind = block.get("type") if is_object(block) else None
    if not is_object(block) or not isinstance(kind, str):
        raise RequestRefused(f"{where}.type: Field required")
    if kind in (_ASSISTANT_ONLY if role == "user" else _USER_ONLY):
        raise RequestRefused(f"{where}: `{kind}` blocks are not permitted within `{role}` turns")
    if kind not in _BLOCK_KEYS:
        if role == "user":
            raise RequestRefused(
                f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
            )
        return
    for key in block:
        if key not in {"type", *_BLOCK_KEYS[kind]}:
            raise _extra(f"{where}.{kind}.{key}")
    for key, wanted in _NEEDED.get(kind, {}).items():
        if key not in block:
            raise RequestRefused(f"{where}.{kind}.{key}: Field required")
        if not isinstance(block[key], wanted):
            name = "string" if wanted is str else "dictionary"
            raise RequestRefused(f"{where}.{kind}.{key}: Input should be a valid {name}")
    if kind == "text" and not block["text"].strip():
        fault = "contain non-whitespace text" if block["text"] else "be non-empty"
        raise RequestRefused(f"{where.partition('.')[0]}: text content blocks must {fault}")
    if kind == "tool_use" and not _ID.fullmatch(block["id"]):
        raise RequestRefused(f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if kind == "tool_result":
        _check_result(block, where)


def _check_result(block: dict[str, Json], where: str) -> None:
    content = block.get("content")
    if content is None or isinstance(content, str):
        return
    if not is_list(content):
        raise RequestRefused(f"{where}.tool_result.content: Input should be a valid list")
    for place, part in enumerate(content):
        if not is_object(part) or part.get("type") not in _PARTS:
            raise RequestRefused(f"{where}.tool_result.content.{place}.type: Input should be one of {sorted(_PARTS)}")
        _check_block(part, f"{where}.tool_result.content.{place}", "user")


def _check_marks(body: dict[str, Json]) -> None:
    """At most four cache marks in a request, and none that lasts long behind one that lasts a short time."""
    marks = list(_marks(body))
    for where, mark in marks:
        if not is_object(mark) or mark.get("type") != "ephemeral" or not mark.keys() <= {"type", "ttl"}:
            raise RequestRefused(f"{where}.cache_control: Input should be an object with type 'ephemeral'")
        if mark.get("ttl", "5m") not in ("5m", "1h"):
            raise RequestRefused(f"{where}.cache_control.ephemeral.ttl: Input should be '5m' or '1h'")
    if len(marks) > _MAX_MARKS:
        raise RequestRefused(f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}.")
    ttls = [mark.get("ttl", "5m") for _, mark in marks]
    if sorted(ttls) != ttls:
        raise RequestRefused("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.")


def _marks(body: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """In the order in which a request is read: tools, system, messages; the whole request's own stands at the end."""
    for place, tool in enumerate(body.get("tools", [])):
        yield from _mark(tool, f"tools.{place}")
    system = body.get("system", [])
    for place, block in enumerate(system if is_list(system) else []):
        yield from _mark(block, f"system.{place}")
    for place, message in enumerate(body["messages"]):
        content = message["content"]
        for at, block in enumerate(content if is_list(content) else []):
            yield from _mark(block, f"messages.{place}.content.{at}")
            parts = block.get("content")
            for inner, part in enumerate(parts if block["type"] == "tool_result" and is_list(parts) else []):
                yield from _mark(part, f"messages.{place}.content.{at}.tool_result.content.{inner}")
    yield from _mark(body, "request")


def _mark(holder: dict[str, Json], where: str) -> Iterator[tuple[str, Json]]:
    if holder.get("cache_control") is not None:
        yield where, holder["cache_control"]


def _extra(where: str) -> RequestRefused:
    return RequestRefused(f"{where}: Extra inputs are not permitted")
