from __future__ import annotations

import contextlib
import copy

import pytest
from hypothesis import given as given_any
from hypothesis import strategies as st

from tests.nodes.arguments.test_given import ANY_JSON
from treadle.graph.errors import InvalidData, ToolRefused
from treadle.graph.jsontext import Json, loads
from treadle.graph.messages import ToolSpec
from treadle.nodes.arguments.check import MOST_LEVELS, check_arguments
from treadle.nodes.arguments.given import INVALID, integer, schema, string
from treadle.nodes.arguments.schema import MOST_SCHEMA_BYTES, compiled
from treadle.nodes.tool import Answer, Tool

ITEM = schema({"index": integer("Which."), "max_chars": integer("How many.")}, required=("index",))
LISTED: dict[str, Json] = schema(
    {"messages": {"type": "array", "items": ITEM, "minItems": 1}, "role": string("Whose.", one_of=("user", "system"))},
    required=("messages",),
)


def tool(
    input_schema: Json, *, judges: frozenset[str] = frozenset(), closed: bool = False, ignores_arguments: bool = False
) -> Tool:
    spec = ToolSpec("chat.test", "Test", "A test.", input_schema)
    return Tool(spec, lambda _arguments, _bench: Answer("", None), judges, closed, ignores_arguments)


def fields(properties: dict[str, Json], **more: Json) -> Tool:
    """A tool of somebody else, whose schema is its own affair."""
    return tool({"type": "object", "properties": properties, **more}, closed=True)


def message(checked: Tool, arguments: Json) -> str | None:
    """What the model is told; None where the arguments pass."""
    try:
        check_arguments(checked, arguments)
    except ToolRefused as refusal:
        assert refusal.code == INVALID
        return refusal.message
    return None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "messages is missing; it must be a list."),
        ({"messages": None}, "messages must be a list, not null."),
        ({"messages": []}, "messages must have at least 1 item, not 0."),
        ({"messages": [{"index": 0}, 7]}, "messages[1] must be an object, not 7."),
        ({"messages": [{"index": 0}, {}]}, "messages[1].index is missing; it must be a whole number."),
        ({"messages": [{"index": 3.0}]}, "messages[0].index must be a whole number, not 3.0."),
        ({"messages": [{"index": True}]}, "messages[0].index must be a whole number, not true."),
        ({"messages": [{"index": "3"}]}, 'messages[0].index must be a whole number, not "3".'),
        ({"messages": [{"index": 1, "max_chars": None}]}, "messages[0].max_chars must be a whole number, not null."),
        ({"messages": [{"index": 1}], "role": "USER"}, 'role must be "user" or "system", not "USER".'),
        ([], "The arguments must be an object, not []."),
        ("nine", "The arguments must be an object, but what was sent is not valid JSON of one; send the call again."),
        (
            '{"messages": [{"ind',
            "The arguments must be a whole object, but are cut off in the middle, so nothing was done; send the call again.",
        ),
    ],
)
def test_the_field_is_named_with_what_was_sent_and_what_is_wanted(arguments: Json, says: str) -> None:
    assert message(tool(LISTED), arguments) == says


def test_a_long_value_is_cut_short() -> None:
    told = message(tool(LISTED), {"messages": "x" * 100_000})

    assert told is not None
    assert len(told) < 120


def test_the_fault_nearest_to_the_top_is_told_and_of_those_the_first_in_the_schema() -> None:
    deep = {"messages": [{"index": "x"}]}

    assert message(tool(LISTED), {**deep, "role": 1}) == "role must be a string, not 1."
    assert message(tool(LISTED), {"role": 1}) == "messages is missing; it must be a list."
    assert message(tool(LISTED), {"role": 1, "messages": 2}) == "messages must be a list, not 2."
    assert message(tool(LISTED), {"messages": [{"index": 0}, {"index": "x"}, {"index": "y"}]}) == (
        'messages[1].index must be a whole number, not "x".'
    )


def test_keys_that_the_schema_does_not_name_are_left_alone_at_every_level() -> None:
    assert message(tool(LISTED), {"messages": [{"index": 0, "note": 1}], "note": "\ud800"}) is None


def test_a_closed_tool_refuses_them_at_every_level() -> None:
    closed = tool(LISTED, closed=True)

    assert message(closed, {"messages": [{"index": 0}], "note": 1}) == (
        "note is not known; the fields are: messages, role."
    )
    assert message(closed, {"messages": [{"index": 0, "odd key": 1}]}) == (
        'messages[0]["odd key"] is not known; the fields are: index, max_chars.'
    )


def test_what_a_tool_judges_is_left_to_it() -> None:
    judging = tool(LISTED, judges=frozenset({"role", "messages"}))

    assert message(judging, {"role": 5}) is None
    assert message(judging, {"messages": "\ud800"}) is None
    assert message(judging, []) == "The arguments must be an object, not []."


def test_a_tool_that_ignores_its_arguments_takes_anything_but_what_was_cut_off() -> None:
    ignoring = tool(LISTED, ignores_arguments=True)

    taken: list[Json] = [None, [], 7, "because", "{reason: done}", {"messages": 7}, {"reason": "\ud800"}]
    for arguments in taken:
        assert message(ignoring, arguments) is None
    assert "cut off" in (message(ignoring, '{"reason": "do') or "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"role": "a\ud800"}, "role holds half of a character (a lone surrogate)"),
        ({"messages": [{"index": 0, "note": ["\udfff"]}]}, "messages[0].note[0] holds half of a character"),
        ({"messages": [{"\ud800": 1}]}, "\ud800"),
    ],
)
def test_half_a_character_is_refused_with_the_fields_path(arguments: Json, says: str) -> None:
    told = message(tool(LISTED), arguments)

    assert told is not None
    assert "half of a character" in told
    assert told.isascii()
    assert says in told or says == "\ud800"


@pytest.mark.parametrize("levels", [MOST_LEVELS - 2, MOST_LEVELS + 1, 600, 900])
def test_deep_nesting_is_refused_and_never_breaks_the_check(levels: int) -> None:
    arguments: Json = loads('{"messages":' + "[" * levels + "]" * levels + "}")

    told = message(tool(LISTED), arguments)

    assert told is not None
    assert told.startswith("messages")
    assert message(tool(LISTED, judges=frozenset({"messages"})), arguments) is None


def test_numbers_past_64_bits_are_whole_numbers() -> None:
    assert message(tool(LISTED), {"messages": [{"index": 10**4000}]}) is None
    assert message(fields({"n": {"type": "integer", "multipleOf": 0.5, "maximum": 1}}), {"n": 10**400}) is not None
    assert (
        message(fields({"n": {"type": "integer", "multipleOf": 7}}), {"n": 15}) == "n must be a multiple of 7, not 15."
    )


THEIR_WORDS: list[tuple[dict[str, Json], Json, str]] = [
    ({"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, {"a": 5}, "a must be a string or null, not 5."),
    ({"a": {"type": ["integer", "null"]}}, {"a": 1.5}, "a must be a whole number or null, not 1.5."),
    ({"a": {"const": "x"}}, {"a": "y"}, 'a must be "x", not "y".'),
    ({"a": {"type": "string", "maxLength": 2}}, {"a": "abc"}, "a must have at most 2 characters, not 3."),
    ({"a": {"type": "number", "exclusiveMinimum": 0}}, {"a": 0}, "a must be more than 0, not 0."),
    ({"a": {"type": "string", "pattern": "^x"}}, {"a": "y"}, 'a must match the pattern ^x, not "y".'),
    ({"a": {"uniqueItems": True}}, {"a": [1, {}, 1]}, "a must fit the schema (uniqueItems: true), and [1,{},1] does not."),
    ({"a": False}, {"a": 1}, "The arguments must not hold 1 there."),
    (
        {"a": {"anyOf": [{"type": "object", "properties": {"b": {"type": "integer"}}}, {"type": "null"}]}},
        {"a": {"b": "x"}},
        'a.b must be a whole number, not "x".',
    ),
    (
        {"a": {"anyOf": [{"required": ["x"]}, {"required": ["y"]}]}},
        {"a": {}},
        'a must have one of these forms, [{"required":["x"]},{"required":["y"]}], and {} has none.',
    ),
]  # fmt: skip


class TestSchemasOfOthers:
    @pytest.mark.parametrize(("properties", "arguments", "says"), THEIR_WORDS)
    def test_their_words_are_told_too(self, properties: dict[str, Json], arguments: Json, says: str) -> None:
        told = message(fields(properties), arguments)

        assert told is not None
        assert told.startswith(says)

    def test_references_inside_the_schema_are_followed(self) -> None:
        tree: Json = {
            "type": "object",
            "properties": {"root": {"$ref": "#/$defs/node"}},
            "$defs": {
                "node": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "children": {"items": {"$ref": "#/$defs/node"}}},
                    "required": ["name"],
                }
            },
        }

        assert message(tool(tree), {"root": {"name": "a", "children": [{"name": "b"}]}}) is None
        assert message(tool(tree), {"root": {"name": "a", "children": [{"name": "b"}, {}]}}) == (
            "root.children[1].name is missing; it must be a string."
        )

    def test_formats_are_not_asserted(self) -> None:
        formatted = fields({"a": {"type": "string", "format": "email"}})

        assert message(formatted, {"a": "nobody"}) is None

    def test_a_pattern_in_another_dialect_is_left_to_whoever_wrote_it(self) -> None:
        foreign = fields(
            {"a": {"type": "string", "pattern": r"^\p{L}+$"}},
            patternProperties={r"^\p{L}": {"type": "integer"}}, additionalProperties=False,
        )  # fmt: skip

        assert message(foreign, {"a": "7", "é": 1}) is None
        assert message(foreign, {"a": 7}) == "a must be a string, not 7."

    @pytest.mark.parametrize(
        "broken",
        [
            {"type": "objekt"},
            {"properties": {"a": {"type": 5}}},
            {"properties": {"a": {"minItems": "x"}}},
            {"properties": {"a": {"$ref": "https://schemas.invalid/a.json"}}},
            {"properties": {"a": {"$ref": "#/$defs/none"}}},
            {"properties": {"a": {"$ref": "#/title"}}, "title": "x"},
            {"properties": {"a": {"$ref": "#/x/0/b"}}, "x": [{"b": {"type": 5}}]},
            {"properties": {"a": {"$ref": "#/x/y"}}, "x": []},
            {"properties": {"a": {"$ref": 7}}},
            {"$ref": "#"},
            {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}},
            {"description": "x" * MOST_SCHEMA_BYTES},
        ],
    )
    def test_a_broken_schema_is_invalid_data(self, broken: Json) -> None:
        with pytest.raises(InvalidData, match="the schema"):
            check_arguments(tool(broken), {"a": 1})

    def test_a_schema_that_asks_for_endless_work_is_stopped(self) -> None:
        doubling: Json = {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/d0"}},
            "$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)} | {"d40": {}},
        }
        again: Json = {"type": "object", "properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}
        nested: Json = {}
        for _ in range(MOST_LEVELS - 1):
            nested = {"a": nested}

        assert message(tool(doubling), {"a": 1}) == ("The arguments are too involved to be checked; send simpler ones.")
        assert message(tool(again), nested) is not None

    @given_any(ANY_JSON.filter(lambda value: isinstance(value, dict)), ANY_JSON)
    def test_no_schema_and_no_arguments_break_the_check(self, wild: Json, arguments: Json) -> None:
        with contextlib.suppress(ToolRefused, InvalidData):
            check_arguments(tool(wild, closed=True), arguments)


KEYWORDS = st.sampled_from(
    ["type", "properties", "required", "items", "anyOf", "allOf", "not", "$ref", "$defs", "enum", "minimum", "pattern",
     "additionalProperties", "$id", "$anchor", "$dynamicRef", "if", "then", "contains", "dependentRequired", "$schema",
     "unevaluatedProperties", "prefixItems", "propertyNames", "patternProperties", "multipleOf", "uniqueItems"]
)  # fmt: skip
VALUES = st.sampled_from(["object", "string", "integer", "a", "#", "#/$defs/a", "#a", "(", "http://x.invalid/", 0, 1.5, True, None])  # fmt: skip
SCHEMAS: st.SearchStrategy[Json] = st.recursive(
    VALUES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYWORDS | st.just("a"), inner, max_size=3),
    max_leaves=8,
)


@given_any(st.dictionaries(KEYWORDS, SCHEMAS, max_size=4), st.dictionaries(st.sampled_from("ab"), ANY_JSON))
def test_schemas_made_of_keywords_are_used_or_refused_and_never_changed(wild: Json, arguments: Json) -> None:
    before = copy.deepcopy(wild)
    for closed in (False, True):
        with contextlib.suppress(ToolRefused, InvalidData):
            check_arguments(tool(wild, closed=closed), arguments)

    assert wild == before


def test_a_schema_is_made_ready_once_however_often_it_is_used() -> None:
    assert compiled(LISTED, closed=False) is compiled(copy.deepcopy(LISTED), closed=False)
    assert compiled(LISTED, closed=False) is not compiled(LISTED, closed=True)
