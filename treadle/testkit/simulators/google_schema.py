"""The schemas of functions as Google's providers take them: a few keywords, each only where it belongs."""

from __future__ import annotations

import re

from ...graph.jsontext import Json, is_list, is_object
from .provider import RequestRefused

_KNOWN = frozenset(
    {"type", "format", "description", "nullable", "enum", "properties", "required", "items", "minItems", "maxItems"}
    | {"minLength", "maxLength", "pattern", "minimum", "maximum", "minProperties", "maxProperties"}
)
"""What older models, Vertex and proxies know; newest ones know a little more."""

_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean"})
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")


def check_declaration(declaration: Json, where: str, names: set[str], *, may_be_empty: bool = False) -> None:
    """One function's name, which must be new to `names`, and its schema. Raises RequestRefused.

    `may_be_empty`: parameters without any property are taken.
    """
    if not is_object(declaration):
        raise RequestRefused(f"Invalid value at '{where}'")
    name = declaration.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RequestRefused(
            f"* {where}.name: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be "
            "alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length "
            "of 128."
        )
    if name in names:
        raise RequestRefused(f"Duplicate function declaration found: {name}")
    names.add(name)
    schema = declaration.get("parameters")
    if may_be_empty and is_object(schema) and schema.get("properties", {}) == {}:
        schema = {**schema, "properties": {"none": {"type": "string"}}}
    if schema is not None:
        check_schema(schema, f"{where}.parameters")
        if str(schema["type"]).lower() != "object":
            raise RequestRefused(
                f"* {where}.parameters.type: functionDeclaration parameters schema should be of type OBJECT"
            )


def check_schema(schema: Json, where: str) -> None:
    """Raises RequestRefused for the first rule that a schema, or one inside it, breaks."""
    if not is_object(schema):
        raise RequestRefused(
            f"Invalid value at '{where}' (type.googleapis.com/google.ai.generativelanguage.v1beta.Schema)"
        )
    for key in schema:
        if key not in _KNOWN:
            raise unknown_name(key, where)
    kind = _type(schema, where)
    if kind == "object":
        _check_object(schema, where)
    elif kind == "array":
        if "items" not in schema:
            raise RequestRefused(f"* {where}.items: missing field.")
        check_schema(schema["items"], f"{where}.items")
    enum = schema.get("enum", [])
    if enum and kind != "string":
        raise RequestRefused(f"* {where}.enum: only allowed for STRING type")
    for place, value in enumerate(enum):
        if not isinstance(value, str):
            raise RequestRefused(f"Invalid value at '{where}.enum[{place}]' (TYPE_STRING), {value}")
        if not value:
            raise RequestRefused(f"* {where}.enum[{place}]: cannot be empty")


def unknown_name(key: str, where: str) -> RequestRefused:
    at = f" at '{where}'" if where else ""
    return RequestRefused(f'Invalid JSON payload received. Unknown name "{key}"{at}: Cannot find field.')


def _type(schema: dict[str, Json], where: str) -> str:
    kind = schema.get("type")
    if is_list(kind):
        raise RequestRefused(
            f"Invalid JSON payload received. Unknown name \"type\" at '{where}': Proto field is not repeating, "
            "cannot start list."
        )
    if kind is None:
        raise RequestRefused(f"* {where}.type: must be specified")
    if not isinstance(kind, str) or kind.lower() not in _TYPES:
        raise RequestRefused(
            f"Invalid value at '{where}.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), \"{kind}\""
        )
    return kind.lower()


def _check_object(schema: dict[str, Json], where: str) -> None:
    properties = schema.get("properties")
    if not is_object(properties) or not properties:
        raise RequestRefused(f"* {where}.properties: should be non-empty for OBJECT type")
    for name, inner in properties.items():
        check_schema(inner, f"{where}.properties[{name}]")
    for place, name in enumerate(schema.get("required", [])):
        if name not in properties:
            raise RequestRefused(f"* {where}.required[{place}]: property is not defined")
