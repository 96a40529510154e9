"""What Gemini asks of a request by itself: only fields that it knows, settings in range, functions that it can declare."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...graph.jsontext import Json, is_list, is_object
from .google_schema import check_declaration, check_schema, unknown_name
from .provider import RequestRefused


@dataclass(frozen=True, slots=True)
class _Message:
    """The fields that one kind of message knows, and what stands in some of them: a message, or a list of them."""

    known: frozenset[str]
    inner: Mapping[str, _Message] = field(default_factory=dict[str, "_Message"])
    lists: Mapping[str, _Message] = field(default_factory=dict[str, "_Message"])


def _message(known: str, **inner: _Message) -> _Message:
    return _Message(frozenset(known.split()), inner)


_FUNCTION_CALL = _message("id name args")
_FUNCTION_RESPONSE = _message("id name response willContinue scheduling parts")
_PART = _message(
    "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse "
    "thought thoughtSignature videoMetadata partMetadata mediaResolution",
    functionCall=_FUNCTION_CALL,
    functionResponse=_FUNCTION_RESPONSE,
    inlineData=_message("mimeType data displayName"),
    fileData=_message("mimeType fileUri displayName"),
)
_CONTENT = _Message(frozenset({"role", "parts"}), lists={"parts": _PART})
_DECLARATION = _message("name description parameters parametersJsonSchema response responseJsonSchema behavior")
_TOOL = _Message(
    frozenset({"functionDeclarations", "googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext"}
              | {"computerUse", "fileSearch", "googleMaps", "mcpServers"}),
    lists={"functionDeclarations": _DECLARATION},
)  # fmt: skip
_TOOL_CONFIG = _message(
    "functionCallingConfig retrievalConfig includeServerSideToolInvocations",
    functionCallingConfig=_message("mode allowedFunctionNames streamFunctionCallArguments"),
)
_GENERATION = _message(
    "candidateCount maxOutputTokens temperature topP topK seed stopSequences responseMimeType responseSchema "
    "responseJsonSchema thinkingConfig presencePenalty frequencyPenalty responseLogprobs logprobs responseModalities "
    "speechConfig mediaResolution imageConfig enableEnhancedCivicAnswers",
    thinkingConfig=_message("includeThoughts thinkingBudget thinkingLevel"),
)
_REQUEST = _Message(
    frozenset({"contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig"}
              | {"cachedContent", "labels", "serviceTier", "store"}),
    {"systemInstruction": _CONTENT, "toolConfig": _TOOL_CONFIG, "generationConfig": _GENERATION},
    {"contents": _CONTENT, "tools": _TOOL, "safetySettings": _message("category threshold method")},
)  # fmt: skip

_DATA = ("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult",
         "toolCall", "toolResponse")  # fmt: skip
_ROOT = "GenerateContentRequest"
_SNAKE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_RANGES = {
    "temperature": (0, 2),
    "topP": (0, 1),
    "topK": (1, None),
    "maxOutputTokens": (1, None),
    "candidateCount": (1, 8),
}
_LEVELS = ("minimal", "low", "medium", "high")


def check(body: dict[str, Json], model: str, *, call_ids: bool) -> None:
    """Raises RequestRefused for the first rule that the body breaks."""
    _check_known(body, _REQUEST, "")
    contents = body.get("contents")
    if not contents:
        raise RequestRefused(f"* {_ROOT}.contents: contents is not specified")
    for place, content in enumerate(contents):
        _check_content(content, f"contents[{place}]", call_ids=call_ids)
    if "systemInstruction" in body:
        _check_content({"role": "user", **body["systemInstruction"]}, "system_instruction", call_ids=call_ids)
    _check_generation(body.get("generationConfig", {}), model)
    _check_calling(body, _check_tools(body.get("tools", [])))


def _check_known(value: Json, message: _Message, where: str) -> None:
    """Every key is a field of the message, in either of Google's two spellings; only one is taken here."""
    if not is_object(value):
        raise RequestRefused(f"Invalid value at '{where}'")
    for key, inner in value.items():
        if key not in message.known:
            raise unknown_name(key, where)
        at = f"{where}.{_snake(key)}" if where else _snake(key)
        if key in message.inner:
            _check_known(inner, message.inner[key], at)
        elif key in message.lists:
            if not is_list(inner):
                raise RequestRefused(f"Invalid value at '{at}'")
            for place, member in enumerate(inner):
                _check_known(member, message.lists[key], f"{at}[{place}]")


def _check_content(content: dict[str, Json], where: str, *, call_ids: bool) -> None:
    role = content.get("role", "user")
    if role not in ("user", "model"):
        raise RequestRefused("Please use a valid role: user, model.")
    if not content.get("parts"):
        raise RequestRefused(f"* {_ROOT}.{where}.parts: contents.parts must not be empty.")
    for place, part in enumerate(content["parts"]):
        _check_part(part, f"{where}.parts[{place}]", role, call_ids=call_ids)


def _check_part(part: dict[str, Json], where: str, role: str, *, call_ids: bool) -> None:
    data = [key for key in _DATA if key in part]
    if not data:
        raise RequestRefused(f"* {_ROOT}.{where}.data: required oneof field 'data' must have one initialized field")
    if len(data) > 1:
        raise RequestRefused(
            f"Invalid value at '{where}' (oneof), oneof field 'data' is already set. Cannot set '{data[1]}'"
        )
    if "text" in part and not isinstance(part["text"], str):
        raise RequestRefused(f"Invalid value at '{where}.text' (TYPE_STRING), {part['text']}")
    for kind, wanted in (("functionCall", "model"), ("functionResponse", "user")):
        if kind not in part:
            continue
        at = f"{where}.{_snake(kind)}"
        if role != wanted:
            raise RequestRefused(f"* {_ROOT}.{where}: {_snake(kind)} is only allowed in a content of role {wanted}")
        if "id" in part[kind] and not call_ids:
            raise unknown_name("id", at)
        if not isinstance(part[kind].get("name"), str) or not part[kind]["name"]:
            raise RequestRefused(f"* {_ROOT}.{at}.name: Name cannot be empty.")
        key = "args" if kind == "functionCall" else "response"
        if not is_object(part[kind].get(key, {} if key == "args" else None)):
            raise RequestRefused(f"Invalid value at '{at}.{key}' (type.googleapis.com/google.protobuf.Struct)")


def _check_generation(config: dict[str, Json], model: str) -> None:
    for key, (low, high) in _RANGES.items():
        value = config.get(key)
        if value is None:
            continue
        at = f"generation_config.{_snake(key)}"
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise RequestRefused(f"Invalid value at '{at}', \"{value}\"")
        if value < low or (high is not None and value > high):
            raise RequestRefused(f"* {_ROOT}.{at}: must be in the range [{low}, {'inf' if high is None else high}]")
    if "responseSchema" in config:
        check_schema(config["responseSchema"], f"{_ROOT}.generation_config.response_schema")
        if config.get("responseMimeType") not in ("application/json", "text/x.enum"):
            raise RequestRefused(f"* {_ROOT}.generation_config.response_mime_type: must be set with a response schema")
    thinking = config.get("thinkingConfig", {})
    level = thinking.get("thinkingLevel")
    if level is None:
        return
    if str(level).lower() not in _LEVELS:
        raise RequestRefused(f"Invalid value at 'generation_config.thinking_config.thinking_level', \"{level}\"")
    if "thinkingBudget" in thinking:
        raise RequestRefused("You can only set only one of thinking budget and thinking level.")
    if model.startswith("gemini-2"):
        raise RequestRefused("Thinking level is not supported for this model.")


def _check_tools(tools: list[dict[str, Json]]) -> set[str]:
    names: set[str] = set()
    for place, tool in enumerate(tools):
        for at, declaration in enumerate(tool.get("functionDeclarations", [])):
            check_declaration(declaration, f"{_ROOT}.tools[{place}].function_declarations[{at}]", names)
    return names


def _check_calling(body: dict[str, Json], names: set[str]) -> None:
    config = body.get("toolConfig", {}).get("functionCallingConfig")
    if config is None:
        return
    if not names:
        raise RequestRefused("Function calling config is set without function_declarations.")
    mode, allowed = config.get("mode", "AUTO"), config.get("allowedFunctionNames", [])
    if mode not in ("AUTO", "ANY", "NONE", "VALIDATED"):
        raise RequestRefused(f"Invalid value at 'tool_config.function_calling_config.mode', \"{mode}\"")
    if allowed and mode not in ("ANY", "VALIDATED"):
        raise RequestRefused("Allowed function names should only be set when the function calling mode is ANY.")
    for name in allowed:
        if name not in names:
            raise RequestRefused(f"Allowed function name {name} is not in the function declarations.")


def _snake(name: str) -> str:
    return _SNAKE.sub("_", name).lower()
