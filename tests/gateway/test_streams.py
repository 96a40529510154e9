"""A stream of events read whole: the document that it tells, spelled as it came, or word that it broke off."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.gateway import sse
from treadle.gateway.chat import stream as chat_stream
from treadle.gateway.claude import stream as claude_stream
from treadle.gateway.wire import Body, Unreadable, member
from treadle.graph.errors import ModelFailed
from treadle.graph.jsontext import Json

from .traps import trap

ARGUMENTS = '{"path": "output/m\\u00e4in.md", "content": "\\"潮\\" 1.10 \\ud83d\\ude00", "n": 18446744073709551616}'


def stream(*events: Json | str, name: bool = False) -> bytes:
    """Events as a provider sends them; a text goes out as it is."""
    told = [event if isinstance(event, str) else json.dumps(event, ensure_ascii=False) for event in events]
    heads = [f"event: {event['type']}\n" if name and isinstance(event, dict) else "" for event in events]
    return "".join(f"{head}data: {data}\n\n" for head, data in zip(heads, told, strict=True)).encode()


def claude(*blocks: Sequence[Json | str], stop: str = "tool_use") -> list[Json | str]:
    start: dict[str, Json] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "m",
        "stop_reason": None,
    }
    events: list[Json | str] = [{"type": "message_start", "message": {**start, "usage": {"input_tokens": 9}}}]
    for index, (first, *deltas) in enumerate(blocks):
        events += [
            {"type": "content_block_start", "index": index, "content_block": first},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]
    end: list[Json | str] = [
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    return events + end


def message_of(data: bytes) -> Body:
    (body,) = claude_stream.documents(data)
    return body


def tool_use(*pieces: str) -> list[Json | str]:
    first: dict[str, Json] = {"type": "tool_use", "id": "toolu_1", "name": "workspace_write_file", "input": {}}
    return [first, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces)]


def chunk(**delta: Json) -> Json:
    choice: Json = {"index": 0, "delta": delta, "finish_reason": None}
    return {"id": "c1", "model": "m", "choices": [choice]}


def ended(word: str) -> Json:
    choice: Json = {"index": 0, "delta": {}, "finish_reason": word}
    return {"id": "c1", "model": "m", "choices": [choice]}


@trap(64)
def test_a_claude_call_is_read_when_its_block_stops_however_its_input_was_cut() -> None:
    for cut in range(1, len(ARGUMENTS)):
        body = message_of(stream(*claude(tool_use(ARGUMENTS[:cut], ARGUMENTS[cut:])), name=True))

        block = body.value["content"][0]
        assert block["input"] == json.loads(ARGUMENTS)
        assert ARGUMENTS in body.text  # spelled as the model wrote it


@trap(64)
def test_comments_pings_and_events_of_a_later_day_are_passed_over() -> None:
    events = claude([{"type": "text", "text": ""}, {"type": "text_delta", "text": "潮"}], stop="end_turn")
    told = stream(events[0], {"type": "ping"}, {"type": "of_tomorrow", "x": 1}, *events[1:])

    body = message_of(b": OPENROUTER PROCESSING\n\n" + told.replace(b"\n\n", b"\r\n: still here\r\n\r\n"))

    assert body.value["content"] == [{"type": "text", "text": "潮"}]
    assert body.value["stop_reason"] == "end_turn"
    assert body.value["usage"] == {"input_tokens": 9, "output_tokens": 5}


@trap(64)
@pytest.mark.parametrize("left_out", ["message_stop", "content_block_stop", "message_start"])
def test_a_claude_stream_that_stops_early_executes_nothing(left_out: str) -> None:
    kept = [event for event in claude(tool_use(ARGUMENTS)) if left_out not in json.dumps(event)]

    with pytest.raises(ModelFailed, match="broke off") as failed:
        message_of(stream(*kept))
    assert (failed.value.error_code, failed.value.retryable) == ("model.stream_failed", True)


@trap(64)
def test_a_claude_call_whose_input_stops_in_the_middle_is_no_call() -> None:
    with pytest.raises(ModelFailed, match="stops in the middle"):
        message_of(stream(*claude(tool_use(ARGUMENTS[:20]))))


def test_a_signature_and_a_redacted_block_are_joined_as_they_were_spelled() -> None:
    thinking = '{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"%s"}}'
    redacted = (
        '{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"\\u0041\\/=="}}'
    )
    start, *rest = claude([{"type": "thinking", "thinking": "", "signature": ""}])
    events = [start, rest[0], thinking % "Er\\u0041", thinking % "\\/x==", rest[1], redacted]
    events += [{"type": "content_block_stop", "index": 1}, *rest[2:]]

    content = member(message_of(stream(*events)).text, "content")

    assert content == (
        '[{"type":"thinking","thinking":"","signature":"Er\\u0041\\/x=="},'
        '{"type":"redacted_thinking","data":"\\u0041\\/=="}]'
    )


@trap(20)
def test_an_error_in_the_middle_of_a_stream_is_what_the_stream_tells() -> None:
    overloaded: Json = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    body = message_of(stream(*claude(tool_use(ARGUMENTS))[:3], overloaded, name=True))

    assert body.value == overloaded


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=8), min_size=1, max_size=6))
def test_a_text_is_whole_however_it_is_cut(pieces: list[str]) -> None:
    deltas = [json.dumps({"choices": [{"index": 0, "delta": {"content": piece}}]}) for piece in pieces]

    body = chat_stream.document(stream(*deltas, ended("stop")))

    assert body.value["choices"][0]["message"]["content"] == json.loads(sse.joined(json.dumps(p) for p in pieces))
    assert "".join(pieces).encode("utf-16", "surrogatepass") == body.value["choices"][0]["message"]["content"].encode(
        "utf-16", "surrogatepass"
    )


@trap(65)
def test_a_usage_chunk_after_the_finish_is_kept_and_done_may_be_missing() -> None:
    usage: Json = {"id": "c1", "choices": [], "usage": {"total_tokens": 7}}
    told = [chunk(role="assistant", content="Hi"), ended("stop"), usage]

    for end in (["[DONE]"], []):
        body = chat_stream.document(stream(*told, *end))
        assert body.value["usage"] == {"total_tokens": 7}
        assert body.value["choices"][0] == {
            "index": 0,
            "message": {"role": "assistant", "content": "Hi"},
            "finish_reason": "stop",
        }


@trap(65)
@pytest.mark.parametrize("end", [["[DONE]"], [], ['{"id":"c1","choices":[{"ind']])
def test_a_chat_stream_without_a_finish_reason_broke_off(end: list[str]) -> None:
    with pytest.raises(ModelFailed, match="broke off") as failed:
        chat_stream.document(stream(chunk(content="Hi"), *end))
    assert (failed.value.error_code, failed.value.retryable) == ("model.stream_failed", True)


@pytest.mark.parametrize("indexed", [True, False])
def test_calls_are_put_together_by_index_or_by_id(indexed: bool) -> None:
    def part(index: int, **given: Json) -> Json:
        return chunk(tool_calls=[{**({"index": index} if indexed else {}), **given}])

    body = chat_stream.document(
        stream(
            part(0, id="a", type="function", function={"name": "one", "arguments": ""}),
            part(0, function={"arguments": '{"x": "\\ud8'}) if indexed else part(0, function={"arguments": '{"x": 1'}),
            part(0, function={"arguments": '3d"}'} if indexed else {"arguments": "}"}),
            part(1, id="b", function={"name": "two", "arguments": "{}"}, extra_content={"google": {"s": "1.10"}}),
            ended("tool_calls"),
        )
    )

    first, second = body.value["choices"][0]["message"]["tool_calls"]
    assert (first["id"], first["type"], first["function"]["name"]) == ("a", "function", "one")
    assert json.loads(first["function"]["arguments"]) == ({"x": "\ud83d"} if indexed else {"x": 1})
    assert second == {
        "id": "b",
        "extra_content": {"google": {"s": "1.10"}},
        "function": {"name": "two", "arguments": "{}"},
    }


def test_details_of_reasoning_are_put_together_by_index() -> None:
    body = chat_stream.document(
        stream(
            chunk(reasoning_details=[{"index": 0, "type": "reasoning.text", "text": "The "}]),
            chunk(reasoning_details=[{"index": 0, "text": "tide", "signature": "s"}]),
            chunk(reasoning_details=[{"index": 1, "type": "reasoning.encrypted", "data": "x\\u0041"}]),
            ended("stop"),
        )
    )

    assert body.value["choices"][0]["message"]["reasoning_details"] == [
        {"index": 0, "type": "reasoning.text", "text": "The tide", "signature": "s"},
        {"index": 1, "type": "reasoning.encrypted", "data": "x\\u0041"},
    ]


def test_an_error_chunk_is_what_the_stream_tells() -> None:
    fault: Json = {"error": {"code": 429, "message": "slow down"}}

    assert chat_stream.document(stream(chunk(content="Hi"), fault)).value == fault


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"data: a\ndata: b\n\n", [("", "a\nb")]),
        (b"event: x\rdata:a\r\rdata:  b\r\r", [("x", "a"), ("", " b")]),
        (b"\xef\xbb\xbf: note\n\nid: 1\nretry: 5\ndata: a", [("", "a")]),
        (b"data\n\nevent: x\n\n", [("", "")]),
        (b"", []),
    ],
)
def test_events_are_parted_as_the_standard_says(data: bytes, expected: list[tuple[str, str]]) -> None:
    assert [tuple(event) for event in sse.events(data)] == expected


@pytest.mark.parametrize("data", [b"data: x", b"event: x", b": note\n", b"\xef\xbb\xbfdata:", b"\n\ndata: 1", b"id: 1"])
def test_a_stream_is_told_from_a_document(data: bytes) -> None:
    assert sse.is_stream(data)
    assert not sse.is_stream(b'{"data": 1}')
    assert not sse.is_stream(b"<html>")


def test_what_is_not_utf_8_is_unreadable() -> None:
    with pytest.raises(Unreadable, match=re.escape("text that is not UTF-8")):
        sse.events(b"data: \xff\n\n")
