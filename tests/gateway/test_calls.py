"""Ids, names and arguments of tool calls, whatever the format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.gateway.calls import CallInvalid, arguments, call_id, canonical_names, check_unique, wire_name
from treadle.graph.identity import CallId
from treadle.graph.jsontext import Json
from treadle.graph.messages import ToolCall

from .traps import trap
from .words import TOOLS


@pytest.mark.parametrize("given_id", [None, "", "   ", 7, ["x"]])
def test_an_id_that_is_missing_or_blank_is_refused_and_never_made_up(given_id: Json) -> None:
    with pytest.raises(CallInvalid) as refused:
        call_id(given_id, "tool call 1")

    assert (refused.value.error_code, refused.value.retryable) == ("model.invalid_tool_call", False)


@pytest.mark.parametrize("given_id", ["call_a", " padded ", "functions.read_file:0", "\ud83d"])
def test_an_id_is_kept_as_it_came(given_id: str) -> None:
    assert call_id(given_id, "tool call 1") == given_id


def test_two_calls_of_one_answer_must_not_share_an_id() -> None:
    call = ToolCall(CallId("edit:22"), "a", {}, "a")

    with pytest.raises(CallInvalid):
        check_unique([call, call])


@pytest.mark.parametrize("name", ["workspace_read_file", "workspace.read_file"])
def test_an_alias_and_the_name_itself_become_the_canonical_name(name: str) -> None:
    assert canonical_names(TOOLS)[name] == "workspace.read_file"


@pytest.mark.parametrize("name", ["Workspace_Read_File", "workspace_read_file ", "nope"])
def test_an_unknown_name_stays_as_it_is(name: str) -> None:
    assert name not in canonical_names(TOOLS)


@given(st.text(min_size=1))
def test_every_name_has_a_form_that_servers_take(name: str) -> None:
    fit = wire_name(name)

    assert 1 <= len(fit) <= 64
    assert all(char.isascii() and (char.isalnum() or char in "_-") for char in fit)
    assert wire_name(fit) == fit


@trap(23)
@pytest.mark.parametrize("text", ["", "  ", "\n", None, "null", " null "])
def test_no_arguments_are_an_empty_object(text: Json) -> None:
    assert arguments(text) == ({}, False)


@trap(22, 24)
@pytest.mark.parametrize("text", ['{"path": "a', "[1]", '"x"', "7", '{"a":1}{"a":1}', '{"a":NaN}', "[" * 100_000])
def test_text_that_holds_no_object_is_kept_raw_and_marked(text: str) -> None:
    assert arguments(text) == (text, True)


def test_an_object_that_came_bare_is_taken_and_a_list_is_marked() -> None:
    assert arguments({"a": 1}) == ({"a": 1}, False)
    assert arguments([1]) == ([1], True)


@trap(61)
def test_large_integers_and_surrogates_in_arguments_survive() -> None:
    value, invalid = arguments('{"n": 18446744073709551616, "s": "\\ud83d", "e": "\\ud83d\\ude00"}')

    assert (value, invalid) == ({"n": 2**64, "s": "\ud83d", "e": "\U0001f600"}, False)
