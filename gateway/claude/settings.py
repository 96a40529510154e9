"""What a chat payload and a connection say about a Claude request: length, sampling, thinking, tools, caching, headers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, dumps, is_list, is_object
from ...graph.messages import ToolSpec
from ..connections.connection import Connection
from ..schemas.rules import CLAUDE, check_aliases, tool_parameters
from ..settings import wire_tool_choice

VERSION = "2023-06-01"

_DEFAULT_MAX_TOKENS = 1024
_MIN_BUDGET, _MAX_BUDGET = 1024, 21333
_BUDGETS = {"minimal": 0, "low": 10, "medium": 25, "high": 50, "max": 95}
"""Percent of max_tokens."""

_EFFORTS = {"min": "minimal", "minimum": "minimal", "maximum": "max"}
_ADAPTIVE_EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max"}
_DEFAULTS: dict[str, float] = {"temperature": 1, "top_p": 1, "top_k": 0}
_TTLS = ("off", "5m", "1h")

_THOUGHTLESS = re.compile(r"(?:.*/)?claude-(?:instant|2|3-(?!7)|v?[12]\b)", re.IGNORECASE)
_ADAPTIVE = re.compile(r"(?:.*/)?claude-(?:opus|sonnet|haiku)-(?:4[.-](?:[6-9]|\d\d)|[5-9])(?!\d)", re.IGNORECASE)


def headers(connection: Connection) -> dict[str, str]:
    """The key, unless the user's own authorization stands in its place, and which API this is."""
    made = {"anthropic-version": VERSION}
    authorized = any(name.lower() == "authorization" for name, _ in connection.headers)
    if connection.api_key is not None and not authorized:
        made["x-api-key"] = connection.api_key.reveal()
    if betas(connection):
        made["anthropic-beta"] = ",".join(betas(connection))
    return made


def betas(connection: Connection) -> tuple[str, ...]:
    """The switch `anthropic_beta`: names for the header of that name."""
    return connection.switches.anthropic_beta


def cache_ttl(connection: Connection, payload: dict[str, Json]) -> str | None:
    """How long the request's beginning is to be kept; None where caching is off. Raises InvalidInput.

    The payload's `prompt_cache_ttl`, else the switch of that name. Other servers than Claude's own must be known to
    understand it: `custom_claude_prompt_caching` says so, or the switch, which is said of this very server.
    """
    given = payload.get("prompt_cache_ttl")
    ttl = connection.switches.prompt_cache_ttl if given is None else given
    if ttl not in _TTLS:
        raise InvalidInput(f"prompt_cache_ttl must be one of {', '.join(_TTLS)}")
    custom = payload.get("custom_claude_prompt_caching")
    if custom not in (None, True, False):
        raise InvalidInput("custom_claude_prompt_caching must be true or false")
    known = custom is True or (custom is None and given is None)
    allowed = connection.source == "claude" or known
    return ttl if allowed and ttl != "off" else None


def uses_system(payload: dict[str, Json]) -> bool:
    """Whether system messages at the start are sent as `system`; the payload may turn that off."""
    return payload.get("use_sysprompt") is not False


def body_settings(connection: Connection, payload: dict[str, Json]) -> dict[str, Json]:
    """The settings of a body; a key whose value is null is absent. Raises InvalidInput that names the key."""
    longest = _max_tokens(payload)
    settings: dict[str, Json] = {"model": connection.model, "max_tokens": longest or _DEFAULT_MAX_TOKENS}
    settings["stream"] = False
    output: dict[str, Json] = {}
    thinking = _thinking(connection, payload, longest or _DEFAULT_MAX_TOKENS, output)
    if thinking is not None:
        settings["thinking"] = thinking
    if payload.get("json_schema") is not None:
        output["format"] = _output_format(payload["json_schema"])
    if output:
        settings["output_config"] = output
    stop = _stop_sequences(payload.get("stop"))
    if stop:
        settings["stop_sequences"] = stop
    if not thinks(settings):
        given = {key: payload.get(key) for key in _DEFAULTS}
        settings |= {key: value for key, value in given.items() if value is not None and value != _DEFAULTS[key]}
    return settings


def thinks(settings: dict[str, Json]) -> bool:
    thinking = settings.get("thinking")
    return is_object(thinking) and thinking.get("type") in ("enabled", "adaptive")


def without_budget(settings: dict[str, Json]) -> dict[str, Json]:
    """The settings without thinking on a budget: it can't begin behind calls that no thinking led to."""
    thinking = settings.get("thinking")
    if not is_object(thinking) or thinking.get("type") != "enabled":
        return settings
    return {key: value for key, value in settings.items() if key != "thinking"}


def tools_json(specs: Sequence[ToolSpec]) -> bytes:
    """The tools by alias. Raises ModelFailed `model.request_build_failed`."""
    check_aliases(specs)
    shown = [
        {"name": spec.model_name, "description": spec.description, "input_schema": tool_parameters(spec, CLAUDE)}
        for spec in specs
    ]
    return dumps(shown)


def choice_json(given: Json, tools: Sequence[ToolSpec], *, thinking: bool) -> bytes:
    """The tool choice; while the model thinks, none is forced on it, for that is refused."""
    choice = wire_tool_choice(given, tools)
    if choice == "none":
        return dumps({"type": "none"})
    if choice == "auto" or thinking:
        return dumps({"type": "auto"})
    return dumps({"type": "any"} if choice == "required" else {"type": "tool", "name": choice["function"]["name"]})


def _max_tokens(payload: dict[str, Json]) -> int | None:
    for key in ("max_tokens", "max_completion_tokens"):
        value = payload.get(key)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InvalidInput(f"{key} must be a whole number from 1 up")
        return value
    return None


def _stop_sequences(given: Json) -> list[str]:
    texts: Json = [given] if isinstance(given, str) else given
    if texts is None:
        return []
    if not is_list(texts) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise InvalidInput("stop must be a text or a list of texts, each with more than white space")
    return texts


def _thinking(connection: Connection, payload: dict[str, Json], longest: int, output: dict[str, Json]) -> Json:
    """The `thinking` of the body, if any; an effort that is told in words is put into `output`."""
    given = payload.get("thinking")
    if given is not None:
        if not is_object(given):
            raise InvalidInput('thinking must be an object, such as {"type": "enabled", "budget_tokens": 2000}')
        return given
    effort = _effort(payload.get("reasoning_effort"))
    if effort is None or payload.get("enable_thinking") is False or _THOUGHTLESS.match(connection.model):
        return None
    if _ADAPTIVE.match(connection.model):
        output["effort"] = _ADAPTIVE_EFFORTS[effort]
        shown = payload.get("include_reasoning")
        display = {} if shown is None else {"display": "summarized" if shown else "omitted"}
        return {"type": "adaptive", **display}
    if longest <= _MIN_BUDGET:
        raise InvalidInput(f"max_tokens must be above {_MIN_BUDGET} where reasoning_effort asks the model to think")
    percent = _BUDGETS["max" if effort == "xhigh" else effort]
    return {"type": "enabled", "budget_tokens": min(max(longest * percent // 100, _MIN_BUDGET), _MAX_BUDGET)}


def _effort(given: Json) -> str | None:
    if given is None:
        return None
    word = given.strip().lower() if isinstance(given, str) else given
    if word in ("", "auto"):
        return None
    effort = _EFFORTS.get(word, word) if isinstance(word, str) else None
    if effort not in _ADAPTIVE_EFFORTS:
        raise InvalidInput(f"reasoning_effort must be one of auto, {', '.join(_ADAPTIVE_EFFORTS)}")
    return effort


def _output_format(given: Json) -> Json:
    if not is_object(given):
        raise InvalidInput("json_schema must be an object {name, schema}")
    return {"type": "json_schema", "schema": given.get("schema", given.get("value", {}))}
