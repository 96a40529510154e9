"""Which keys of a chat payload reach an interaction, and under which names: nothing else leaks."""

from __future__ import annotations

from collections.abc import Sequence

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, is_list, is_object
from ...graph.messages import ToolSpec
from ..connections.connection import Connection
from ..schemas.rules import INTERACTIONS, check_aliases, sanitized, tool_parameters
from ..settings import wire_tool_choice, with_overrides

_NUMBERS = ("temperature", "top_p", "seed")
_LIMITS = ("max_completion_tokens", "max_tokens")
_LEVELS = {
    "min": "minimal", "minimum": "minimal", "minimal": "minimal", "none": "minimal", "low": "low", "medium": "medium",
    "high": "high", "xhigh": "high", "max": "high", "maximum": "high",
}  # fmt: skip


def interaction_settings(
    connection: Connection, payload: dict[str, Json], tools: Sequence[ToolSpec], tool_choice: Json, *, current: bool
) -> dict[str, Json]:
    """The settings of an interaction with the user's own body keys; `current`: of the schema of steps.

    Raises InvalidInput that names the key, and ModelFailed `model.request_build_failed` for the tool choice.
    """
    settings: dict[str, Json] = {}
    generation = _generation(payload)
    if generation:
        settings["generation_config"] = generation
    if payload.get("json_schema") is not None:
        settings |= _response_format(payload["json_schema"], current=current)
    settings = with_overrides(connection, settings)
    if tools:
        held = settings.get("generation_config")
        if held is not None and not is_object(held):
            raise InvalidInput("custom_include_body: generation_config must be an object")
        choice = _choice(wire_tool_choice(tool_choice, tools))
        settings["generation_config"] = {**(held or {}), "tool_choice": choice}
    return settings


def function_tools(specs: Sequence[ToolSpec]) -> list[Json]:
    """The tools as an interaction declares them; raises ModelFailed `model.request_build_failed`.

    A tool without arguments has no `parameters`: the API refuses an object that has no properties.
    """
    check_aliases(specs)
    tools: list[Json] = []
    for spec in specs:
        declared: dict[str, Json] = {"type": "function", "name": spec.model_name, "description": spec.description}
        parameters = tool_parameters(spec, INTERACTIONS)
        if parameters.get("properties"):
            declared["parameters"] = parameters
        tools.append(declared)
    return tools


def _generation(payload: dict[str, Json]) -> dict[str, Json]:
    held = {key: _number(payload[key], key) for key in _NUMBERS if payload.get(key) is not None}
    limit = next((key for key in _LIMITS if payload.get(key) is not None), None)
    if limit is not None:
        held["max_output_tokens"] = _number(payload[limit], limit)
    stop = payload.get("stop")
    if isinstance(stop, str):
        stop = [stop]
    if stop:
        if not is_list(stop) or not all(isinstance(word, str) for word in stop):
            raise InvalidInput("stop must be a string or a list of strings")
        held["stop_sequences"] = stop
    level = _level(payload.get("reasoning_effort"))
    if level is not None:
        held["thinking_level"] = level
    if payload.get("include_reasoning") is not None:
        held["thinking_summaries"] = "auto" if payload["include_reasoning"] else "none"
    return held


def _number(given: Json, key: str) -> Json:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise InvalidInput(f"{key} must be a number")
    return given


def _level(given: Json) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str):
        raise InvalidInput("reasoning_effort must be a string")
    effort = given.strip().lower()
    if effort in ("", "auto"):
        return None
    if effort not in _LEVELS:
        raise InvalidInput(f"reasoning_effort {given!r} is no thinking level: use minimal, low, medium or high")
    return _LEVELS[effort]


def _choice(choice: Json) -> Json:
    if choice == "required":
        return "any"
    if is_object(choice):
        return {"allowed_tools": {"mode": "any", "tools": [choice["function"]["name"]]}}
    return choice


def _response_format(given: Json, *, current: bool) -> dict[str, Json]:
    if not is_object(given):
        raise InvalidInput("json_schema must be an object {name, schema}")
    schema = sanitized(given.get("schema", given.get("value", {})), INTERACTIONS, "json_schema")
    if current:
        return {"response_format": {"type": "text", "mime_type": "application/json", "schema": schema}}
    return {"response_format": schema, "response_mime_type": "application/json"}
