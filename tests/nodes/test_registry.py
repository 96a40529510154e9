from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from jsonschema import Draft202012Validator

from treadle.graph.jsontext import Json
from treadle.nodes import registry


def test_the_tools_stand_in_the_order_of_the_known_names() -> None:
    assert list(registry.TOOLS) == [name for name in registry.KNOWN_TOOLS if name in registry.TOOLS]
    assert [spec.name for spec in registry.specs()] == list(registry.TOOLS)
    assert len(registry.KNOWN_TOOLS) == 13


@pytest.mark.parametrize("name", registry.TOOLS)
def test_a_tool_is_found_by_name_and_alias(name: str) -> None:
    alias = registry.TOOLS[name].spec.model_name

    assert re.fullmatch(r"[a-z0-9_]+", alias)
    assert registry.find(name) is registry.find(alias) is registry.TOOLS[name]
    assert registry.canonical_name(alias) == name


def test_a_name_that_is_not_known_stays_as_it_is() -> None:
    assert registry.find("bash") is None
    assert registry.canonical_name("bash") == "bash"


@pytest.mark.parametrize("name", registry.TOOLS)
def test_a_schema_is_closed_and_every_field_is_described(name: str) -> None:
    schema = registry.TOOLS[name].spec.input_schema

    Draft202012Validator.check_schema(schema)
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert set(schema.get("required", ())) <= set(schema["properties"])
    for field in fields_of(schema):
        assert set(field) <= {"type", "enum", "description", "items", "minItems"}
        assert field["description"].endswith(".")


@pytest.mark.parametrize(("name", "field"), [("chat.read_messages", "messages")])
def test_the_items_of_a_list_are_closed_and_described_too(name: str, field: str) -> None:
    listed = registry.TOOLS[name].spec.input_schema["properties"][field]

    assert (listed["type"], listed["minItems"], listed["items"]["additionalProperties"]) == ("array", 1, False)
    assert set(listed["items"]["required"]) <= set(listed["items"]["properties"])
    for inner in listed["items"]["properties"].values():
        assert set(inner) == {"type", "description"}
        assert inner["description"].endswith(".")


@pytest.mark.parametrize(
    ("name", "annotations"),
    [
        ("chat.search", {"readOnly": True, "sourceKind": "chat"}),
        ("chat.read_messages", {"readOnly": True, "sourceKind": "chat"}),
        ("worldinfo.read_activated", {"readOnly": True, "sourceKind": "worldInfo"}),
        ("skill.list", {"readOnly": True, "sourceKind": "skill"}),
        ("skill.search", {"readOnly": True, "sourceKind": "skill"}),
        ("skill.read", {"readOnly": True, "sourceKind": "skill"}),
        ("workspace.list_files", {"readOnly": True}),
        ("workspace.search_files", {"readOnly": True}),
        ("workspace.read_file", {"readOnly": True}),
        ("workspace.write_file", {"mutating": True}),
        ("workspace.apply_patch", {"mutating": True}),
        ("workspace.commit", {"control": True, "mutating": True}),
        ("workspace.finish", {"control": True}),
    ],
)
def test_what_a_tool_does_to_the_world_is_annotated(name: str, annotations: Json) -> None:
    assert registry.TOOLS[name].spec.to_json()["annotations"] == annotations


@pytest.mark.parametrize(
    ("name", "field", "limits"),
    [
        ("chat.search", "limit", "1 to 50, default 20"),
        ("chat.search", "scan_limit", "1 to 100000"),
        ("chat.read_messages", "messages", "1 to 20"),
        ("skill.search", "limit", "1 to 50, default 20"),
        ("skill.search", "context_lines", "0 to 5, default 2"),
        ("skill.read", "path", "default SKILL.md"),
        ("workspace.list_files", "depth", "0 to 4, default 2"),
        ("workspace.search_files", "limit", "1 to 50, default 20"),
        ("workspace.search_files", "context_lines", "0 to 5, default 2"),
        ("workspace.read_file", "line_count", "1 to 1200"),
        ("workspace.read_file", "max_chars", "1 to 80000, default 80000"),
        ("workspace.write_file", "mode", "default replace"),
        ("workspace.apply_patch", "replace_all", "default false"),
    ],
)
def test_limits_and_defaults_are_told_to_the_model(name: str, field: str, limits: str) -> None:
    assert limits in registry.TOOLS[name].spec.input_schema["properties"][field]["description"]


def fields_of(schema: Json) -> Iterator[Json]:
    """The fields of an object's schema, and of the objects that its lists hold."""
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    for field in schema["properties"].values():
        yield field
        if field["type"] == "array" and field["items"]["type"] == "object":
            yield from fields_of(field["items"])
