"""Tool schemas as Gemini takes them: the few keywords that it knows, each only where it knows it.

Gemini refuses a whole request for one keyword that it does not know, so what it knows is listed, not what it refuses.
What can be said in its own words is said so: `nullable`, an enum for a constant, one branch for a union.
"""

from __future__ import annotations

from ...graph.jsontext import Json, is_list, is_object
from .refs import Path, SchemaFault, inlined

KNOWN = frozenset({
    "type", "format", "description", "nullable", "enum", "properties", "required", "items", "minItems", "maxItems",
    "minLength", "maxLength", "pattern", "minimum", "maximum", "minProperties", "maxProperties",
})  # fmt: skip
"""The keywords of Gemini's own schema type that older models, Vertex and proxies take too."""

_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})
_UNIONS = ("anyOf", "oneOf")


def gemini_schema(schema: Json) -> dict[str, Json]:
    """The parameters of a tool, made of new values where anything differs. Raises SchemaFault."""
    placed = inlined(schema)
    if placed is True:
        placed = {}
    if not is_object(placed):
        raise SchemaFault((), "the parameters of a tool must be an object schema")
    if not is_object(placed.get("properties", {})):
        raise SchemaFault(("properties",), "it must be an object: a schema for each name")
    shown = _shown(placed, ())
    if shown["type"] != "object":
        raise SchemaFault((), f"the parameters of a tool must be of type object, not {shown['type']}")
    return shown


def _shown(schema: Json, path: Path) -> dict[str, Json]:
    """One schema after its children; `true`, as every schema that names no type, is a string to Gemini."""
    said = _flat(schema, path) if is_object(schema) else {}
    shown = {keyword: value for keyword, value in said.items() if keyword in KNOWN}
    kind = shown.setdefault("type", "string" if path else "object")
    if kind == "null":
        shown |= {"type": "string", "nullable": True}
    _show_items(shown, said, path)
    _show_properties(shown, path)
    enum = _enum(shown)
    if enum:
        shown["enum"] = enum
    else:
        shown.pop("enum", None)
    return shown


def _show_items(shown: dict[str, Json], said: dict[str, Json], path: Path) -> None:
    """Exactly arrays have `items`, one schema for all: of a tuple it is the first."""
    items = shown.pop("items", None)
    if shown["type"] != "array":
        return
    places = items if is_list(items) else said.get("prefixItems", [])
    first = items if is_object(items) else next(iter(places), True)
    shown["items"] = _shown(first, (*path, "items"))


def _show_properties(shown: dict[str, Json], path: Path) -> None:
    """Only objects have `properties`, and only the root has `required`; a nested object without any is a string."""
    held, required = shown.pop("properties", None), shown.pop("required", None)
    if shown["type"] != "object":
        return
    properties = {
        name: _shown(schema, (*path, "properties", name))
        for name, schema in (held.items() if is_object(held) else ())
        if schema is not False
    }
    if properties or (held is not None and not path):
        shown["properties"] = properties
    elif path:
        shown["type"] = "string"
    named = required if is_list(required) and not path else []
    declared = [name for name in named if isinstance(name, str) and name in properties]
    if declared:
        shown["required"] = list(dict.fromkeys(declared))


def _enum(shown: dict[str, Json]) -> list[str]:
    """Gemini takes an enum of a string type only, and no empty value in it; the tool still checks the others."""
    values = shown.get("enum")
    if (
        shown["type"] != "string"
        or not is_list(values)
        or not all(isinstance(value, str) and value for value in values)
    ):
        return []
    return values


def _flat(schema: dict[str, Json], path: Path) -> dict[str, Json]:
    """The schema without allOf, anyOf and oneOf: what they say as far as one schema can say it."""
    flat = _plain(schema, path)
    for place, branch in enumerate(schema.get("allOf", [])):
        if is_object(branch):
            flat = _merged(_flat(branch, (*path, "allOf", str(place))), flat)
    for union in _UNIONS:
        branches = enumerate(schema.get(union, []))
        flats = [_flat(branch, (*path, union, str(place))) for place, branch in branches if is_object(branch)]
        flat = _merged(_chosen(flats), flat)
    return {keyword: value for keyword, value in flat.items() if keyword not in ("allOf", *_UNIONS)}


def _plain(schema: dict[str, Json], path: Path) -> dict[str, Json]:
    """One type, an enum for a constant, and `nullable` where null is allowed; a type that is only implied is named."""
    plain = {keyword: value for keyword, value in schema.items() if keyword != "const"}
    if "const" in schema:
        plain.setdefault("enum", [schema["const"]])
    enum = plain.get("enum")
    values: list[Json] = enum if is_list(enum) else []
    kinds = _kinds(schema.get("type"), path)
    if "null" in kinds or (not kinds and None in values):
        plain["nullable"] = True
    if is_list(enum):
        plain["enum"] = [value for value in values if value is not None]
    only_null = bool(kinds or values) and not plain.get("enum")
    kind = next((kind for kind in kinds if kind != "null"), None) or ("null" if only_null else _implied(plain))
    if kind is not None or kinds:  # where an enum contradicts its type, the type holds: it is null alone
        plain["type"] = kind or "null"
    return plain


def _kinds(named: Json, path: Path) -> list[str]:
    kinds: list[Json] = named if is_list(named) else [] if named is None else [named]
    if named == []:
        raise SchemaFault((*path, "type"), "an empty list names no type")
    for kind in kinds:
        if not isinstance(kind, str) or kind not in _TYPES:
            raise SchemaFault((*path, "type"), f"{kind!r} is no type; these are: {', '.join(sorted(_TYPES))}")
    return kinds


def _implied(schema: dict[str, Json]) -> str | None:
    if is_object(schema.get("properties")):
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    named = {_type_of(value) for value in schema.get("enum") or ()}
    return named.pop() if len(named) == 1 else None


def _type_of(value: Json) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case dict():
            return "object"
        case _:
            return "array"


def _chosen(branches: list[dict[str, Json]]) -> dict[str, Json]:
    """What one schema can say of a union: all its strings, or its first branch that has a type; and whether null is one."""
    held = [branch for branch in branches if branch.get("type") not in (None, "null")]
    if not held:
        return {}
    chosen = held[0]
    if all(branch["type"] == "string" and branch.get("enum") for branch in held):
        chosen = {**chosen, "enum": list(dict.fromkeys(value for branch in held for value in branch["enum"]))}
        if len(held) > 1:
            chosen.pop("description", None)
    if any(branch.get("type") == "null" or branch.get("nullable") is True for branch in branches):
        chosen = {**chosen, "nullable": True}
    return chosen


def _merged(branch: dict[str, Json], own: dict[str, Json]) -> dict[str, Json]:
    """Both in one; where they differ, the schema's own word stands."""
    merged = {**branch, **own}
    if is_object(branch.get("properties")) and is_object(own.get("properties")):
        merged["properties"] = {**branch["properties"], **own["properties"]}
    if is_list(branch.get("required")) and is_list(own.get("required")):
        merged["required"] = [*branch["required"], *own["required"]]
    return merged
