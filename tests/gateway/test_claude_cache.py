"""Where a Claude request asks for its beginning to be kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json
from treadle.graph.messages import Message, Role, ToolSpec

from .claude_words import (
    HERE,
    OFFICIAL,
    SAID,
    THINKING,
    body,
    content,
    native,
    result,
    said,
    system,
    use,
    user,
    written,
)
from .traps import trap
from .words import TOOLS

MARK: Json = {"type": "ephemeral", "ttl": "5m"}
OPENING = [system("You write."), system("Well."), user("World."), user("Go.")]
LONG = 12


def rounds(count: int, opening: Sequence[Message] = OPENING) -> list[Message]:
    """The opening, and so many rounds of a call and its result."""
    held = list(opening)
    for number in range(count):
        held += [native(content(THINKING, use(f"t{number}")), f"t{number}", at=OFFICIAL), result(f"t{number}")]
    return held


def cached(messages: Sequence[Message], cursor: int = 0) -> dict[str, Json]:
    return body(messages, OFFICIAL, tools=TOOLS, cursor=cursor, prompt_cache_ttl="5m")


def marks(made: dict[str, Json]) -> Iterator[tuple[str, int, int]]:
    """Where blocks are marked: part of the request, message and block."""
    for number, block in enumerate(made.get("system", [])):
        if "cache_control" in block:
            yield "system", 0, number
    for place, turn in enumerate(made["messages"]):
        for number, block in enumerate(turn["content"]):
            if "cache_control" in block:
                yield "messages", place, number


def test_the_first_request_is_marked_at_its_top_and_its_system() -> None:
    made = cached(OPENING)

    assert made["cache_control"] == MARK
    assert list(marks(made)) == [("system", 0, 1)]
    assert made["system"][1]["cache_control"] == MARK


def test_the_second_is_marked_where_the_first_one_ended() -> None:
    assert list(marks(cached(rounds(1), cursor=4))) == [("system", 0, 1), ("messages", 0, 1)]


@trap(18)
@pytest.mark.parametrize("count", range(2, LONG))
def test_later_ones_are_marked_at_the_opening_and_where_the_last_one_ended(count: int) -> None:
    made = cached(rounds(count), cursor=len(rounds(count - 1)))

    last = len(made["messages"]) - 1
    assert list(marks(made)) == [("system", 0, 1), ("messages", 0, 1), ("messages", last - 2, 0)]
    assert made["messages"][last - 2]["role"] == "user"
    assert (
        written(rounds(count), OFFICIAL, prompt_cache_ttl="5m", cursor=len(rounds(count - 1))).count(b'"ephemeral"')
        == 4
    )


@trap(18)
def test_no_mark_stands_in_a_native_turn_or_in_the_open_tool_turn_and_nothing_is_changed() -> None:
    messages = rounds(3)
    before = repr(messages)
    made = cached(messages, cursor=len(rounds(2)))

    opened = len(made["messages"]) - 2
    assert made["messages"][opened]["role"] == "assistant"
    assert all(place < opened for kind, place, _ in marks(made) if kind == "messages")
    assert all(made["messages"][place]["role"] == "user" for kind, place, _ in marks(made) if kind == "messages")
    assert content(THINKING, use("t2")).encode() in written(messages, OFFICIAL, prompt_cache_ttl="5m")
    assert repr(messages) == before


@trap(18)
def test_a_transcript_that_ends_with_the_models_own_thoughts_is_not_marked_there() -> None:
    paused = [*OPENING, native(content(THINKING), at=OFFICIAL)]
    made = cached(paused)

    assert "cache_control" not in made
    assert list(marks(made)) == [("system", 0, 1), ("messages", 0, 1)]


@trap(18)
def test_a_cursor_that_ends_in_an_answer_marks_no_native_block() -> None:
    turn = native(content(SAID), at=OFFICIAL)

    assert list(marks(cached([*OPENING, turn, user("on"), turn, user("on")], cursor=5))) == [
        ("system", 0, 1),
        ("messages", 0, 1),
    ]


def test_only_marks_tell_a_cached_request_from_a_plain_one() -> None:
    messages = [*rounds(2), user("nudge")]
    plain = written(messages, OFFICIAL, tools=TOOLS)
    marked = written(messages, OFFICIAL, tools=TOOLS, prompt_cache_ttl="1h", cursor=6)

    assert re.sub(
        rb',?"cache_control":\{"type":"ephemeral","ttl":"1h"\}(,(?="system"))?', b"", marked
    ) == plain.replace(b',"system"', b'"system"')


def test_the_beginning_of_each_request_is_the_one_before() -> None:
    def unmarked(count: int) -> list[Json]:
        made = cached(rounds(count), cursor=len(rounds(count - 1)) if count else 0)
        for turn in made["messages"]:
            for block in turn["content"]:
                block.pop("cache_control", None)
        kept: list[Json] = made["messages"]
        return kept

    for count in range(LONG):
        assert unmarked(count + 1)[: len(unmarked(count))] == unmarked(count)


def test_a_request_without_system_text_has_no_mark_for_it() -> None:
    assert list(marks(cached([user("a"), said(Role.ASSISTANT, "b"), user("c")], cursor=1))) == [("messages", 0, 0)]


@pytest.mark.parametrize(
    ("source", "settings", "cached"),
    [
        ("claude", {}, False),
        ("claude", {"prompt_cache_ttl": "off"}, False),
        ("claude", {"prompt_cache_ttl": "1h"}, True),
        ("custom", {"prompt_cache_ttl": "1h"}, False),
        ("custom", {"prompt_cache_ttl": "1h", "custom_claude_prompt_caching": False}, False),
        ("custom", {"prompt_cache_ttl": "1h", "custom_claude_prompt_caching": True}, True),
        ("custom", {"custom_claude_prompt_caching": True}, False),
    ],
)
def test_caching_is_off_until_it_is_asked_for(source: str, settings: dict[str, Json], cached: bool) -> None:
    made = written(OPENING, replace(HERE, source=source), **settings)

    assert (b"cache_control" in made) == cached


@trap(19)
def test_a_tool_whose_argument_has_the_marks_name_is_no_mark() -> None:
    spec = ToolSpec("a.b", "B", "B", {"type": "object", "properties": {"cache_control": {"type": "string"}}})
    blocks = content(use("t", '{"cache_control":"no-store"}', "a_b"))
    messages = [*OPENING, native(blocks, "t", at=OFFICIAL), result("t", 'about "cache_control"')]
    made = written(messages, OFFICIAL, tools=[spec], prompt_cache_ttl="5m", cursor=4)

    assert blocks.encode() in made
    assert json.loads(made)["tools"][0]["input_schema"]["properties"] == {"cache_control": {"type": "string"}}


def test_marks_that_stand_there_already_are_refused() -> None:
    at = replace(OFFICIAL, body_include=(("cache_control", MARK),))
    marked = native(content('{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}'), at=OFFICIAL)

    with pytest.raises(InvalidInput, match="custom_include_body"):
        written(OPENING, at, prompt_cache_ttl="5m")
    with pytest.raises(InvalidInput, match="caching"):
        written([*OPENING, marked, user("x")], OFFICIAL, prompt_cache_ttl="5m")
    assert written([*OPENING, marked, user("x")], at)
