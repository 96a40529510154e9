"""The fields of a profile with their types, defaults and meanings, and the JSON Schema that editors check files by."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from ..jsontext import Json, is_list, is_object
from .schema import Profile
from .words import MEANINGS

SCHEMA_KEY = "$schema"
"""Where a file of the user's names the schema for an editor; it is no field of the profile."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One field; in its path `[*]` stands for any index or key."""

    path: str
    type: str
    """In words, such as `list of string`; fixed values stand in backticks as JSON."""
    required: bool
    default: Json
    """None where it has none, or is an object of its own."""
    meaning: str


def fields() -> tuple[FieldRow, ...]:
    """Every field, in the order in which a profile is written."""
    schema = _shape()
    return tuple(_rows("", schema, schema))


def published_schema() -> dict[str, Json]:
    """The JSON Schema of a profile file: its shape, what each field means, and `$schema` for the editor's own use.

    It tells no rule between fields, and a field of the wrong value is told by `treadle profiles check` alone.
    """
    schema = _shape()
    _explain("", schema, schema)
    hint = {"type": "string", "description": "For editors: where this schema lies. Not kept."}
    return {
        SCHEMA_KEY: _DIALECT,
        "title": "Agent profile",
        **schema,
        "properties": {SCHEMA_KEY: hint, **schema["properties"]},
    }


def type_in_words(given: Json, whole: Json) -> str:
    """What a schema takes, such as `list of string`; `whole` is the schema that its references are in."""
    if "anyOf" in given:
        return " or ".join(
            dict.fromkeys(type_in_words(each, whole) for each in given["anyOf"] if each != {"type": "null"})
        )
    if "enum" in given or "const" in given:
        return " or ".join(f"`{json.dumps(each)}`" for each in given.get("enum") or [given["const"]])
    if given.get("type") == "array":
        return f"list of {type_in_words(given['items'], whole)}"
    if given.get("additionalProperties"):
        return f"object of {type_in_words(given['additionalProperties'], whole)}"
    return "object" if "$ref" in given else str(given["type"])


def _shape() -> dict[str, Json]:
    return cast(dict[str, Json], _untitled(Profile.model_json_schema(by_alias=True)))


def _rows(above: str, block: Json, whole: Json) -> Iterator[FieldRow]:
    required = block.get("required", ())
    for name, given in block["properties"].items():
        path = f"{above}{name}"
        default = given.get("default")
        shown = None if is_object(default) else default
        yield FieldRow(path, type_in_words(given, whole), name in required, shown, MEANINGS.get(path, ""))
        inner = _object_in(given, whole)
        if inner is not None:
            yield from _rows(f"{path}{_member_mark(given)}.", inner, whole)


def _explain(above: str, block: Json, whole: Json) -> None:
    """Put the meanings into the schema: each block has one place, so its definition has one path."""
    for name, given in block["properties"].items():
        path = f"{above}{name}"
        inner = _object_in(given, whole)
        if inner is not None:
            _explain(f"{path}{_member_mark(given)}.", inner, whole)
        given["description"] = MEANINGS.get(path, "")


def _member_mark(given: Json) -> str:
    return "" if "$ref" in given or "anyOf" in given else "[*]"


def _object_in(given: Json, whole: Json) -> Json:
    """The schema of the object that a field holds, alone, in a list or by name; None where it holds none."""
    candidates = [given, given.get("items"), given.get("additionalProperties"), *given.get("anyOf", ())]
    for each in candidates:
        if is_object(each) and "$ref" in each:
            return whole["$defs"][each["$ref"].rpartition("/")[2]]
    return None


def _untitled(schema: Json) -> Json:
    """Without the titles that only repeat the names."""
    if is_list(schema):
        return [_untitled(each) for each in schema]
    if not is_object(schema):
        return schema
    return {key: _untitled(each) for key, each in schema.items() if key != "title" or not isinstance(each, str)}
