"""Tool schemas as each format takes them: a copy with what the format refuses left out, the original untouched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..graph.errors import ModelFailed
from ..graph.jsontext import Json, is_list, is_object
from ..graph.messages import ToolSpec

_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose value maps names to schemas: a name is never taken for a keyword."""

_SINGLE = frozenset({"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"})
_LISTED = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})

_ALIAS = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class SchemaRules:
    """What one format or host leaves out, at schema positions only."""

    removed: frozenset[str] = frozenset()
    drops_empty_required: bool = False


def render_tools(specs: Sequence[ToolSpec], rules: SchemaRules) -> list[Json]:
    """`{"type": "function", "function": {name, description, parameters}}` for each tool, in order.

    Raises ModelFailed `model.request_build_failed` for aliases that servers refuse or that stand for two tools.
    """
    check_aliases(specs)
    return [
        {
            "type": "function",
            "function": {
                "name": spec.model_name,
                "description": spec.description,
                "parameters": sanitized(spec.input_schema, rules),
            },
        }
        for spec in specs
    ]


def sanitized(schema: Json, rules: SchemaRules) -> Json:
    """The schema without the rules' keywords; a new value wherever something was left out."""
    if not rules.removed and not rules.drops_empty_required:
        return schema
    if not is_object(schema):
        return schema
    return {
        keyword: _inside(keyword, value, rules)
        for keyword, value in schema.items()
        if keyword not in rules.removed and not (rules.drops_empty_required and keyword == "required" and value == [])
    }


def check_aliases(specs: Sequence[ToolSpec]) -> None:
    """Raises ModelFailed `model.request_build_failed`: an alias must be fit for every server, and mean one tool."""
    seen: dict[str, str] = {}
    for spec in specs:
        if not _ALIAS.fullmatch(spec.model_name):
            raise _unbuildable(f"tool {spec.name!r}: its alias must be 1 to 64 of A-Z a-z 0-9 _ -")
        for name in {spec.model_name, spec.name}:
            other = seen.setdefault(name, spec.name)
            if other != spec.name:
                raise _unbuildable(f"tools {other!r} and {spec.name!r} would answer to one name")
    if len({spec.name for spec in specs}) != len(specs):
        raise _unbuildable("a tool is listed twice")


def _inside(keyword: str, value: Json, rules: SchemaRules) -> Json:
    if keyword in _NAMED and is_object(value):
        return {name: sanitized(schema, rules) for name, schema in value.items()}
    if keyword in _LISTED and is_list(value):
        return [sanitized(schema, rules) for schema in value]
    if keyword in _SINGLE:
        return sanitized(value, rules)
    return value


def _unbuildable(message: str) -> ModelFailed:
    return ModelFailed(message, code="model.request_build_failed")
