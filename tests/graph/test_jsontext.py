"""JSON text that loses nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.jsontext import Json, dumps, loads

ANY_TEXT = st.text(st.characters(categories=["L", "N", "P", "S", "Z", "C"]))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**40), max_value=10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner), max_leaves=20)


def spelled(value: Json) -> str:
    """The value with its types and key order told apart: 1, 1.0 and true differ."""
    return repr(value)


@given(VALUES)
def test_what_is_written_is_read_back_the_same(value: Json) -> None:
    assert spelled(loads(dumps(value))) == spelled(value)


@given(VALUES)
def test_the_pretty_form_holds_the_same_value(value: Json) -> None:
    assert spelled(loads(dumps(value, pretty=True))) == spelled(value)


@given(VALUES)
def test_the_bytes_are_json_to_the_standard_library_as_well(value: Json) -> None:
    assert spelled(json.loads(dumps(value))) == spelled(value)


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**64), 12345678901234567890123, 9007199254740993])
def test_integers_of_any_size_keep_every_digit(number: int) -> None:
    assert loads(dumps({"n": number})) == {"n": number}
    assert dumps({"n": number}) == f'{{"n":{number}}}'.encode()


def test_a_lone_surrogate_is_written_escaped_and_read_back() -> None:
    assert dumps({"a": "\ud83d"}) == b'{"a":"\\ud83d"}'
    assert loads(b'{"a":"\\ud83d"}') == {"a": "\ud83d"}
    assert loads('"\ud83d"') == "\ud83d"


def test_text_beyond_ascii_is_written_as_it_is() -> None:
    assert dumps({"k": "é日🙂"}) == '{"k":"é日🙂"}'.encode()


def test_keys_keep_their_order() -> None:
    assert list(loads(b'{"b":1,"a":2,"c":12345678901234567890}')) == ["b", "a", "c"]


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "[1, NaN]", "1e400", "[12345678901234567890, 1e999]"])
def test_numbers_that_json_does_not_have_are_not_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|too large"):
        loads(text)


@pytest.mark.parametrize(
    "value", [float("nan"), [float("inf")], {"a": {"b": -float("inf")}}, [None, 2**70, float("nan")], (1, float("nan"))]
)
def test_numbers_that_json_does_not_have_are_not_written(value: Json) -> None:
    with pytest.raises(ValueError, match="JSON"):
        dumps(value)


@pytest.mark.parametrize("text", ["", "{", "[1,]", "{'a':1}", "1 2", '"\\x"', "tru", '{"a":1}x', "\ufeff1"])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        loads(text)


def test_bytes_that_are_no_utf8_are_a_value_error() -> None:
    with pytest.raises(ValueError, match="utf-8"):
        loads(b'"\xff"')


@pytest.mark.parametrize("depth", [5_000, 200_000])
def test_json_that_is_nested_too_deeply_is_a_value_error(depth: int) -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        loads(b"[" * depth + b"]" * depth)


def test_a_value_that_is_nested_too_deeply_is_a_value_error() -> None:
    value: Json = []
    for _ in range(100_000):
        value = [value]

    with pytest.raises(ValueError, match="nested too deeply"):
        dumps(value)


def test_null_alone_is_no_reason_to_refuse() -> None:
    assert dumps([None, "null", 1.5]) == b'[null,"null",1.5]'


@pytest.mark.parametrize("value", [{1, 2}, object()])
def test_what_is_no_json_value_is_a_type_error(value: object) -> None:
    with pytest.raises(TypeError):
        dumps(value)


@pytest.mark.parametrize("text", ["é", "\ud83d", ""])
@pytest.mark.parametrize("number", ["18446744073709551616", "-9223372036854775809", "1e2", "1.10", "-0.0", "9" * 400])
def test_text_and_bytes_are_read_alike_whichever_reader_takes_them(text: str, number: str) -> None:
    written = f'{{"a":"{text}","n":{number}}}'
    expected = json.loads(written)

    assert loads(written) == loads(written.encode("utf-8", "surrogatepass")) == expected
    assert type(loads(written)["n"]) is type(expected["n"])


def test_a_byte_order_mark_is_no_json() -> None:
    for data in ("\ufeff{}", "\ufeff{}".encode()):
        with pytest.raises(ValueError):
            loads(data)
