from __future__ import annotations

import pytest
from hypothesis import given as given_any
from hypothesis import strategies as st

from treadle.graph.errors import ToolRefused
from treadle.graph.jsontext import Json
from treadle.nodes.arguments.given import INVALID, given, shown

ANY_JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip


def code_of(arguments: Json, getter: str) -> str | None:
    """The code with which a field is refused; None where it is taken."""
    try:
        fields = given(arguments)
        fields.flag("f", False) if getter == "flag" else getattr(fields, getter)("f")
    except ToolRefused as refusal:
        return refusal.code
    return None


@given_any(ANY_JSON)
def test_a_field_is_taken_as_it_is_or_refused_but_never_coerced(value: Json) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    text = isinstance(value, str) and not any(0xD800 <= ord(char) <= 0xDFFF for char in value)
    filled = text and bool(str(value).strip())

    assert code_of({"f": value}, "optional_number") == (None if whole else INVALID)
    assert code_of({"f": value}, "flag") == (None if isinstance(value, bool) else INVALID)
    assert code_of({"f": value}, "raw") == (None if text else INVALID)
    assert code_of({"f": value}, "text") == (None if filled else INVALID)
    assert code_of({"f": value}, "optional_text") == (None if text or value is None else INVALID)


@given_any(ANY_JSON)
def test_only_an_object_holds_arguments(value: Json) -> None:
    assert code_of(value, "optional_number") in (None, INVALID)
    if not isinstance(value, dict):
        assert code_of(value, "optional_number") == INVALID


@given_any(st.text(st.characters(), max_size=12))
def test_a_start_is_the_root_a_path_or_refused(text: str) -> None:
    try:
        start = given({"path": text}).start()
    except ToolRefused as refusal:
        assert refusal.code == INVALID
        return

    assert start is None or not {"", ".", ".."} & set(start.split("/"))
    assert (start is None) == (not text.strip().replace("\\", "/").replace(".", "").strip("/"))


def test_a_shown_value_is_short() -> None:
    assert shown("x" * 500).endswith("…")
    assert len(shown("x" * 500)) < 70


def test_the_fields_of_an_item_are_told_by_their_place() -> None:
    items = given({"f": [{"n": 1}, {"n": -1}]}).items("f", 2)

    assert items[0].required_number("n") == 1
    with pytest.raises(ToolRefused, match=r"f\[1\]\.n must be a whole number of 0 or more, not -1"):
        items[1].required_number("n")
    with pytest.raises(ToolRefused, match=r"f\[1\]\.m is missing"):
        items[1].required_number("m")


BAD_LISTS: list[tuple[dict[str, Json], str]] = [
    ({}, "f is missing"),
    ({"f": None}, "f must be a list of 1 to 2 objects, not null"),
    ({"f": {"n": 1}}, "f must be a list"),
    ({"f": "[]"}, "f must be a list"),
    ({"f": []}, "f must have 1 to 2 items, not 0"),
    ({"f": [{}, {}, {}]}, "f must have 1 to 2 items, not 3"),
    ({"f": [{}, None]}, r"f\[1\] must be an object, not null"),
]


@pytest.mark.parametrize(("arguments", "says"), BAD_LISTS)
def test_a_list_is_taken_whole_or_refused(arguments: Json, says: str) -> None:
    with pytest.raises(ToolRefused, match=says) as refused:
        given(arguments).items("f", 2)

    assert refused.value.code == INVALID
