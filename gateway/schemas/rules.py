"""Tool schemas as each format takes them: a copy with what the format refuses left out, the original untouched."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

from ...graph.errors import ModelFailed
from ...graph.jsontext import Json, is_list, is_object
from ...graph.messages import ToolSpec
from .gemini import gemini_schema
from .refs import SchemaFault, check_nesting

_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose value maps names to schemas: a name is never taken for a keyword."""

_SINGLE = frozenset({"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"})
_LISTED = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})

_ALIAS = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class SchemaRules:
    """What one format or host leaves out, at schema positions only."""

    removed: frozenset[str] = frozenset()
    drops_empty_required: bool = False
    needs_object: bool = False
    """The root says `"type": "object"`, whatever the tool says."""
    knows_little: bool = False
    """The schema is said in Gemini's own words, and nothing else of it is sent."""


OPENAI = SchemaRules()
RESPONSES = OPENAI
CLAUDE = SchemaRules(frozenset({"$schema", "$id"}), needs_object=True)
GEMINI = SchemaRules(knows_little=True)
INTERACTIONS = GEMINI

RULES: Mapping[str, SchemaRules] = {
    "openai_compatible": OPENAI,
    "openai_responses": RESPONSES,
    "claude_messages": CLAUDE,
    "gemini": GEMINI,
    "gemini_interactions": INTERACTIONS,
}
"""The rules of each format, by its name."""


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
                "parameters": tool_parameters(spec, rules),
            },
        }
        for spec in specs
    ]


def tool_parameters(spec: ToolSpec, rules: SchemaRules) -> dict[str, Json]:
    """What a format sends as the parameters of a tool.

    Its `properties` may be missing or empty; Gemini's `parameters` is then left out by its format.
    Raises ModelFailed `model.request_build_failed` that names the tool and the place in its schema.
    """
    parameters: dict[str, Json] = sanitized(spec.input_schema, rules, f"tool {spec.name!r}")
    return parameters


def sanitized(schema: Json, rules: SchemaRules, whose: str = "a tool") -> Json:
    """A copy of the schema as the rules let it through. Raises ModelFailed `model.request_build_failed`."""
    try:
        check_nesting(schema)
        copied = deepcopy(schema)
        if rules.knows_little:
            return gemini_schema(copied)
        shown = _without(copied, rules)
        return _object_root(shown) if rules.needs_object else shown
    except SchemaFault as fault:
        raise _unbuildable(f"{whose}: its input schema can't be sent: {fault}") from fault


def check_aliases(specs: Sequence[ToolSpec]) -> None:
    """Raises ModelFailed `model.request_build_failed`: an alias must be fit for every server, and mean one tool."""
    seen: dict[str, str] = {}
    for spec in specs:
        if not _ALIAS.fullmatch(spec.model_name):
            raise _unbuildable(
                f"tool {spec.name!r}: its alias must be 1 to 64 of A-Z a-z 0-9 _ -, and begin with a letter or _"
            )
        for name in {spec.model_name, spec.name}:
            other = seen.setdefault(name, spec.name)
            if other != spec.name:
                raise _unbuildable(f"tools {other!r} and {spec.name!r} would answer to one name")
    if len({spec.name for spec in specs}) != len(specs):
        raise _unbuildable("a tool is listed twice")


def _without(schema: Json, rules: SchemaRules) -> Json:
    if not is_object(schema):
        return schema
    return {
        keyword: _inside(keyword, value, rules)
        for keyword, value in schema.items()
        if keyword not in rules.removed and not (rules.drops_empty_required and keyword == "required" and value == [])
    }


def _inside(keyword: str, value: Json, rules: SchemaRules) -> Json:
    if keyword in _NAMED and is_object(value):
        return {name: _without(schema, rules) for name, schema in value.items()}
    if is_list(value) and (keyword in _LISTED or keyword == "items"):
        return [_without(schema, rules) for schema in value]
    if keyword in _SINGLE:
        return _without(value, rules)
    return value


def _object_root(schema: Json) -> dict[str, Json]:
    if schema is True or schema == {}:
        return {"type": "object", "properties": {}}
    if not is_object(schema):
        raise SchemaFault((), "the parameters of a tool must be an object schema")
    if schema.get("type", "object") != "object":
        raise SchemaFault(("type",), f"the parameters of a tool must be of type object, not {schema['type']!r}")
    return schema if "type" in schema else {"type": "object", **schema}


def _unbuildable(message: str) -> ModelFailed:
    return ModelFailed(message, code="model.request_build_failed")
