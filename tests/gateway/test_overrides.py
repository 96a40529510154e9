"""Headers and body keys in each of the spellings that frontends keep."""

from __future__ import annotations

import pytest

from treadle.gateway.connections.overrides import header_lines, key_list, key_values
from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json


@pytest.mark.parametrize("given", [{"X-A": "1", "X-B": "b: c"}, '{"X-A": "1", "X-B": "b: c"}', "X-A: '1'\nX-B: b: c\n"])
def test_headers_come_as_an_object_as_json_or_as_lines(given: Json) -> None:
    assert header_lines(given, "headers") == {"X-A": "1", "X-B": "b: c"}


@pytest.mark.parametrize(
    "given", [{"top_k": 4, "tag": "x"}, '{"top_k": 4, "tag": "x"}', '- top_k: 4\n- tag: "x"', "top_k: 4\ntag: x"]
)
def test_body_keys_come_as_an_object_as_json_or_as_lines(given: Json) -> None:
    assert key_values(given, "body") == {"top_k": 4, "tag": "x"}


@pytest.mark.parametrize("given", [["a", "b"], '["a", "b"]', "- a\n- b", "a\nb\n"])
def test_keys_to_leave_out_come_as_a_list_as_json_or_as_lines(given: Json) -> None:
    assert key_list(given, "keys") == ["a", "b"]


@pytest.mark.parametrize("given", [None, "", " \n"])
def test_nothing_is_nothing(given: Json) -> None:
    assert (header_lines(given, "h"), key_values(given, "b"), key_list(given, "k")) == ({}, {}, [])


@pytest.mark.parametrize("given", [7, [1], "{broken", "just words"])
def test_what_has_no_such_shape_is_refused_without_being_quoted(given: Json) -> None:
    with pytest.raises(InvalidInput, match="headers") as refused:
        header_lines(given, "headers")

    assert "broken" not in str(refused.value)
    assert "words" not in str(refused.value)
