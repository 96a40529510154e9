"""What the Interactions API asks of a request by itself: only fields that it knows, and steps that are whole."""

from __future__ import annotations

from ...graph.jsontext import Json, is_list, is_object
from .google_schema import check_declaration
from .provider import RequestRefused

_KEYS = frozenset(
    {"model", "input", "stream", "store", "background", "system_instruction", "generation_config", "tools"}
    | {"response_format", "response_modalities", "previous_interaction_id", "service_tier", "cached_content"}
)
_GENERATION_KEYS = frozenset(
    {"temperature", "top_p", "seed", "stop_sequences", "max_output_tokens", "thinking_level", "thinking_summaries"}
    | {"tool_choice", "presence_penalty", "frequency_penalty", "speech_config", "image_config", "video_config"}
)
_FUNCTION_KEYS = frozenset({"type", "name", "description", "parameters"})
_STEP_KEYS = {
    "user_input": {"content"},
    "model_output": {"content", "error"},
    "thought": {"signature", "summary"},
    "function_call": {"id", "name", "arguments", "signature"},
    "function_result": {"call_id", "name", "result", "is_error", "signature"},
}
"""By type, what a step may hold; steps of the provider's own tools are not looked into."""

_NEEDED: dict[str, dict[str, type]] = {
    "user_input": {"content": list}, "model_output": {"content": list}, "thought": {"signature": str},
    "function_call": {"id": str, "name": str, "arguments": dict}, "function_result": {"call_id": str},
}  # fmt: skip
_CONTENT = frozenset({"text", "image", "audio", "video", "document"})
_CHOICES = ("auto", "any", "none", "validated")
_WORDS = {"thinking_level": ("minimal", "low", "medium", "high"), "thinking_summaries": ("auto", "none")}


def check(body: dict[str, Json]) -> None:
    """Raises RequestRefused for the first rule that the body breaks."""
    for key in body:
        if key not in _KEYS:
            raise _unknown(key)
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise RequestRefused("The required parameter 'model' is missing.")
    if not body["model"].removeprefix("models/").startswith("gemini-"):
        raise RequestRefused(f"Model '{body['model']}' not found.", status=404, code="model_not_found")
    for key in ("stream", "background"):
        if body.get(key, False) is not False:
            raise RequestRefused(f"The value of '{key}' must be false: this server does neither.")
    if body.get("store", True) is not False:
        raise RequestRefused("The value of 'store' must be false: this server keeps no interaction.")
    if body.get("previous_interaction_id") is not None:
        raise RequestRefused("'previous_interaction_id' can not be used when 'store' is false.")
    if not isinstance(body.get("system_instruction", ""), str):
        raise _invalid("system_instruction")
    names = _check_tools(body.get("tools", []))
    _check_generation(body.get("generation_config", {}), names)
    _check_input(body.get("input"))


def _check_tools(tools: Json) -> set[str]:
    if not is_list(tools):
        raise _invalid("tools")
    names: set[str] = set()
    for place, tool in enumerate(tools):
        where = f"tools[{place}]"
        if not is_object(tool) or not isinstance(tool.get("type"), str):
            raise _invalid(f"{where}.type")
        if tool["type"] != "function":
            continue
        for key in tool:
            if key not in _FUNCTION_KEYS:
                raise _unknown(f"{where}.{key}")
        check_declaration(tool, where, names, may_be_empty=True)
    return names


def _check_generation(config: Json, names: set[str]) -> None:
    if not is_object(config):
        raise _invalid("generation_config")
    for key, value in config.items():
        where = f"generation_config.{key}"
        if key not in _GENERATION_KEYS:
            raise _unknown(where)
        if key in _WORDS and value not in _WORDS[key]:
            raise _unsupported(value, where)
    for key, high in (("temperature", 2), ("top_p", 1)):
        value = config.get(key, 0)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= high:
            raise _invalid(f"generation_config.{key}")
    limit = config.get("max_output_tokens", 1)
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise _invalid("generation_config.max_output_tokens")
    if "tool_choice" in config:
        _check_choice(config["tool_choice"], names)


def _check_choice(choice: Json, names: set[str]) -> None:
    where = "generation_config.tool_choice"
    if not names:
        raise RequestRefused(f"'{where}' can not be set without tools.")
    if isinstance(choice, str):
        if choice not in _CHOICES:
            raise _unsupported(choice, where)
        return
    allowed = choice.get("allowed_tools") if is_object(choice) and len(choice) == 1 else None
    if not is_object(allowed) or not is_list(allowed.get("tools")) or not allowed.keys() <= {"mode", "tools"}:
        raise _invalid(where)
    if allowed.get("mode", "auto") not in _CHOICES:
        raise _unsupported(allowed["mode"], f"{where}.allowed_tools.mode")
    for name in allowed["tools"]:
        if name not in names:
            raise _unsupported(name, f"{where}.allowed_tools.tools")


def _check_input(given: Json) -> None:
    if isinstance(given, str) and given:
        return
    if given is None or given in ("", []):
        raise RequestRefused("The required parameter 'input' is missing.")
    if not is_list(given):
        raise _invalid("input")
    for place, step in enumerate(given):
        where = f"input[{place}]"
        if is_object(step) and "role" in step:
            raise RequestRefused(
                "The legacy Interactions API schema is no longer supported: use the new 'steps' schema."
            )
        if not is_object(step) or not isinstance(step.get("type"), str):
            raise _invalid(f"{where}.type")
        _check_step(step, step["type"], where)


def _check_step(step: dict[str, Json], kind: str, where: str) -> None:
    if kind not in _STEP_KEYS:
        if not kind.endswith(("_call", "_result")):
            raise _unsupported(kind, f"{where}.type", "type")
        return
    for key in step:
        if key not in {"type", *_STEP_KEYS[kind]}:
            raise _unknown(f"{where}.{key}")
    for key, wanted in _NEEDED[kind].items():
        if not isinstance(step.get(key), wanted) or (wanted is str and key != "signature" and not step[key]):
            raise _invalid(f"{where}.{key}")
    if kind == "function_result" and (not step.get("name") or step.get("result") is None):
        raise RequestRefused(f"Invalid input received: '{where}' needs 'name' and 'result'.")
    content: list[Json] = step["content"] if kind in ("user_input", "model_output") else []
    for part in content:
        part_type = part.get("type") if is_object(part) else None
        if part_type not in _CONTENT:
            raise _unsupported(part_type, f"{where}.content")
        if part_type == "text" and not isinstance(part.get("text"), str):
            raise _invalid(f"{where}.content")


def _unknown(where: str) -> RequestRefused:
    return RequestRefused(f"Unknown parameter '{where}'.", code="parameter_unknown")


def _invalid(where: str) -> RequestRefused:
    return RequestRefused(f"Invalid value at '{where}'.")


def _unsupported(value: Json, where: str, key: str = "") -> RequestRefused:
    name = key or where.rpartition(".")[2]
    return RequestRefused(f"The value '{value}' is not supported for '{name}' at '{where}'.")
