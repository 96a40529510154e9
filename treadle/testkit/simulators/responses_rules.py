"""What OpenAI's Responses asks of a request by itself: its parameters, and the shape of each input item."""

from __future__ import annotations

from dataclasses import dataclass

from ...gateway.wire import elements, member, to_bytes, to_text
from ...graph.jsontext import Json, is_list, is_object, loads
from .responses_refusals import RequestRefused, is_one_of, missing, unknown, wrong_type, wrong_value
from .responses_tools import check_name, check_tools

_KEYS = frozenset(
    {"model", "input", "instructions", "store", "include", "previous_response_id", "tools", "tool_choice"}
    | {"parallel_tool_calls", "max_output_tokens", "max_tool_calls", "temperature", "top_p", "top_logprobs"}
    | {"reasoning", "text", "metadata", "truncation", "service_tier", "prompt", "prompt_cache_key", "user"}
    | {"prompt_cache_retention", "safety_identifier", "conversation", "context_management"}
)
_HTTP_KEYS = _KEYS | {"stream", "background", "stream_options"}
_SOCKET_KEYS = _KEYS | {"type", "generate"}
_INCLUDES = frozenset(
    {"reasoning.encrypted_content", "message.output_text.logprobs", "message.input_image.image_url"}
    | {"file_search_call.results", "web_search_call.action.sources", "web_search_call.results"}
    | {"code_interpreter_call.outputs", "computer_call_output.output.image_url"}
)
_PARTS = {"assistant": frozenset({"output_text", "refusal"})}
_ASKING_PARTS = frozenset({"input_text", "input_image", "input_file"})
_ROLES = frozenset({"assistant", "system", "developer", "user"})
_ITEM_KEYS = {
    "message": frozenset({"type", "role", "content", "id", "status", "phase"}),
    "function_call": frozenset({"type", "call_id", "name", "arguments", "id", "status"}),
    "function_call_output": frozenset({"type", "call_id", "output", "id", "status"}),
}
_TYPES = frozenset({*_ITEM_KEYS, "reasoning", "item_reference"})
_OBJECTS = {
    "reasoning": frozenset({"effort", "summary", "generate_summary"}),
    "text": frozenset({"format", "verbosity"}),
}
_RANGES = {"temperature": (0, 2), "top_p": (0, 1)}
_MIN_OUTPUT_TOKENS = 16


@dataclass(frozen=True, slots=True)
class InputItem:
    """One item of `input`: its bytes as they came, its value, and its place in the request."""

    raw: bytes
    value: dict[str, Json]
    where: str

    @property
    def kind(self) -> str:
        return str(self.value.get("type", "message"))

    @property
    def id(self) -> str | None:
        value: str | None = self.value.get("id")
        return value


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that is well formed."""

    body: dict[str, Json]
    items: tuple[InputItem, ...]

    @property
    def previous(self) -> str | None:
        value: str | None = self.body.get("previous_response_id")
        return value

    @property
    def wants_encrypted(self) -> bool:
        return "reasoning.encrypted_content" in self.body.get("include", [])


def read(data: bytes, *, on_socket: bool) -> Asked:
    """The request; raises RequestRefused for the first rule that it breaks by itself."""
    body = _object(data)
    _check_keys(body, on_socket=on_socket)
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise missing("model")
    if body.get("store", True) is not False:
        message = "Unsupported value: 'store' must be false: this server keeps no response."
        raise RequestRefused(message, "store", "unsupported_value")
    previous = body.get("previous_response_id")
    if previous is not None and not isinstance(previous, str):
        raise wrong_type("previous_response_id", "a string", previous)
    _check_settings(body)
    check_tools(body)
    return Asked(body, _items(data, body))


def _object(data: bytes) -> dict[str, Json]:
    try:
        body = loads(data)
    except ValueError:
        body = None
    if not is_object(body):
        raise RequestRefused(
            "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP "
            "library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
        )
    return body


def _check_keys(body: dict[str, Json], *, on_socket: bool) -> None:
    if on_socket and body.get("type") != "response.create":
        raise wrong_value("type", body.get("type"), ("response.create",))
    for key in body:
        if key not in (_SOCKET_KEYS if on_socket else _HTTP_KEYS):
            raise unknown(key)
    for key in ("stream", "background"):
        if body.get(key, False) is not False:
            raise RequestRefused(f"Unsupported value: '{key}' must be false here.", key, "unsupported_value")


def _check_settings(body: dict[str, Json]) -> None:
    include = body.get("include", [])
    if not is_list(include):
        raise wrong_type("include", "an array of strings", include)
    for place, name in enumerate(include):
        if not is_one_of(name, _INCLUDES):
            raise wrong_value(f"include[{place}]", name, _INCLUDES)
    for key, known in _OBJECTS.items():
        given = body.get(key)
        if given is not None and not is_object(given):
            raise wrong_type(key, "an object", given)
        for name in given or {}:
            if name not in known:
                raise unknown(f"{key}.{name}")
    for key, (low, high) in _RANGES.items():
        value = body.get(key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong_type(key, "a decimal", value)
        if not low <= value <= high:
            code = "decimal_below_min_value" if value < low else "decimal_above_max_value"
            message = f"Invalid '{key}': expected a value between {low} and {high}, but got {value} instead."
            raise RequestRefused(message, key, code)
    _check_limit(body.get("max_output_tokens"))


def _check_limit(value: Json) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong_type("max_output_tokens", "an integer", value)
    if value < _MIN_OUTPUT_TOKENS:
        message = f"Expected a value >= {_MIN_OUTPUT_TOKENS}, but got {value} instead."
        message = f"Invalid 'max_output_tokens': integer below minimum value. {message}"
        raise RequestRefused(message, "max_output_tokens", "integer_below_min_value")


def _items(data: bytes, body: dict[str, Json]) -> tuple[InputItem, ...]:
    given = body.get("input")
    if isinstance(given, str):
        return (InputItem(data, {"type": "message", "role": "user", "content": given}, "input"),)
    if given is None:
        raise missing("input")
    if not is_list(given):
        raise wrong_type("input", "one of a string or array of input items", given)
    raws = elements(member(to_text(data), "input") or "[]")
    return tuple(
        InputItem(to_bytes(raw), _item(value, f"input[{place}]"), f"input[{place}]")
        for place, (raw, value) in enumerate(zip(raws, given, strict=True))
    )


def _item(item: Json, where: str) -> dict[str, Json]:
    if not is_object(item):
        raise wrong_type(where, "an object", item)
    if item.get("id") is not None and not isinstance(item["id"], str):
        raise wrong_type(f"{where}.id", "a string", item["id"])
    return item


def check_shape(item: InputItem) -> None:
    """Raises RequestRefused where an item that the caller made (not one that a server sent) is not as it should be."""
    known = _ITEM_KEYS.get(item.kind)
    if known is None:
        raise wrong_value(item.where, item.kind, _TYPES)
    for key in item.value:
        if key not in known:
            raise unknown(f"{item.where}.{key}")
    match item.kind:
        case "message":
            _check_message(item.value, item.where)
        case "function_call":
            check_name(item.value.get("name"), f"{item.where}.name")
            _check_text(item, "call_id", "arguments")
        case _:
            _check_text(item, "call_id")
            _check_content(item.value.get("output"), f"{item.where}.output", _ASKING_PARTS)


def _check_text(item: InputItem, *keys: str) -> None:
    for key in keys:
        value = item.value.get(key)
        if value is None:
            raise missing(f"{item.where}.{key}")
        if not isinstance(value, str):
            raise wrong_type(f"{item.where}.{key}", "a string", value)
    if not item.value["call_id"]:
        message = f"Invalid '{item.where}.call_id': empty string. Expected a string with minimum length 1."
        raise RequestRefused(message, f"{item.where}.call_id", "empty_string")


def _check_message(value: dict[str, Json], where: str) -> None:
    role = value.get("role")
    if not is_one_of(role, _ROLES):
        raise missing(f"{where}.role") if role is None else wrong_value(f"{where}.role", role, _ROLES)
    _check_content(value.get("content"), f"{where}.content", _PARTS.get(str(role), _ASKING_PARTS))


def _check_content(content: Json, where: str, kinds: frozenset[str]) -> None:
    if content is None:
        raise missing(where)
    if isinstance(content, str):
        return
    if not is_list(content):
        raise wrong_type(where, "one of an array of objects or string", content)
    for place, part in enumerate(content):
        kind = part.get("type") if is_object(part) else None
        if not is_one_of(kind, kinds):
            raise wrong_value(f"{where}[{place}]", kind, kinds)
