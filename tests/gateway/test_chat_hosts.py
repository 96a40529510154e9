"""Whole turns of chat-completions hosts that differ: reasoning that must go back or must not, signatures, settings."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from treadle.gateway.connections.connection import Connection
from treadle.gateway.gateway import ModelGateway
from treadle.gateway.transports.http import HttpTransport
from treadle.graph.errors import InvalidInput
from treadle.graph.identity import CallId
from treadle.graph.jsontext import Json, loads
from treadle.graph.messages import Message, ReasoningPart, Role, TextPart, ToolResult, ToolResultPart
from treadle.testkit.ports import ManualClock
from treadle.testkit.replies import Call, Reply, calls

from .traps import trap
from .words import TOOLS, MemorySecrets, connect, connection, payload

CIPHER = "Q0lQSEVS"
GO = Message(Role.USER, (TextPart("Go."),))


def gateway() -> ModelGateway:
    return ModelGateway(HttpTransport(), MemorySecrets(), ManualClock())


def listing(place: int, **message: Json) -> Reply:
    return calls(Call("workspace_list_files", {}, f"c{place}"), **message)


def sent(at: Connection, *replies: Reply, answered: Connection | None = None) -> list[Json]:
    """The messages of the request that follows the replies, each of their calls answered."""
    ours = gateway()
    transcript = [GO]
    for reply in replies:
        response = ours.decode_stored(answered or at, reply.body, TOOLS)
        transcript.append(response.message)
        transcript += [
            Message(Role.TOOL, (ToolResultPart(ToolResult(CallId(call.id), call.name, "done")),))
            for call in response.tool_calls
        ]
    fragments = [ours.encode_turn(at, message) for message in transcript]
    request = ours.build(ours.outgoing(at, {}, fragments, TOOLS, {"sessionId": "s"}))
    messages: list[Json] = json.loads(request.body)["messages"]
    return messages


@trap(25)
@pytest.mark.parametrize("url", ["https://api.deepseek.com/beta", "https://api.moonshot.ai/v1"])
def test_a_turn_without_reasoning_gets_an_empty_one_where_the_host_wants_it_on_each(url: str) -> None:
    replies = [listing(1, reasoning_content="first"), listing(2), listing(3, reasoning_content="third")]
    turns = [message for message in sent(connect(custom_url=url), *replies) if message["role"] == "assistant"]

    assert [turn["reasoning_content"] for turn in turns] == ["first", "", "third"]


@trap(26)
@pytest.mark.parametrize("url", ["https://api.groq.com/openai/v1", "https://api.cerebras.ai/v1"])
def test_a_strict_host_is_sent_no_reasoning_in_any_spelling(url: str) -> None:
    reply = listing(
        1, reasoning="a", reasoning_content="b", reasoning_details=[{"type": "reasoning.text", "text": "c"}]
    )
    turn = sent(connect(custom_url=url), reply)[1]

    assert set(turn) == {"role", "content", "tool_calls"}


@trap(26)
def test_a_source_that_is_strict_is_so_behind_every_address() -> None:
    groq = connect({"api_key_groq": "k"}, chat_completion_source="groq")
    turn = sent(groq, listing(1, reasoning="a"))[1]

    assert set(turn) == {"role", "content", "tool_calls"}


@trap(27)
def test_reasoning_in_the_newer_word_is_read_and_is_no_text() -> None:
    response = gateway().decode_stored(connect(), listing(1, text="Look.", reasoning="I need a list.").body, TOOLS)

    assert response.reasoning == (ReasoningPart("I need a list.", "reasoning"),)
    assert response.text == "Look."


@trap(28)
def test_encrypted_reasoning_goes_back_as_the_same_list_and_is_read_nowhere() -> None:
    details = [
        {"type": "reasoning.summary", "summary": "Plan."},
        {"type": "reasoning.encrypted", "data": CIPHER, "text": CIPHER, "id": "rs_1"},
    ]
    reply = listing(1, text="Look.", reasoning_details=details)
    response = gateway().decode_stored(connect(), reply.body, TOOLS)

    assert sent(connect(), reply)[1]["reasoning_details"] == details
    assert (response.text, [part.text for part in response.reasoning]) == ("Look.", ["Plan."])


@trap(29)
def test_a_signature_goes_back_on_its_call_and_on_no_other() -> None:
    signature: dict[str, Json] = {"extra_content": {"google": {"thought_signature": "sig=="}}}
    reply = calls(Call("workspace_list_files", {}, "c1", signature), Call("workspace_list_files", {}, "c2"))
    first, second = sent(connect(), reply)[1]["tool_calls"]

    assert first["extra_content"] == signature["extra_content"]
    assert "extra_content" not in second


@trap(24)
def test_broken_arguments_go_back_as_one_object_to_each_format() -> None:
    reply = calls(Call("workspace_read_file", '{"path": "a', "c1"))
    here, claude = connect(), replace(connection(source="claude"), format="claude_messages")
    ours = gateway()
    message = ours.decode_stored(here, reply.body, TOOLS).message
    (block,) = map(json.loads, ours.encode_turn(claude, message).items)

    arguments = sent(here, reply)[1]["tool_calls"][0]["function"]["arguments"]
    assert loads(arguments) == block["input"] == {"_invalid_arguments": '{"path": "a'}


@trap(30)
@pytest.mark.parametrize(("dialect", "content"), [(None, None), ({"emptyContent": "string"}, "")])
def test_a_turn_of_calls_alone_always_says_that_it_has_no_content(dialect: Json, content: str | None) -> None:
    here, other = connect(connection_dialect=dialect), connect(model="other")

    for turn in (sent(here, listing(1))[1], sent(here, listing(1), answered=other)[1]):
        assert turn["content"] == content


@trap(66)
@pytest.mark.parametrize("mode", ["merge", "semi", "strict", "single", "claude", 7])
def test_a_mode_that_would_merge_or_drop_tool_turns_is_refused(mode: Json) -> None:
    with pytest.raises(
        InvalidInput, match="custom_prompt_post_processing must be none or a mode that keeps tool turns"
    ):
        connect(custom_prompt_post_processing=mode, custom_url="https://api.deepseek.com/beta")


@trap(66)
@pytest.mark.parametrize("mode", [None, "", "none", "merge_tools", "semi_tools", "strict_tools"])
def test_a_mode_that_keeps_tool_turns_leaves_each_message_as_it_stands(mode: Json) -> None:
    two = calls(Call("workspace_list_files", {}, "c1"), Call("workspace_list_files", {}, "c2"))

    messages = sent(connect(custom_prompt_post_processing=mode), two, listing(3))
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "assistant", "tool"]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == ["c1", "c2", "c3"]


@trap(68)
@pytest.mark.parametrize("key", ["messages", "tools"])
@pytest.mark.parametrize("setting", ["custom_include_body", "custom_exclude_body"])
def test_a_body_that_would_replace_the_transcript_makes_no_connection(key: str, setting: str) -> None:
    given: Json = {key: []} if setting == "custom_include_body" else [key]

    with pytest.raises(InvalidInput, match=f"custom body keys must not touch '{key}'"):
        gateway().connect(payload(**{setting: given}))
