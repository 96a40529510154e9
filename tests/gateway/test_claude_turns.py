"""How a transcript becomes the turns of a Claude request."""

from __future__ import annotations

import json
import re

import pytest

from treadle.gateway.calls import CONTENT_PART
from treadle.gateway.claude.blocks import wire_id
from treadle.graph.errors import ModelFailed
from treadle.graph.jsontext import Json, dumps
from treadle.graph.messages import MediaPart, Message, NativePart, Part, ReasoningPart, Role, TextPart, ToolCallPart

from .claude_words import (
    HERE,
    SAID,
    THINKING,
    body,
    call,
    content,
    fragments,
    native,
    result,
    said,
    system,
    text,
    use,
    user,
    written,
)
from .traps import trap
from .words import READ

PIXEL = "data:image/png;base64,iVBORw0KGgo="
BLANK: Json = [text("\u200b")]


def turns(*messages: Message, **settings: Json) -> list[tuple[str, Json]]:
    return [(turn["role"], turn["content"]) for turn in body(messages, **settings)["messages"]]


def kinds(held: Json) -> list[str]:
    return [block["type"] for block in held]


def picture(url: str = PIXEL) -> MediaPart:
    return MediaPart("image/png", {"type": "image_url", "image_url": {"url": url}})


@trap(12)
def test_results_stand_in_one_user_message_before_the_words_that_follow() -> None:
    turn = native(content(THINKING, use("a"), use("b")), "a", "b")
    _, _, (role, held) = turns(user("go"), turn, result("a"), result("b"), user("nudge"), user("more"))

    assert role == "user"
    assert kinds(held) == ["tool_result", "tool_result", "text", "text"]
    assert [block["tool_use_id"] for block in held[:2]] == ["a", "b"]


@trap(67)
def test_system_text_at_the_start_is_the_system_and_later_notes_are_the_users() -> None:
    turn = native(content(use("a")), "a")
    note = said(Role.DEVELOPER, "Mind the style.")
    messages = [system("You write."), system(" "), system("Well."), user("go"), turn, result("a"), note, system("Late")]
    sent = body(messages)

    assert sent["system"] == [text("You write."), text("Well.")]
    assert sent["messages"][2]["content"][1:] == [text("Mind the style."), text("Late")]
    assert [turn["role"] for turn in sent["messages"]] == ["user", "assistant", "user"]


def test_the_payload_may_have_system_text_said_by_the_user() -> None:
    sent = body([system("You write."), user("go")], use_sysprompt=False)

    assert "system" not in sent
    assert sent["messages"] == [{"role": "user", "content": [text("You write."), text("go")]}]


def test_without_system_text_there_is_no_system() -> None:
    assert "system" not in body([system(" \n"), user("go")])


@trap(14)
def test_a_turn_from_elsewhere_keeps_its_text_beside_its_calls() -> None:
    foreign = NativePart("gemini", b"{}", HERE.origin)
    thought = ReasoningPart("private", "thinking")
    message = Message(Role.ASSISTANT, (TextPart("Look."), thought, foreign, ToolCallPart(call("a"))))
    _, (_, held), _ = turns(user("go"), message, result("a"))

    assert held == [
        text("Look."),
        {"type": "tool_use", "id": "a", "name": "workspace_read_file", "input": call("a").arguments},
    ]


def test_a_turn_of_another_model_is_sent_in_canonical_words() -> None:
    message = native(content(THINKING, use("a")), "a")
    (part, *rest) = message.parts
    assert isinstance(part, NativePart)
    moved = Message(Role.ASSISTANT, (NativePart("claude", part.value, "another"), *rest))

    sent = written([user("go"), moved, result("a")])
    assert b"EqQB" not in sent
    assert b'"tool_use"' in sent


@trap(15)
def test_a_failed_result_says_so_twice() -> None:
    turn = native(content(use("a"), use("b")), "a", "b")
    _, _, (_, held) = turns(user("go"), turn, result("a"), result("b", "not found", is_error=True))

    assert "is_error" not in held[0]
    assert held[1]["is_error"] is True
    assert list(json.loads(held[1]["content"])) == ["ok", "content", "structured", "errorCode", "resourceRefs"]
    assert json.loads(held[1]["content"])["ok"] is False


@trap(17)
@pytest.mark.parametrize("foreign", ["functions.read_file:0", " c 1", "édit:22", "\ud83d", "x" * 300 + "."])
def test_a_foreign_id_has_one_alias_on_call_and_result_and_stays_itself_at_home(foreign: str) -> None:
    asked = said(Role.ASSISTANT, "", call(foreign), call("other:1"))
    sent = turns(user("go"), asked, result(foreign), result("other:1"))
    held = fragments([asked, result(foreign)])

    made = [block["id"] for block in sent[1][1]]
    assert made == [block["tool_use_id"] for block in sent[2][1]]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]+", alias) for alias in made)
    assert len(set(made)) == 2
    assert (held[0].calls[0], held[1].answers) == (foreign, foreign)


@trap(17)
def test_an_id_in_a_native_block_is_answered_as_it_stands_there() -> None:
    turn = native(content(use("t:1")), "t:1")
    _, _, (_, held) = turns(user("go"), turn, result("t:1"))

    assert held[0]["tool_use_id"] == "t:1"
    assert wire_id("t:1") != "t:1"
    assert wire_id("toolu_01-A") == "toolu_01-A"


@trap(24)
def test_arguments_that_are_no_object_travel_inside_one() -> None:
    broken = said(Role.ASSISTANT, "", call("a", '{"path": "a', invalid=True), call("b", [1], invalid=True))
    _, (_, held), _ = turns(user("go"), broken, result("a"), result("b"))

    assert [block["input"] for block in held] == [{"_invalid_arguments": '{"path": "a'}, {"_invalid_arguments": [1]}]


@trap(31)
def test_a_tool_has_its_alias_wherever_it_is_named() -> None:
    asked = said(Role.ASSISTANT, "", call("a"))
    choice = {"type": "function", "function": {"name": "workspace.read_file"}}
    sent = written([user("go"), asked, result("a")], tools=[READ], choice=choice)

    assert b"workspace.read_file" not in sent
    assert sent.count(b'"name":"workspace_read_file"') == 3


def test_neighbours_on_the_users_side_are_one_message_and_so_are_plain_answers() -> None:
    one = said(Role.ASSISTANT, "One.")
    sent = turns(user("a"), user("b"), one, said(Role.ASSISTANT, "Two."), user("c"))

    assert sent == [
        ("user", [text("a"), text("b")]),
        ("assistant", [text("One."), text("Two.")]),
        ("user", [text("c")]),
    ]


def test_a_native_turn_is_not_merged_with_plain_neighbours() -> None:
    plain = said(Role.ASSISTANT, "Plain.")
    sent = turns(user("a"), plain, native(content(SAID)), plain, user("b"))

    assert [len(held) for _, held in sent] == [1, 1, 1, 1, 1]


@pytest.mark.parametrize("empty", ["", "\n", "  \t"])
def test_blank_text_is_left_out_and_a_message_that_must_be_there_holds_a_mark_of_no_width(empty: str) -> None:
    assert turns(user(empty), user("hello")) == [("user", [text("hello")])]
    assert turns(user(empty)) == [("user", BLANK)]
    assert turns(said(Role.ASSISTANT, empty)) == [("user", BLANK)]
    assert turns() == [("user", BLANK)]


def test_the_first_and_the_last_message_are_the_users() -> None:
    assert turns(said(Role.ASSISTANT, "Hello.")) == [("user", BLANK), ("assistant", [text("Hello.")]), ("user", BLANK)]


@trap(16)
def test_a_native_turn_at_the_end_is_followed_by_nothing() -> None:
    served = '{"type":"server_tool_use","id":"s","name":"web_search","input":{}}'
    sent = turns(user("go"), native(content(served)))

    assert [role for role, _ in sent] == ["user", "assistant"]


def test_a_speakers_name_stands_before_the_words_unless_it_does_already() -> None:
    assert turns(user("Hi.", "Lin")) == [("user", [text("Lin: Hi.")])]
    assert turns(user("Lin: Hi.", "Lin")) == [("user", [text("Lin: Hi.")])]
    assert turns(said(Role.ASSISTANT, "Hi.", name="Lin"), user("x"))[1] == ("assistant", [text("Hi.")])
    parts: tuple[Part, ...] = (TextPart(" "), picture(), TextPart("Look."), TextPart("There."))
    assert kinds(turns(Message(Role.USER, parts, "Lin"))[0][1]) == ["image", "text", "text"]
    assert turns(Message(Role.USER, parts, "Lin"))[0][1][1] == text("Lin: Look.")


def test_images_are_sent_by_their_data_or_their_address() -> None:
    part = NativePart(CONTENT_PART, dumps({"type": "image_url", "image_url": "https://host/a.png"}))
    ((_, held),) = turns(Message(Role.USER, (picture(), part)))

    assert [block["source"] for block in held] == [
        {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
        {"type": "url", "url": "https://host/a.png"},
    ]


@trap(12)
def test_results_stand_before_an_image_that_waited_for_the_users_turn() -> None:
    shown = Message(Role.ASSISTANT, (picture(), ToolCallPart(call("a")), ToolCallPart(call("b"))))
    _, _, (_, held) = turns(user("go"), shown, result("a"), result("b"), user("nudge"))

    assert kinds(held) == ["tool_result", "tool_result", "image", "text"]


def test_an_image_in_an_answer_moves_to_the_next_words_of_the_user() -> None:
    shown = Message(Role.ASSISTANT, (TextPart("See."), picture()))

    assert [kinds(held) for _, held in turns(user("a"), shown, user("b"))] == [["text"], ["text"], ["image", "text"]]
    assert [kinds(held) for _, held in turns(user("a"), shown)] == [["text"], ["text"], ["image"]]
    only = Message(Role.ASSISTANT, (picture(),))
    assert [kinds(held) for _, held in turns(user("a"), only, user("b"))] == [["text", "image", "text"]]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
        {"type": "video_url", "video_url": {"url": "https://host/a.mp4"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA", "filename": "a.pdf"}},
        {"type": "image_url"},
        {"type": "image_url", "image_url": {"url": "data:text/html;base64,AA"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}},
        {"type": "image_url", "image_url": {"url": "file:///etc/passwd"}},
        {"type": "thinking", "thinking": "x"},
        "text",
    ],
)
def test_media_that_claude_does_not_take_is_refused_by_name(part: Json) -> None:
    for held in (MediaPart("x/y", part), NativePart(CONTENT_PART, dumps(part))):
        with pytest.raises(ModelFailed) as failed:
            fragments([Message(Role.USER, (held,))])
        assert failed.value.error_code == "model.request_build_failed"


def test_an_image_among_the_system_text_is_refused() -> None:
    with pytest.raises(ModelFailed) as failed:
        body([Message(Role.SYSTEM, (picture(),)), user("x")])
    assert failed.value.error_code == "model.request_build_failed"
