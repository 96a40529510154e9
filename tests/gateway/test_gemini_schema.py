"""Gemini is told only what it knows: names are no keywords, unions become one schema, the canonical one never changes."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.gateway.schemas.gemini import KNOWN
from treadle.gateway.schemas.rules import GEMINI, RULES, sanitized, tool_parameters
from treadle.graph.errors import ModelFailed
from treadle.graph.jsontext import Json, dumps, is_object

from .traps import trap
from .words import READ

REFUSED = (
    "$schema", "$id", "$ref", "$defs", "definitions", "additionalProperties", "patternProperties",
    "unevaluatedProperties", "dependencies", "dependentRequired", "dependentSchemas", "allOf", "anyOf", "oneOf", "not",
    "if", "then", "else", "const", "default", "examples", "title", "exclusiveMinimum", "exclusiveMaximum",
    "uniqueItems", "propertyNames",
)  # fmt: skip


def property_shown(schema: Json, **root: Json) -> Json:
    """How a property of the parameters is sent."""
    return sanitized({"type": "object", "properties": {"p": schema}, **root}, GEMINI)["properties"]["p"]


@trap(57)
def test_a_property_named_like_a_keyword_stays_and_the_keyword_goes() -> None:
    names = ("title", "default", "$ref", "const", "properties", "cache_control", *REFUSED)
    schema: Json = {
        "title": "T",
        "default": {},
        "type": "object",
        "properties": {name: {"type": "string", "title": "t", "default": "d"} for name in names},
        "required": list(names),
    }
    before = dumps(schema)

    shown = sanitized(schema, GEMINI)

    names_once = list(dict.fromkeys(names))
    assert list(shown) == ["type", "properties", "required"]
    assert shown["properties"] == {name: {"type": "string"} for name in names_once}
    assert shown["required"] == names_once
    assert dumps(schema) == before


@trap(58)
def test_nested_objects_without_properties_are_strings_and_only_the_root_requires_what_it_declares() -> None:
    schema: Json = {
        "type": "object",
        "properties": {
            "free": {"type": "object", "description": "free form", "properties": {}, "items": {}},
            "odd": {"type": "object", "properties": ["x"]},
            "task": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
            "list": {"type": "array", "items": {"type": "object", "required": ["x"]}},
        },
        "required": ["task", "ghost", 7],
    }

    assert sanitized(schema, GEMINI) == {
        "type": "object",
        "properties": {
            "free": {"type": "string", "description": "free form"},
            "odd": {"type": "string"},
            "task": {"type": "object", "properties": {"title": {"type": "string"}}},
            "list": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["task"],
    }


@pytest.mark.parametrize(
    "schema",
    [{"type": "object"}, {"type": "object", "properties": {}}, {"type": "object", "properties": {}, "required": ["x"]}],
)
def test_a_root_without_properties_stays_an_object_and_requires_nothing(schema: Json) -> None:
    expected = {keyword: value for keyword, value in schema.items() if keyword != "required"}

    assert sanitized(schema, GEMINI) == expected


@pytest.mark.parametrize("keyword", [*REFUSED[5:], "$comment", "$anchor", "readOnly", "multipleOf", "x-of-a-vendor"])
def test_what_gemini_does_not_know_is_not_sent(keyword: str) -> None:
    value: Json = [] if keyword in ("allOf", "anyOf", "oneOf") else 7

    assert property_shown({"type": "string", keyword: value}) == {"type": "string"}


def test_what_gemini_knows_is_sent_as_it_is() -> None:
    schema = {"type": "string", "format": "date", "pattern": "^x", "minLength": 1, "description": "d", "enum": ["a"]}

    assert property_shown(schema) == schema


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"type": ["integer", "string"]}, {"type": "integer"}),
        ({"type": "null"}, {"type": "string", "nullable": True}),
        ({"type": ["null"], "enum": [False, 0]}, {"type": "string", "nullable": True}),
        ({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
         {"type": "integer", "minimum": 1, "nullable": True}),
        ({"description": "d", "oneOf": [{"title": "x"}, {"type": "number"}, {"type": "string"}]},
         {"description": "d", "type": "number"}),
        ({"oneOf": [{"const": "a", "description": "of a"}, {"const": "b"}]}, {"type": "string", "enum": ["a", "b"]}),
        ({"type": "string", "anyOf": [{"format": "date"}, {"minLength": 3}]}, {"type": "string"}),
        ({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}},
                    {"properties": {"b": {"anyOf": [{"type": "null"}, {"type": "boolean"}]}}}], "description": "d"},
         {"type": "object", "description": "d",
          "properties": {"a": {"type": "string"}, "b": {"type": "boolean", "nullable": True}}}),
        ({"const": "fast"}, {"type": "string", "enum": ["fast"]}),
        ({"const": 1, "enum": [1, 2]}, {"type": "integer"}),
        ({"enum": ["a", None]}, {"type": "string", "enum": ["a"], "nullable": True}),
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"enum": [1, 2]}, {"type": "integer"}),
        ({"type": "integer", "enum": ["1", "2"]}, {"type": "integer"}),
        ({"type": "string", "enum": ["a", ""]}, {"type": "string"}),
        ({"type": "string", "enum": []}, {"type": "string"}),
        ({"type": "string", "properties": {"a": {}}, "required": ["a"], "items": {}}, {"type": "string"}),
        ({"type": "array"}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "array", "items": [{"type": "number"}, {}]}, {"type": "array", "items": {"type": "number"}}),
        ({"type": "array", "items": []}, {"type": "array", "items": {"type": "string"}}),
        ({"prefixItems": [{"type": "number"}]}, {"type": "array", "items": {"type": "number"}}),
        ({"type": "array", "items": {"items": {"enum": [1.5]}}},
         {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}),
        (True, {"type": "string"}),
        ({"description": "anything"}, {"type": "string", "description": "anything"}),
    ],
)  # fmt: skip
def test_what_can_be_said_in_geminis_words_is_said_so(schema: Json, expected: Json) -> None:
    assert property_shown(schema) == expected


def test_a_property_that_must_not_be_there_is_not_declared() -> None:
    schema: Json = {"type": "object", "properties": {"a": False, "b": {"type": "string"}}, "required": ["a", "b"]}

    assert sanitized(schema, GEMINI) == {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}


def test_references_are_put_in_place_and_one_into_itself_ends_as_a_string() -> None:
    node: Json = {"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/No~1de"}}}

    shown = property_shown({"$ref": "#/$defs/No~1de", "description": "the first"}, **{"$defs": {"No/de": node}})

    inner = {"name": {"type": "string"}, "next": {"type": "string"}}
    assert shown == {"type": "object", "description": "the first", "properties": inner}


def test_the_parameters_may_be_a_reference_and_refer_to_the_whole() -> None:
    args: Json = {"type": "object", "properties": {"again": {"$ref": "#"}, "n": {"$ref": "#/definitions/N"}}}
    schema: Json = {"$ref": "#/definitions/Args", "definitions": {"Args": args, "N": {"type": ["null", "integer"]}}}

    assert sanitized(schema, GEMINI) == {
        "type": "object",
        "properties": {"again": {"type": "string"}, "n": {"type": "integer", "nullable": True}},
    }


def chain(length: int) -> dict[str, Json]:
    """Definitions that each hold the next one twice."""
    links = {f"d{n}": {"type": "object", "properties": _twice(f"#/$defs/d{n + 1}")} for n in range(length)}
    return {**links, f"d{length}": {"type": "string"}}


def _twice(reference: str) -> Json:
    return {side: {"$ref": reference} for side in ("left", "right")}


@pytest.mark.parametrize(
    ("schema", "definitions", "said"),
    [
        ({"$ref": "#/$defs/Nope"}, {}, "leads nowhere"),
        ({"$ref": "#/$defs/A/7"}, {"A": [1]}, "leads nowhere"),
        ({"$ref": "other.json#/A"}, {}, "not one into this schema"),
        ({"$ref": "#anchor"}, {}, "not one into this schema"),
        ({"$ref": 5}, {}, "not one into this schema"),
        ({"$dynamicRef": "#A"}, {}, "dynamicRef"),
        ({"$ref": "#/$defs/A"}, {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}, "leads only to itself"),
        ({"$ref": "#/$defs/d0"}, chain(9), "more than 8 references"),
        ({"type": "file"}, {}, "'file' is no type"),
        ({"type": ["string", 7]}, {}, "7 is no type"),
        ({"type": []}, {}, "names no type"),
        ({"anyOf": {}}, {}, "list of schemas"),
        ("string", {}, "must be an object, true or false"),
    ],
)  # fmt: skip
def test_what_can_not_be_said_is_refused_with_the_tool_and_the_place(
    schema: Json, definitions: Json, said: str
) -> None:
    whole: dict[str, Json] = {"type": "object", "properties": {"p": schema}, "$defs": definitions}

    with pytest.raises(ModelFailed, match=said) as refused:
        tool_parameters(replace(READ, input_schema=whole), GEMINI)

    assert refused.value.error_code == "model.request_build_failed"
    assert "tool 'workspace.read_file': " in str(refused.value)
    assert "#/properties/p" in str(refused.value)


def test_references_that_multiply_are_refused() -> None:
    wide: Json = {f"d{n}": {"properties": {str(k): {"$ref": f"#/$defs/d{n + 1}"} for k in range(20)}} for n in range(7)}
    whole: Json = {"type": "object", "properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": {**wide, "d7": {}}}

    with pytest.raises(ModelFailed, match="10000 subschemas"):
        sanitized(whole, GEMINI)


def test_eight_references_inside_one_another_are_put_in_place() -> None:
    shown: Json = property_shown({"$ref": "#/$defs/d0"}, **{"$defs": chain(7)})
    for _ in range(7):
        shown = shown["properties"]["left"]

    assert shown == {"type": "string"}


NAMES = st.sampled_from(["a", "b", "title", "default", "$ref", "type", "properties", "cache_control", "enum"])
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.sampled_from(["", "x", "title"]))
LEAVES: dict[str, st.SearchStrategy[Json]] = {
    "type": TYPES | st.lists(TYPES, max_size=3), "enum": st.lists(VALUES, max_size=3), "const": VALUES,
    "required": st.lists(NAMES, max_size=3), "default": VALUES, "title": st.just("t"), "nullable": st.booleans(),
    "$ref": st.sampled_from(["#", "#/$defs/A", "#/$defs/B"]), "exclusiveMinimum": st.integers(), "$id": st.just("i"),
    "description": st.just("d"), "minimum": st.integers(), "uniqueItems": st.booleans(), "$schema": st.just("s"),
}  # fmt: skip


def schemas() -> st.SearchStrategy[Json]:
    def grown(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
        named, listed = st.dictionaries(NAMES, inner, max_size=3), st.lists(inner, max_size=2)
        return st.fixed_dictionaries(
            {},
            optional={
                **LEAVES, "properties": named, "items": inner | listed, "prefixItems": listed, "allOf": listed,
                "anyOf": listed, "oneOf": listed, "additionalProperties": inner, "not": inner, "$defs": named,
            },
        )  # fmt: skip

    return st.recursive(st.booleans() | st.fixed_dictionaries({}, optional=LEAVES), grown, max_leaves=12)


@st.composite
def parameters(draw: st.DrawFn) -> Json:
    named = draw(st.dictionaries(NAMES, schemas(), max_size=4))
    definitions = {"A": draw(schemas()), "B": draw(schemas())}
    return {"type": "object", "properties": named, "required": draw(st.lists(NAMES)), "$defs": definitions}


def at_schema_positions(schema: Json) -> Iterator[Json]:
    yield schema
    for inner in [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]:
        assert is_object(inner)
        yield from at_schema_positions(inner)


@given(parameters(), st.sampled_from(sorted(RULES)))
def test_no_format_changes_the_canonical_schema_or_its_own_result(schema: Json, name: str) -> None:
    before = deepcopy(schema)
    try:
        shown = sanitized(schema, RULES[name])
    except ModelFailed as refused:
        assert refused.error_code == "model.request_build_failed"
        assert name.startswith("gemini")
    else:
        assert dumps(sanitized(schema, RULES[name])) == dumps(shown)
        assert dumps(sanitized(shown, RULES[name])) == dumps(shown)
    assert dumps(schema) == dumps(before)


@given(parameters())
def test_gemini_gets_only_what_it_knows_and_only_where_it_knows_it(schema: Json) -> None:
    try:
        shown = sanitized(schema, GEMINI)
    except ModelFailed:
        return

    for held in at_schema_positions(shown):
        assert set(held) <= KNOWN - set(REFUSED)
        assert isinstance(held["type"], str)
        assert ("items" in held) == (held["type"] == "array")
        assert "properties" not in held or held["type"] == "object"
        assert "required" not in held or held is shown
        assert held is shown or held["type"] != "object" or held["properties"]
        assert all(isinstance(value, str) and held["type"] == "string" for value in held.get("enum", []))
    assert set(shown.get("required", [])) <= set(shown["properties"])
