"""What OpenAI's Responses asks of a request's tools: names, schemas, and a schema's stricter rules in strict mode."""

from __future__ import annotations

import re

from ...graph.jsontext import Json, is_list, is_object
from .responses_refusals import RequestRefused, is_one_of, missing, unknown, wrong_type, wrong_value

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

_FUNCTION_KEYS = frozenset({"type", "name", "description", "parameters", "strict"})
_BUILT_IN = frozenset(
    {"web_search", "web_search_preview", "file_search", "code_interpreter", "image_generation", "mcp", "custom"}
    | {"computer_use_preview", "local_shell", "shell", "apply_patch"}
)
_TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_NOT_AT_THE_TOP = ("oneOf", "anyOf", "allOf", "enum", "not")
_STRICT_KEYS = frozenset(
    {"type", "properties", "required", "additionalProperties", "description", "title", "enum", "const", "anyOf"}
    | {"items", "minItems", "maxItems", "pattern", "format", "$ref", "$defs", "definitions"}
    | {"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
)


def check_tools(request: dict[str, Json]) -> None:
    """Raises RequestRefused for the first rule that `tools` or `tool_choice` breaks."""
    tools = request.get("tools", [])
    if not is_list(tools):
        raise wrong_type("tools", "an array of objects", tools)
    names: set[str] = set()
    for place, tool in enumerate(tools):
        _check_tool(tool, f"tools[{place}]", names)
    _check_choice(request.get("tool_choice", "auto"), names, has_tools=bool(tools))


def _check_tool(tool: Json, where: str, names: set[str]) -> None:
    if not is_object(tool):
        raise wrong_type(where, "an object", tool)
    kind = tool.get("type")
    if is_one_of(kind, _BUILT_IN):
        return
    if kind != "function":
        raise missing(f"{where}.type") if kind is None else wrong_value(f"{where}.type", kind, _BUILT_IN | {"function"})
    for key in tool:
        if key not in _FUNCTION_KEYS:
            raise unknown(f"{where}.{key}")
    name = check_name(tool.get("name"), f"{where}.name")
    if name in names:
        raise RequestRefused(f"Tool names must be unique. Duplicate name: '{name}'.", f"{where}.name", "invalid_value")
    names.add(name)
    strict = tool.get("strict", True)
    if strict is not None and not isinstance(strict, bool):
        raise wrong_type(f"{where}.strict", "a boolean", strict)
    if tool.get("parameters") is not None:
        _Schema(name, f"{where}.parameters", strict=strict is not False).check(tool["parameters"])


def check_name(name: Json, where: str) -> str:
    if name is None:
        raise missing(where)
    if not isinstance(name, str):
        raise wrong_type(where, "a string", name)
    if not NAME.fullmatch(name):
        message = f"Invalid '{where}': string does not match pattern. Expected a string that matches the pattern"
        raise RequestRefused(f"{message} '^[a-zA-Z0-9_-]+$'.", where, "invalid_value")
    return name


def _check_choice(choice: Json, names: set[str], *, has_tools: bool) -> None:
    if choice in ("auto", "none"):
        return
    if choice == "required":
        if not has_tools:
            message = "Tool choice 'required' must be specified with 'tools' parameter."
            raise RequestRefused(message, "tool_choice")
        return
    if not is_object(choice):
        raise wrong_value("tool_choice", choice, ("none", "auto", "required"))
    if choice.get("type") == "allowed_tools":
        allowed = choice.get("tools")
        if choice.get("mode") not in ("auto", "required") or not is_list(allowed):
            raise missing("tool_choice.tools")
        for tool in allowed:
            _check_named(tool, names)
    else:
        _check_named(choice, names)


def _check_named(choice: Json, names: set[str]) -> None:
    if not is_object(choice):
        raise wrong_type("tool_choice", "an object", choice)
    for key in choice:
        if choice.get("type") == "function" and key not in ("type", "name"):
            raise unknown(f"tool_choice.{key}")
    if choice.get("type") == "function" and choice.get("name") not in names:
        raise RequestRefused("Tool choice 'function' not found in 'tools' parameter.", "tool_choice")


class _Schema:
    """One function's schema; what breaks a rule is named by its place, as in `('properties', 'path')`."""

    def __init__(self, name: str, where: str, *, strict: bool) -> None:
        self._name = name
        self._where = where
        self._strict = strict

    def check(self, schema: Json) -> None:
        if not is_object(schema) or schema.get("type") != "object":
            kind = schema.get("type") if is_object(schema) else None
            raise self._refused(f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'.")
        for key in _NOT_AT_THE_TOP:
            if key in schema:
                listed = "/".join(f"'{name}'" for name in _NOT_AT_THE_TOP)
                raise self._refused(f"schema must have type 'object' and not have {listed} at the top level.")
        self._check(schema, ())

    def _check(self, schema: Json, path: tuple[str, ...]) -> None:
        if isinstance(schema, bool) and not self._strict:
            return
        if not is_object(schema):
            raise self._at(path, f"{schema!r} is not of type 'object', 'boolean'.")
        kinds = schema.get("type", "object")
        for kind in kinds if is_list(kinds) else [kinds]:
            if not is_one_of(kind, _TYPES):
                raise self._at(path, f"'{kind}' is not valid under any of the given schemas.")
        if schema.get("type") == "array" and "items" not in schema:
            raise self._at(path, "array schema missing items.")
        if self._strict:
            self._check_strict(schema, path)
        for key in ("properties", "$defs", "definitions"):
            for name, member in _members(schema.get(key)):
                self._check(member, (*path, key, name))
        branches = schema.get("anyOf", [])
        if not is_list(branches):
            raise self._at(path, f"{branches!r} is not of type 'array'.")
        for place, member in enumerate(branches):
            self._check(member, (*path, "anyOf", str(place)))
        if "items" in schema:
            self._check(schema["items"], (*path, "items"))

    def _check_strict(self, schema: dict[str, Json], path: tuple[str, ...]) -> None:
        for key in schema:
            if key not in _STRICT_KEYS:
                raise self._at(path, f"'{key}' is not permitted.")
        if "type" not in schema and not schema.keys() & {"$ref", "anyOf", "enum", "const"}:
            raise self._at(path, "schema must have a 'type' key.")
        if schema.get("type") != "object":
            return
        if schema.get("additionalProperties") is not False:
            raise self._at(path, "'additionalProperties' is required to be supplied and to be false.")
        required = schema.get("required", [])
        for name, _ in _members(schema.get("properties")):
            if not is_list(required) or name not in required:
                message = "'required' is required to be supplied and to be an array including every key in properties."
                raise self._at(path, f"{message} Missing '{name}'.")

    def _at(self, path: tuple[str, ...], message: str) -> RequestRefused:
        return self._refused(f"In context={path!r}, {message}")

    def _refused(self, message: str) -> RequestRefused:
        whole = f"Invalid schema for function '{self._name}': {message}"
        return RequestRefused(whole, self._where, "invalid_function_parameters")


def _members(value: Json) -> list[tuple[str, Json]]:
    return list(value.items()) if is_object(value) else []
