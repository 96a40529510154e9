"""Ids and the names made from them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.errors import InvalidData, InvalidInput
from treadle.graph.identity import (
    ChatKind,
    ChatRef,
    call_file_stem,
    chat_ref,
    round_file_stem,
    segment,
    stable_chat_id,
    workspace_id,
)
from treadle.graph.jsontext import Json


@pytest.mark.parametrize(
    ("kind", "chat", "expected"),
    [
        ("character", "stable-chat", "chat_d474bb6f0a9e39a7"),
        ("group", "group-chat", "chat_e9a0e723549f7d41"),
        ("character", "聊天-1", "chat_52ba71a0781e580c"),
    ],
)
def test_a_workspace_is_named_by_the_kind_and_the_stable_id(kind: ChatKind, chat: str, expected: str) -> None:
    assert workspace_id(kind, chat) == expected


def test_chats_whose_names_differ_a_little_have_workspaces_of_their_own() -> None:
    ids = {workspace_id("character", name) for name in ("a:b.", "a_b_", "A:B.", "a:b", "\ud800", '"', "\\")}

    assert len(ids | {workspace_id("group", "a:b.")}) == 8


@given(st.text())
def test_any_name_gives_a_workspace_id_that_may_be_a_folder(name: str) -> None:
    made = workspace_id("group", name)

    assert re.fullmatch(r"chat_[0-9a-f]{16}", made)
    assert segment(made) == made
    assert workspace_id("group", name) == made


@pytest.mark.parametrize(
    ("call", "expected"), [("call_write", "call_d944184886a046b8"), ("call_1", "call_74196fe72e4cdc13")]
)
def test_the_audit_file_of_a_call_is_named_by_its_hash(call: str, expected: str) -> None:
    assert call_file_stem(call) == expected


def test_rounds_have_three_digits_and_grow_past_them() -> None:
    assert [round_file_stem(number) for number in (1, 999, 1000)] == ["round-001", "round-999", "round-1000"]


@pytest.mark.parametrize("value", ["a", "A-Z_09", "x" * 128])
def test_a_segment_of_plain_characters_is_kept(value: str) -> None:
    assert segment(value) == value


@pytest.mark.parametrize("value", ["", ".", "..", "a/b", "a\\b", "a b", "é", "x" * 129, "a\n", "a.b"])
def test_a_segment_that_could_be_a_path_is_refused(value: str) -> None:
    with pytest.raises(InvalidData):
        segment(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            {"kind": "character", "characterId": "Anna", "fileName": "Anna - 1"},
            ChatRef("character", character_id="Anna", file_name="Anna - 1"),
        ),
        ({"kind": "group", "chatId": "7", "extra": 1}, ChatRef("group", chat_id="7")),
    ],
)
def test_a_chat_ref_is_read_and_written_alike(value: dict[str, Json], expected: ChatRef) -> None:
    ref = chat_ref(value)

    assert ref == expected
    assert chat_ref(ref.to_json()) == ref


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (None, "chatRef"),
        ([], "chatRef"),
        ({"kind": "room"}, "kind"),
        ({"characterId": "a", "fileName": "b"}, "kind"),
        ({"kind": "character", "fileName": "b"}, "characterId"),
        ({"kind": "character", "characterId": "a", "fileName": "  "}, "fileName"),
        ({"kind": "group", "chatId": 3}, "chatId"),
        ({"kind": "group", "chat_id": "3"}, "chat_id must be written chatId"),
        ({"kind": "character", "characterId": "a", "fileName": "b", "file_name": "b"}, "fileName"),
    ],
)
def test_a_chat_ref_that_names_no_chat_is_refused_by_its_field(value: Json, named: str) -> None:
    with pytest.raises(InvalidInput, match=named) as caught:
        chat_ref(value)

    assert caught.value.error_code == "agent.invalid_chat_ref"


def test_a_stable_chat_id_is_trimmed() -> None:
    assert stable_chat_id("  a b\n") == "a b"
    assert stable_chat_id("é" * 256) == "é" * 256


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("", "agent.stable_chat_id_required"),
        (" \t", "agent.stable_chat_id_required"),
        ("é" * 257, "agent.invalid_stable_chat_id"),
    ],
)
def test_a_stable_chat_id_is_1_to_512_bytes(value: str, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        stable_chat_id(value)

    assert caught.value.error_code == code
