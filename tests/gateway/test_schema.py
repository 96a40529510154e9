"""Tool schemas pass whole, or lose only keywords at schema positions; the canonical one never changes."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest

from treadle.gateway.schema import SchemaRules, render_tools, sanitized
from treadle.graph.errors import ModelFailed
from treadle.graph.jsontext import Json, dumps

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


def test_tools_are_rendered_under_their_alias() -> None:
    tools = render_tools(TOOLS, SchemaRules())

    assert [tool["function"]["name"] for tool in tools] == ["workspace_read_file", "workspace_list_files"]
    assert set(tools[0]["function"]) == {"name", "description", "parameters"}


@pytest.mark.parametrize("name", ["two words", "é", "x" * 65, ""])
def test_an_alias_that_servers_refuse_can_not_be_built(name: str) -> None:
    with pytest.raises(ModelFailed) as refused:
        render_tools([replace(READ, name=name)], SchemaRules())

    assert refused.value.error_code == "model.request_build_failed"


@pytest.mark.parametrize("other", ["workspace.read_file", "workspace_read.file", "workspace_read_file"])
def test_two_tools_must_not_answer_to_one_name(other: str) -> None:
    with pytest.raises(ModelFailed) as refused:
        render_tools([READ, replace(READ, name=other)], SchemaRules())

    assert refused.value.error_code == "model.request_build_failed"
