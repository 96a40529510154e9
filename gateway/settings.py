"""Which keys of a chat payload reach a chat-completions body: a list of the known ones, so that nothing else leaks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..graph.errors import InvalidInput, ModelFailed
from ..graph.jsontext import Json, dumps, is_object
from ..graph.messages import ToolSpec
from .connections.connection import Connection

_PLAIN = (
    "temperature", "top_p", "top_k", "max_tokens", "max_completion_tokens", "stop", "seed", "user", "presence_penalty",
    "frequency_penalty", "logit_bias", "logprobs",
)  # fmt: skip

_EXTRAS = {"openrouter": ("include_reasoning", "reasoning", "provider", "transforms", "plugins")}
_THINKERS = frozenset({"deepseek", "moonshot", "zai"})

_EFFORTS = {"min": "minimal", "minimum": "minimal", "max": "high", "maximum": "high"}
_REASONING_MODELS = re.compile(r"(?:.*/)?(?:o\d|gpt-[5-9]|gpt-oss|codex)", re.IGNORECASE)
_XHIGH_MODELS = re.compile(r"(?:.*/)?gpt-(?:5\.[2-9]|[6-9])|.*codex-max", re.IGNORECASE)
_VERBOSE_MODELS = re.compile(r"(?:.*/)?gpt-[5-9]", re.IGNORECASE)


def chat_settings(connection: Connection, payload: dict[str, Json]) -> dict[str, Json]:
    """The settings of a chat-completions body; a key whose value is null is absent.

    `n` is left out: an agent uses one answer. Raises InvalidInput for a json_schema that is no object.
    """
    source = connection.source
    settings = {key: payload[key] for key in (*_PLAIN, *_EXTRAS.get(source, ())) if payload.get(key) is not None}
    effort = reasoning_effort(connection, payload.get("reasoning_effort"))
    if effort is not None and source == "openrouter":
        settings.setdefault("reasoning", {"effort": effort})
    elif effort is not None:
        settings["reasoning_effort"] = effort
    if payload.get("verbosity") is not None and source in ("openai", "custom") and _is_verbose(connection):
        settings["verbosity"] = payload["verbosity"]
    if payload.get("json_schema") is not None:
        settings["response_format"] = response_format(payload["json_schema"])
    thinking = _thinking(source, payload)
    if thinking is not None:
        settings["thinking"] = thinking
    return settings


def with_overrides(connection: Connection, settings: dict[str, Json]) -> dict[str, Json]:
    """The settings with the user's own body keys put in, then those that the user wants out left out."""
    changed = settings | dict(connection.body_include)
    return {key: value for key, value in changed.items() if key not in connection.body_exclude}


def setting_pairs(settings: dict[str, Json]) -> list[tuple[bytes, bytes]]:
    """Settings as pairs of a body; a key whose value is null is absent."""
    return [(dumps(key)[1:-1], dumps(value)) for key, value in settings.items() if value is not None]


def reasoning_effort(connection: Connection, given: Json) -> str | None:
    """The effort in the provider's own word; None where none is asked for, or the model has none."""
    if given is None:
        return None
    if not isinstance(given, str):
        raise InvalidInput("reasoning_effort must be a string")
    effort = _EFFORTS.get(given.strip().lower(), given.strip().lower())
    if effort in ("", "auto"):
        return None
    if connection.source == "openai":
        if not _REASONING_MODELS.match(connection.model):
            return None
        if effort == "xhigh" and not _XHIGH_MODELS.match(connection.model):
            return "high"
    return effort


def wire_tool_choice(given: Json, tools: Sequence[ToolSpec]) -> Json:
    """The choice in wire words, names as aliases; raises ModelFailed `model.request_build_failed`."""
    if given is None:
        return "auto"
    if given in ("auto", "none", "required"):
        return given
    function = given.get("function") if is_object(given) else None
    name = function.get("name") if is_object(function) else None
    alias = next((tool.model_name for tool in tools if name in (tool.name, tool.model_name)), None)
    if alias is None:
        raise ModelFailed("tool_choice names no tool of this request", code="model.request_build_failed")
    return {"type": "function", "function": {"name": alias}}


def thinks(connection: Connection, settings: dict[str, Json]) -> bool:
    """Whether thinking is on by request: such hosts refuse a forced tool choice beside it."""
    thinking = settings.get("thinking")
    return connection.source in _THINKERS and is_object(thinking) and thinking.get("type") == "enabled"


def _is_verbose(connection: Connection) -> bool:
    return _VERBOSE_MODELS.match(connection.model) is not None


def response_format(given: Json) -> Json:
    """The chat form of a json_schema setting; raises InvalidInput."""
    if not is_object(given):
        raise InvalidInput("json_schema must be an object {name, schema}")
    schema = {
        "name": given.get("name") or "response",
        "strict": given.get("strict", True),
        "schema": given.get("schema", given.get("value", {})),
    }
    return {"type": "json_schema", "json_schema": schema}


def _thinking(source: str, payload: dict[str, Json]) -> Json:
    if source not in _THINKERS:
        return None
    if payload.get("thinking") is not None:
        return payload["thinking"]
    wanted = payload.get("enable_thinking")
    return None if wanted is None else {"type": "enabled" if wanted else "disabled"}
