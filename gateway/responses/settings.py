"""Which keys of a chat payload reach a Responses body, and in what form; tools and tool choice as that API writes them."""

from __future__ import annotations

from collections.abc import Sequence

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, is_list, is_object
from ...graph.messages import ToolSpec
from ..connections.connection import Connection
from ..schemas.rules import RESPONSES, check_aliases, tool_parameters
from ..settings import reasoning_effort, response_format, wire_tool_choice, with_overrides

ENCRYPTED = "reasoning.encrypted_content"
"""Without it reasoning comes without its content, and a server that stores nothing can't be given it back."""

_PLAIN = ("temperature", "top_p", "metadata", "parallel_tool_calls")
_NOT_YOURS = frozenset({"background", "type"})


def responses_settings(connection: Connection, payload: dict[str, Json]) -> dict[str, Json]:
    """The settings of a body, with the user's own keys in it; raises InvalidInput that names the key."""
    for key, _ in connection.body_include:
        if key in _NOT_YOURS:
            raise InvalidInput(f"custom_include_body must not set {key!r}: an answer is awaited whole")
    settings: dict[str, Json] = {key: payload[key] for key in _PLAIN if payload.get(key) is not None}
    limit = _limit(payload)
    if limit is not None:
        settings["max_output_tokens"] = limit
    reasoning = _reasoning(connection, payload)
    if reasoning:
        settings["reasoning"] = reasoning
    text = _text(payload)
    if text:
        settings["text"] = text
    kept = {"store": stores(payload), "include": _include(payload.get("include"))}
    return kept | with_overrides(connection, settings)


def stores(payload: dict[str, Json]) -> bool:
    """Whether the provider is to keep answers beyond the socket; raises InvalidInput."""
    store = payload.get("store")
    if store is not None and not isinstance(store, bool):
        raise InvalidInput("store must be true or false")
    return store is True


def responses_tools(specs: Sequence[ToolSpec]) -> list[Json]:
    """Raises ModelFailed `model.request_build_failed` for aliases that servers refuse or that stand for two tools."""
    check_aliases(specs)
    return [
        {
            "type": "function",
            "name": spec.model_name,
            "description": spec.description,
            "parameters": tool_parameters(spec, RESPONSES),
            "strict": False,
        }
        for spec in specs
    ]


def responses_tool_choice(given: Json, tools: Sequence[ToolSpec]) -> Json:
    """The choice in this API's form, names as aliases; raises ModelFailed `model.request_build_failed`."""
    if is_object(given) and given.get("type") == "allowed_tools":
        return _allowed(given, tools)
    return _flat(wire_tool_choice(given, tools))


def _flat(choice: Json) -> Json:
    return {"type": "function", "name": choice["function"]["name"]} if is_object(choice) else choice


def _allowed(given: dict[str, Json], tools: Sequence[ToolSpec]) -> Json:
    held = given.get("allowed_tools", given)
    listed = held.get("tools") if is_object(held) else None
    if not is_list(listed):
        raise InvalidInput("tool_choice of type allowed_tools must hold a list of tools")
    allowed = [
        _flat(wire_tool_choice({"function": tool.get("function", tool)} if is_object(tool) else {}, tools))
        for tool in listed
    ]
    return {"type": "allowed_tools", "mode": held.get("mode", "auto"), "tools": allowed}


def _include(given: Json) -> list[Json]:
    if given is None:
        return [ENCRYPTED]
    if not is_list(given) or not all(isinstance(entry, str) for entry in given):
        raise InvalidInput("include must be a list of strings")
    return given if ENCRYPTED in given else [*given, ENCRYPTED]


def _limit(payload: dict[str, Json]) -> int | None:
    for key in ("max_tokens", "max_completion_tokens"):
        limit = payload.get(key)
        if limit is None:
            continue
        if not isinstance(limit, int) or isinstance(limit, bool):
            raise InvalidInput(f"{key} must be a whole number")
        if limit > 0:
            return limit
    return None


def _reasoning(connection: Connection, payload: dict[str, Json]) -> dict[str, Json]:
    reasoning: dict[str, Json] = {}
    effort = reasoning_effort(connection, payload.get("reasoning_effort"))
    if effort is not None:
        reasoning["effort"] = effort
    if payload.get("include_reasoning") is True:
        reasoning["summary"] = "auto"
    return reasoning


def _text(payload: dict[str, Json]) -> dict[str, Json]:
    text: dict[str, Json] = {}
    if payload.get("verbosity") is not None:
        text["verbosity"] = payload["verbosity"]
    if payload.get("json_schema") is not None:
        text["format"] = {"type": "json_schema", **response_format(payload["json_schema"])["json_schema"]}
    return text
