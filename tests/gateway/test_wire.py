"""Exact slices of JSON text, and the bodies that are no JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.gateway.wire import (
    Unreadable,
    elements,
    member,
    members,
    object_bytes,
    object_text,
    read,
    slice_at,
    slices_at,
    spliced,
    to_bytes,
    value_of,
)  # fmt: skip

from .words import json_texts


@given(values=st.lists(json_texts(), max_size=5), space=st.sampled_from(["", " ", "\n\t"]))
def test_elements_of_an_array_come_out_exactly_as_written(values: list[str], space: str) -> None:
    text = "[" + ",".join(f"{space}{value}{space}" for value in values) + "]"

    assert elements(text) == values


@given(values=st.lists(json_texts(), max_size=5))
def test_members_of_an_object_come_out_exactly_as_written_and_join_to_the_same_text(values: list[str]) -> None:
    pairs = [(f'"k\\u006{place}\\ud83d"', value) for place, value in enumerate(values)]
    text = object_text(pairs)

    assert [(found.raw_key, found.raw) for found in members(text)] == pairs


@pytest.mark.parametrize(
    "spelling",
    ["1.10", "1e2", "-0.0", "18446744073709551616123", '"\\ud83d"', '{"a":1,"a":2}', "[1, 2 ]", '{"b":1,"a":2}'],
)
def test_a_spelling_that_parsers_change_survives(spelling: str) -> None:
    assert member('{"x": ' + spelling + " }", "x") == spelling


def test_a_number_of_any_length_can_be_sliced() -> None:
    digits = "9" * 5000

    assert elements(f"[{digits}]") == [digits]


def test_of_duplicate_keys_the_last_is_the_member_and_both_are_listed() -> None:
    text = '{"a": 1, "b": 2, "a": 3}'

    assert member(text, "a") == "3"
    assert [found.raw for found in members(text)] == ["1", "2", "3"]


def test_an_escaped_key_is_found_by_its_meaning_and_kept_in_its_spelling() -> None:
    (found,) = members('{"\\u0061": 1}')

    assert (found.key, found.raw_key) == ("a", '"\\u0061"')


@pytest.mark.parametrize("text", ["", "[", "[1", "[1,", "[1 2]", "[1,]", "1", "{}", "[NaN]", "[tru]"])
def test_what_is_no_array_has_no_elements(text: str) -> None:
    with pytest.raises(ValueError):
        elements(text)


@pytest.mark.parametrize("text", ["", "{", '{"a"', '{"a" 1}', '{"a":}', "{1:2}", '{"a":1,}', "[]", '{"a":Infinity}'])
def test_what_is_no_object_has_no_members(text: str) -> None:
    with pytest.raises(ValueError):
        members(text)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "an empty body"),
        (b" \r\n ", "an empty body"),
        (b"\xef\xbb\xbf", "an empty body"),
        (b"<!DOCTYPE html><html></html>", "an HTML page"),
        (b'data: {"choices":[]}\n\n', "an event stream, though none was asked for"),
        (b"event: message\n", "an event stream, though none was asked for"),
        (b'{"a": NaN}', "text that is not JSON"),
        (b'{"a": "cut', "text that is not JSON"),
        (b'{"a": "\xff"}', "text that is not UTF-8"),
        (b"[1]", "JSON that is not an object"),
        (b"null", "JSON that is not an object"),
    ],
)
def test_a_body_that_is_no_json_object_is_named_for_what_it_is(body: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=f"^{reason}$"):
        read(body)


def test_a_body_nested_beyond_any_parser_is_refused_not_a_crash() -> None:
    with pytest.raises(ValueError):
        read(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


def test_text_nested_beyond_the_scanner_is_refused_not_a_crash() -> None:
    with pytest.raises(ValueError):
        members('{"a":' + "[" * 100_000 + "]" * 100_000 + "}")


def test_arguments_nested_beyond_any_parser_are_a_value_error() -> None:
    with pytest.raises(ValueError):
        value_of("[" * 100_000)


def test_a_byte_order_mark_is_stripped() -> None:
    body = read(b'\xef\xbb\xbf{"a": 1}')

    assert (body.text, body.value) == ('{"a": 1}', {"a": 1})


def test_an_error_in_a_list_of_one_is_read_as_the_error() -> None:
    body = read(b'[ {"error": {"code": 429}} ]')

    assert (body.text, body.value) == ('{"error": {"code": 429}}', {"error": {"code": 429}})


def test_encoded_pairs_are_joined_without_a_look_inside() -> None:
    assert json.loads(object_bytes([(b"a", b"1"), (b"b", b'["x"]')])) == {"a": 1, "b": ["x"]}


@given(fragments=st.lists(st.binary(max_size=4), max_size=5), head=st.binary(max_size=3), tail=st.binary(max_size=3))
def test_fragments_stand_between_head_and_tail_with_commas_between_them(
    fragments: list[bytes], head: bytes, tail: bytes
) -> None:
    assert b"".join(spliced(head, fragments, tail)) == head + b",".join(fragments) + tail


@given(wanted=json_texts(), other=json_texts(), pad=st.sampled_from(["", " ", "\n"]))
def test_what_a_path_leads_to_comes_out_exactly_as_written(wanted: str, other: str, pad: str) -> None:
    held = f'{{"a":{other},"b":1{pad},"b":{pad}{wanted}{pad}}}'
    text = f'{{"x":{other},"list":{pad}[{pad}{held}{pad},{other}]}}'

    assert slice_at(to_bytes(text), "list", 0, "b") == to_bytes(wanted)


@given(values=st.lists(json_texts(), max_size=4), other=json_texts())
def test_a_members_elements_come_out_exactly_as_written(values: list[str], other: str) -> None:
    text = f'{{"x":{other},"y": [ {" , ".join(values)} ] }}'

    assert slices_at(to_bytes(text), "y") == list(map(to_bytes, values))
    assert slices_at(to_bytes(text), "z") == []


def test_a_path_that_leads_nowhere_is_told_from_one_that_can_not_be_followed() -> None:
    assert slice_at(b'{"list":[{"a":null}]}', "list", 0, "b") is None
    assert slice_at(b'{"list":[{"a":null}]}', "list", 0, "a") == b"null"
    assert slice_at(b"{}", "list", 0, "b") is None
    for text in (b'{"list":[]}', b'{"list":null}', b'{"list":{"0":1}}', b'{"list":[7]}', b"[]"):
        with pytest.raises(ValueError):
            slice_at(text, "list", 0, "b")


@pytest.mark.parametrize("half", [b"\xed\xa0\xbd", b"\xed\xb0\x80"])
def test_a_surrogate_that_is_not_escaped_is_no_utf8(half: bytes) -> None:
    with pytest.raises(Unreadable, match="UTF-8"):
        read(b'{"a":"' + half + b'"}')


def test_a_letter_that_begins_like_a_surrogate_is_read() -> None:
    assert read('{"a":"한"}'.encode()).value == {"a": "한"}
