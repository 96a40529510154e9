"""The rules that chat-completions servers hold their callers to: what breaks one is refused in their own words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ...graph.jsontext import Json, is_list, is_object, loads

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
_FRONTEND_KEYS = frozenset({"chat_completion_source", "secret_id", "reverse_proxy", "proxy_password"})
_USER_PARTS = frozenset({"text", "image_url", "input_audio", "file", "video_url"})
_REASONING_KEYS = frozenset({"reasoning", "reasoning_content", "reasoning_details"})


@dataclass(frozen=True, slots=True)
class Rules:
    """How one kind of server differs: OpenAI by default."""

    reasoning: Literal["accepted", "refused", "required"] = "accepted"
    """Reasoning on assistant messages: refused (Groq, Cerebras), required beside tool calls (DeepSeek, Kimi)."""
    null_content: bool = True
    """Whether an assistant message may have the content null (Ollama-like servers refuse it)."""


class RequestRefused(Exception):
    """The request breaks a rule; the text is what the server says."""

    def __init__(self, message: str, param: str | None = None) -> None:
        self.message = message
        self.param = param
        super().__init__(message)


def check(request: Json, rules: Rules) -> None:
    """Raises RequestRefused for the first rule that the request's body breaks."""
    if not is_object(request):
        raise RequestRefused("We could not parse the JSON body of your request.")
    for key in request:
        if key.startswith(("_", "custom_")) or key in _FRONTEND_KEYS:
            raise RequestRefused(f"Unrecognized request argument supplied: {key}", key)
    model = request.get("model")
    if not isinstance(model, str) or not model:
        raise RequestRefused("you must provide a model parameter", "model")
    if request.get("stream", False) is not False:
        raise RequestRefused("this server does not stream: 'stream' must be false", "stream")
    _check_tools(request)
    messages = request.get("messages")
    if not is_list(messages) or not messages:
        raise RequestRefused("[] is too short - 'messages'", "messages")
    for place, message in enumerate(messages):
        _check_message(message, f"messages.{place}", rules)
    _check_turns(messages)


def _check_tools(request: dict[str, Json]) -> None:
    tools = request.get("tools")
    if tools is None:
        if "tool_choice" in request:
            raise RequestRefused("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice")
        return
    if not is_list(tools) or not tools:
        raise RequestRefused("[] is too short - 'tools'", "tools")
    names: set[str] = set()
    for place, tool in enumerate(tools):
        function = tool.get("function") if is_object(tool) else None
        if not is_object(function) or tool.get("type") != "function":
            raise RequestRefused(f"Missing required parameter: 'tools[{place}].function'.", f"tools[{place}]")
        name = _name(function.get("name"), f"tools[{place}].function.name")
        if name in names:
            raise RequestRefused(f"Tool names must be unique: {name}", f"tools[{place}].function.name")
        names.add(name)
        schema = function.get("parameters", {"type": "object"})
        if not is_object(schema) or schema.get("type") != "object":
            raise RequestRefused(
                f"Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"'",
                f"tools[{place}].function.parameters",
            )
    _check_choice(request.get("tool_choice", "auto"), names)


def _check_choice(choice: Json, names: set[str]) -> None:
    if choice in ("auto", "none", "required"):
        return
    function = choice.get("function") if is_object(choice) else None
    if not is_object(function) or function.get("name") not in names:
        raise RequestRefused("Tool choice must name one of the 'tools'.", "tool_choice")


def _check_message(message: Json, where: str, rules: Rules) -> None:
    if not is_object(message) or message.get("role") not in _ROLES:
        raise RequestRefused(f"Invalid value: '{where}.role'. Supported values: {sorted(_ROLES)}", f"{where}.role")
    for key in message:
        if key.startswith("_"):
            raise RequestRefused(f"Unknown parameter: '{where}.{key}'.", f"{where}.{key}")
    match message["role"]:
        case "assistant":
            _check_assistant(message, where, rules)
        case "tool":
            if not isinstance(message.get("tool_call_id"), str):
                raise RequestRefused(f"Missing parameter '{where}.tool_call_id'", where)
            _check_content(message.get("content"), where, frozenset({"text"}))
        case "user":
            _check_content(message.get("content"), where, _USER_PARTS)
        case _:
            _check_content(message.get("content"), where, frozenset({"text"}))


def _check_assistant(message: dict[str, Json], where: str, rules: Rules) -> None:
    held = [key for key in message if key in _REASONING_KEYS]
    if rules.reasoning == "refused" and held:
        raise RequestRefused(
            f"'{where}' : for 'role:assistant' the following must be satisfied"
            f"[('{where}' : property '{held[0]}' is unsupported)]"
        )
    calls = message.get("tool_calls")
    if rules.reasoning == "required" and calls and not isinstance(message.get("reasoning_content"), str):
        raise RequestRefused("The `reasoning_content` in the thinking mode must be passed back to the API.")
    content = message.get("content")
    if content is None:
        if "content" in message and not rules.null_content:
            raise RequestRefused("invalid message content type: <nil>", where)
        if not calls:
            raise RequestRefused(f"Invalid value for 'content': expected a string, got null. ({where})", where)
    else:
        _check_content(content, where, frozenset({"text", "refusal"}))
    if "tool_calls" in message:
        _check_calls(calls, f"{where}.tool_calls")


def _check_calls(calls: Json, where: str) -> None:
    if not is_list(calls) or not calls:
        raise RequestRefused(f"[] is too short - '{where}'", where)
    ids: set[str] = set()
    for place, call in enumerate(calls):
        at = f"{where}[{place}]"
        function = call.get("function") if is_object(call) else None
        if not is_object(function) or call.get("type") != "function":
            raise RequestRefused(f"Missing required parameter: '{at}.function'.", at)
        call_id = call.get("id")
        if not isinstance(call_id, str) or not call_id.strip():
            raise RequestRefused(f"Missing required parameter: '{at}.id'.", at)
        if call_id in ids:
            raise RequestRefused(f"Duplicate value for 'tool_call_id' of '{call_id}' in '{where}'.", at)
        ids.add(call_id)
        _name(function.get("name"), f"{at}.function.name")
        if not _holds_object(function.get("arguments")):
            raise RequestRefused(f"Invalid '{at}.function.arguments': a string with a JSON object was expected.", at)


def _check_content(content: Json, where: str, kinds: frozenset[str]) -> None:
    if isinstance(content, str):
        return
    if not is_list(content) or not content:
        raise RequestRefused(f"Invalid type for '{where}.content': expected a string or content parts.", where)
    for part in content:
        if not is_object(part) or part.get("type") not in kinds:
            raise RequestRefused(f"Invalid value in '{where}.content': supported part types: {sorted(kinds)}", where)


def _check_turns(messages: list[Json]) -> None:
    """Every call is answered exactly once before the next message that is no answer; no answer is an orphan."""
    open_calls: set[str] = set()
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                raise RequestRefused(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceding message "
                    f"with 'tool_calls'. (messages.{place})",
                    f"messages.[{place}].role",
                )
            open_calls.discard(message["tool_call_id"])
            continue
        _check_answered(open_calls)
        calls: list[Json] = message.get("tool_calls") or []
        open_calls = {call["id"] for call in calls}
    _check_answered(open_calls)


def _check_answered(open_calls: set[str]) -> None:
    if open_calls:
        raise RequestRefused(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(sorted(open_calls))}",
            "messages",
        )


def _name(name: Json, where: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RequestRefused(f"Invalid '{where}': string does not match pattern '^[a-zA-Z0-9_-]{{1,64}}$'.", where)
    return name


def _holds_object(text: Json) -> bool:
    if not isinstance(text, str):
        return False
    try:
        return is_object(loads(text))
    except ValueError:
        return False
