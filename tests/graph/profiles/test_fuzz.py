"""Whatever a document holds, the answer is a profile or a refusal that names a path."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json, is_list, is_object
from treadle.graph.profiles.resolved import parse_profile

from .documents import DELEGATION_TOOLS, document

ANY_TEXT = st.text(st.characters(categories=["L", "N", "P", "S", "Z", "C"]), max_size=12)  # lone surrogates too
KEYS = ANY_TEXT | st.sampled_from(["id", "mode", "tools", "properties", "skill.read", "$schema", "[key]", 'a"]b'])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ANY_TEXT
VALUES: st.SearchStrategy[Json] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=8
)
FULL = document(
    {
        "preset": {"mode": "ref", "ref": {"apiId": "openai", "name": "Tea"}},
        "delegation": {"callable": True, "allowAsSubagent": True, "allowedCallers": ["*", "a"]},
        "tools.toolDescriptions": {"skill.read": {"description": "Reads.", "properties": {"name": "The skill."}}},
        "tools.maxCallsPerTool": {"skill.read": 3},
        "instructions.agentSystemPrompt": "Write.",
    }
)

Place = tuple[str | int, ...]


def places(value: Json, above: Place = ()) -> Iterator[Place]:
    yield above
    members = value.items() if is_object(value) else enumerate(value) if is_list(value) else ()
    for key, member in members:
        yield from places(member, (*above, key))


PLACES = st.sampled_from([place for place in places(FULL) if place])


def judged(made: Json) -> None:
    try:
        profile = parse_profile(made, known_tools=DELEGATION_TOOLS)
    except InvalidInput as refused:
        path = str(refused.details["path"])
        assert path == "$" or path.startswith(("$.", "$["))
        assert refused.error_code.startswith("agent.")
        assert refused.message
    else:
        assert parse_profile(profile.to_json(), known_tools=DELEGATION_TOOLS) == profile


@given(VALUES)
def test_any_value_is_no_profile_and_told_as_that(value: Json) -> None:
    judged(value)


@given(st.lists(st.tuples(PLACES, st.sampled_from(["set", "remove", "add"]), KEYS, VALUES), min_size=1, max_size=4))
def test_a_profile_that_was_changed_anyhow_is_one_or_is_refused(changes: list[tuple[Place, str, str, Json]]) -> None:
    made = copy.deepcopy(FULL)
    for place, how, key, value in changes:
        _change(made, place, how, key, value)

    judged(made)


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("tools.toolDescriptions", {"properties": {"x": 1}}, '$.tools.toolDescriptions["properties"].x'),
        ("tools.toolDescriptions", {'a"]b': {"description": 3}}, '$.tools.toolDescriptions["a\\"]b"].description'),
        ("tools.maxCallsPerTool", {"maxCallsPerTool": "x"}, '$.tools.maxCallsPerTool["maxCallsPerTool"]'),
        ("tools.approval", {"tuple[str, ...]": 1}, "$.tools.approval"),
        ("id", "\ud800", "$.id"),
    ],
)
def test_keys_that_look_like_paths_make_no_other_path(field: str, value: Json, path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_profile(document({field: value}), known_tools=DELEGATION_TOOLS)

    assert caught.value.details["path"] == path


def _change(made: Json, place: Place, how: str, key: str, value: Json) -> None:
    """Where an earlier change took the place away, nothing is changed."""
    *above, last = place
    with contextlib.suppress(KeyError, IndexError, TypeError):
        for step in above:
            made = made[step]
        match how:
            case "set":
                made[last] = value
            case "remove":
                del made[last]
            case _:
                made[key] = value
