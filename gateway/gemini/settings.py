"""Where Gemini answers, and which keys of a chat payload reach its body: a list of the known ones, so that nothing leaks."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, is_list, is_object
from ..connections.connection import Connection
from ..connections.vertex import Vertex
from ..schemas.rules import GEMINI, sanitized

_NUMBERS = {"temperature": "temperature", "top_p": "topP", "top_k": "topK", "seed": "seed"}

_CATEGORIES = ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT", "CIVIC_INTEGRITY")
_VERTEX_CATEGORIES = (
    "IMAGE_HATE",
    "IMAGE_DANGEROUS_CONTENT",
    "IMAGE_HARASSMENT",
    "IMAGE_SEXUALLY_EXPLICIT",
    "JAILBREAK",
)

_BUDGETS = (("gemini-2.5-flash-lite", 512, 24576), ("gemini-2.5-flash", 0, 24576), ("gemini-2.5-pro", 128, 32768))
"""By the beginning of a model's name: the least and the most tokens that it may think."""

_SHARES = {"minimal": 0.0, "low": 0.1, "medium": 0.25, "high": 0.5, "max": 1.0}
"""By effort: which part of an answer's tokens may go into thinking."""

_EFFORTS = {"none": "minimal", "min": "minimal", "minimum": "minimal", "maximum": "max", "xhigh": "max"}
_LEVELS = {"max": "high"}
_TWO_LEVELS = {"minimal": "low", "medium": "high", "max": "high"}
_GEMINI_3 = re.compile(r"(?:.*/)?gemini-(?:[a-z]+-)*[3-9](?!\d)", re.IGNORECASE)
_TWO_LEVEL_MODELS = re.compile(r"gemini-3(?:\.0)?-pro", re.IGNORECASE)


def gives_positional_ids(connection: Connection) -> bool:
    """Whether calls that come without an id get one by their place, which no server is told."""
    return connection.switches.positional_tool_call_ids


def is_gemini_3(model: str) -> bool:
    """Whether it is of the third generation or later, which thinks by level and asks for signatures."""
    return _GEMINI_3.match(model) is not None


def url_of(connection: Connection) -> str:
    name = quote(connection.model, safe="/:@")
    if connection.source == "vertexai":
        place = connection.vertex or Vertex()
        within = f"/projects/{quote(place.project, safe='')}/locations/{place.region}" if place.project else ""
        path = f"{within}/publishers/google/models/{name.removeprefix('models/')}:generateContent"
        return connection.url(_version(connection, "/v1") + path)
    name = name if name.startswith("models/") else f"models/{name}"
    return connection.url(f"{_version(connection, '/v1beta')}/{name}:generateContent")


def auth_headers(connection: Connection) -> dict[str, str]:
    """The key, which is never part of the URL."""
    if connection.api_key is None:
        return {}
    key = connection.api_key.reveal()
    if connection.vertex is not None and connection.vertex.account is not None:
        return {"Authorization": f"Bearer {key}"}
    return {"x-goog-api-key": key}


def uses_system(payload: dict[str, Json]) -> bool:
    return payload.get("use_sysprompt") is not False


def body_settings(connection: Connection, payload: dict[str, Json]) -> dict[str, Json]:
    """`generationConfig` and `safetySettings`; raises InvalidInput that names the key which is wrong."""
    categories = _CATEGORIES + (_VERTEX_CATEGORIES if connection.source == "vertexai" else ())
    return {
        "generationConfig": _generation(connection, payload),
        "safetySettings": [{"category": f"HARM_CATEGORY_{name}", "threshold": "OFF"} for name in categories],
    }


def calling_config(choice: Json) -> Json:
    """`functionCallingConfig` for a tool choice in wire words."""
    if is_object(choice):
        return {"mode": "ANY", "allowedFunctionNames": [choice["function"]["name"]]}
    return {"mode": {"none": "NONE", "required": "ANY"}.get(choice, "AUTO")}


def _version(connection: Connection, version: str) -> str:
    """The API's version, unless the base names one."""
    path = urlsplit(connection.base_url).path.rstrip("/")
    return "" if path.endswith(("/v1", "/v1beta")) else version


def _generation(connection: Connection, payload: dict[str, Json]) -> dict[str, Json]:
    made: dict[str, Json] = {"candidateCount": 1}
    limit = _limit(payload)
    if limit is not None:
        made["maxOutputTokens"] = limit
    for key, name in _NUMBERS.items():
        value = payload.get(key)
        if value is None or (key == "top_k" and value == 0):
            continue
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise InvalidInput(f"{key} must be a number")
        made[name] = value
    stop = _stop(payload.get("stop"))
    if stop:
        made["stopSequences"] = stop
    if payload.get("json_schema") is not None:
        made |= {"responseMimeType": "application/json", "responseSchema": _answer_schema(payload["json_schema"])}
    thinking = _thinking(connection.model.rpartition("/")[2], payload, limit)
    return {**made, "thinkingConfig": thinking} if thinking else made


def _limit(payload: dict[str, Json]) -> int | None:
    key = "max_completion_tokens" if payload.get("max_completion_tokens") is not None else "max_tokens"
    value = payload.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidInput(f"{key} must be a whole number of at least 1")
    return value


def _stop(given: Json) -> list[str]:
    words = [given] if isinstance(given, str) else given
    if words is None:
        return []
    if not is_list(words) or not all(isinstance(word, str) for word in words):
        raise InvalidInput("stop must be a string or a list of strings")
    return [word for word in words if word]


def _answer_schema(given: Json) -> Json:
    if not is_object(given):
        raise InvalidInput("json_schema must be an object {name, schema}")
    return sanitized(given.get("schema", given.get("value", {})), GEMINI, "json_schema")


def _thinking(model: str, payload: dict[str, Json], limit: int | None) -> dict[str, Json]:
    """A level for Gemini 3, a budget for 2.5; other models have neither."""
    effort = _effort(payload.get("reasoning_effort"))
    found = next((bounds for bounds in _BUDGETS if model.lower().startswith(bounds[0])), None)
    made: dict[str, Json] = {}
    if is_gemini_3(model):
        levels = _TWO_LEVELS if _TWO_LEVEL_MODELS.match(model) else _LEVELS
        if effort not in (None, "auto"):
            made["thinkingLevel"] = levels.get(effort, effort)
    elif found is None:
        return {}
    elif effort is not None:
        made["thinkingBudget"] = _budget(effort, found[1], found[2], limit)
    if payload.get("include_reasoning") is not None and made.get("thinkingBudget") != 0:
        made["includeThoughts"] = bool(payload["include_reasoning"])
    return made


def _effort(given: Json) -> str | None:
    """The effort in one vocabulary; None where none is asked for."""
    if given is None or given == "":
        return None
    effort = given.strip().lower() if isinstance(given, str) else ""
    effort = _EFFORTS.get(effort, effort)
    if effort not in (*_SHARES, "auto"):
        raise InvalidInput(f"reasoning_effort must be one of auto, none, {', '.join(_SHARES)}")
    return effort


def _budget(effort: str, least: int, most: int, limit: int | None) -> int:
    if effort == "auto":
        return -1
    return max(least, min(most, int((limit or most) * _SHARES[effort])))
