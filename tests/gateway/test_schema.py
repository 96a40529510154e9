"""Tool schemas pass whole, or lose only keywords at schema positions; the canonical one never changes."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

from treadle.gateway.schemas.rules import (
    CLAUDE,
    GEMINI,
    OPENAI,
    RULES,
    SchemaRules,
    render_tools,
    sanitized,
    tool_parameters,
)
from treadle.graph.errors import ModelFailed
from treadle.graph.jsontext import Json, dumps

from .traps import trap
from .words import READ, TOOLS

SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": [],
    "additionalProperties": False,
    "properties": {
        "title": {"type": "string", "title": "A title", "default": "title"},
        "required": {"type": "object", "required": [], "properties": {"x": {"const": 1}}},
        "list": {"items": {"title": "t"}, "enum": [{"title": "kept"}]},
        "either": {"anyOf": [{"title": "t", "type": "string"}, True]},
    },
    "$defs": {"default": {"default": 1}},
}


def test_without_rules_the_schema_passes_whole() -> None:
    assert sanitized(SCHEMA, SchemaRules()) == SCHEMA


def test_keywords_go_at_schema_positions_and_names_like_keywords_stay() -> None:
    before = dumps(SCHEMA)

    shown = sanitized(SCHEMA, SchemaRules(frozenset({"title", "default", "$schema"})))

    assert shown == {
        "type": "object",
        "required": [],
        "additionalProperties": False,
        "properties": {
            "title": {"type": "string"},
            "required": {"type": "object", "required": [], "properties": {"x": {"const": 1}}},
            "list": {"items": {}, "enum": [{"title": "kept"}]},
            "either": {"anyOf": [{"type": "string"}, True]},
        },
        "$defs": {"default": {}},
    }
    assert dumps(SCHEMA) == before


def test_an_empty_required_list_goes_where_the_host_refuses_it() -> None:
    expected = deepcopy(SCHEMA)
    del expected["required"], expected["properties"]["required"]["required"]

    assert sanitized(SCHEMA, SchemaRules(drops_empty_required=True)) == expected


def test_openai_gets_the_schema_whole_and_as_a_copy() -> None:
    shown = sanitized(SCHEMA, OPENAI)

    assert dumps(shown) == dumps(SCHEMA)
    shown["properties"]["title"]["default"] = "changed"
    assert SCHEMA["properties"]["title"]["default"] == "title"


@trap(19)
def test_claude_keeps_properties_that_are_named_like_its_own_words_or_like_keywords() -> None:
    named = {name: {"type": "string", "$id": f"#{name}"} for name in ("cache_control", "$schema", "$id", "type")}
    schema: Json = {"$schema": "s", "$id": "i", "type": "object", "properties": named, "required": list(named)}

    shown = sanitized(schema, CLAUDE)

    plain = {name: {"type": "string"} for name in named}
    assert shown == {"type": "object", "properties": plain, "required": list(named)}


def test_claude_keeps_keywords_that_gemini_loses_and_every_schema_of_a_tuple_is_one() -> None:
    schema: Json = {"type": "object", "properties": {"a": {"items": [{"$id": "x", "title": "t"}], "default": []}}}

    assert sanitized(schema, CLAUDE)["properties"]["a"] == {"items": [{"title": "t"}], "default": []}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, {"type": "object", "properties": {}}),
        (True, {"type": "object", "properties": {}}),
        ({"$schema": "s"}, {"type": "object", "properties": {}}),
        ({"properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
    ],
)
def test_claude_is_always_told_of_an_object(schema: Json, expected: Json) -> None:
    assert sanitized(schema, CLAUDE) == expected


@pytest.mark.parametrize("rules", [CLAUDE, GEMINI])
@pytest.mark.parametrize("schema", [{"type": "string"}, False, "object"])
def test_parameters_that_are_no_object_can_not_be_built(schema: Json, rules: SchemaRules) -> None:
    with pytest.raises(ModelFailed, match="object") as refused:
        sanitized(schema, rules)

    assert refused.value.error_code == "model.request_build_failed"


@pytest.mark.parametrize("name", RULES)
def test_a_schema_too_deep_to_be_walked_can_not_be_built(name: str) -> None:
    schema: Json = {"type": "string"}
    for _ in range(5000):
        schema = {"type": "array", "items": schema}

    with pytest.raises(ModelFailed, match=r"tool 'workspace\.read_file'.*#/items/items.*128 levels") as refused:
        tool_parameters(replace(READ, input_schema=schema), RULES[name])

    assert refused.value.error_code == "model.request_build_failed"


def test_tools_are_rendered_under_their_alias() -> None:
    tools = render_tools(TOOLS, SchemaRules())

    assert [tool["function"]["name"] for tool in tools] == ["workspace_read_file", "workspace_list_files"]
    assert set(tools[0]["function"]) == {"name", "description", "parameters"}


@pytest.mark.parametrize("name", ["two words", "é", "x" * 65, "", "7th.tool"])
def test_an_alias_that_servers_refuse_can_not_be_built(name: str) -> None:
    with pytest.raises(ModelFailed) as refused:
        render_tools([replace(READ, name=name)], SchemaRules())

    assert refused.value.error_code == "model.request_build_failed"


@pytest.mark.parametrize("other", ["workspace.read_file", "workspace_read.file", "workspace_read_file"])
def test_two_tools_must_not_answer_to_one_name(other: str) -> None:
    with pytest.raises(ModelFailed) as refused:
        render_tools([READ, replace(READ, name=other)], SchemaRules())

    assert refused.value.error_code == "model.request_build_failed"
