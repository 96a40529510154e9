"""Gemini's answers in canonical words, and the rest of a request beside its contents."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from treadle.gateway.connections.connection import Connection, Switches
from treadle.gateway.custody import check_arrival
from treadle.gateway.formats import gemini
from treadle.gateway.outgoing import Outgoing
from treadle.gateway.schemas.rules import GEMINI, tool_parameters
from treadle.gateway.wire import Unreadable, read
from treadle.graph.errors import ModelFailed, NativeMetadataLost
from treadle.graph.jsontext import Json
from treadle.graph.messages import (
    Finish,
    Message,
    ModelResponse,
    NativePart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolSpec,
)

from ..gemini_words import HERE, answer, body, called, contents, decoded, results, said, studio, vertex
from ..traps import trap
from ..words import KEY, LIST, READ, TOOLS

GO = said("Go.")


def refusal(reply: str, at: Connection = HERE) -> ModelFailed:
    with pytest.raises(ModelFailed) as refused:
        decoded(reply, at)
    return refused.value


def test_an_answer_is_decoded_in_the_order_text_reasoning_native_calls() -> None:
    parts = (
        f'{{"text":"Need","thought":true}},{{"text":" Look"}},{called("workspace_read_file", "c1", signature="S==")},'
        '{"text":"it up","thought":true},{"text":". "}'
    )
    response = decoded(f'{answer(parts)[:-1]},"usageMetadata":{{"totalTokenCount":9}}}}')

    (call,) = response.tool_calls
    native = next(part for part in response.message.parts if isinstance(part, NativePart))
    assert [type(part) for part in response.message.parts] == [TextPart, ReasoningPart, NativePart, ToolCallPart]
    assert (response.text, response.finish, response.finish_reason) == (" Look. ", Finish.TOOL_CALLS, "STOP")
    assert response.reasoning == (ReasoningPart("Need\n\nit up", "thought"),)
    assert (call.id, call.name, call.model_name) == ("c1", "workspace.read_file", "workspace_read_file")
    assert (call.arguments, call.signature) == ({}, "S==")
    assert call.raw == called("workspace_read_file", "c1", signature="S==").encode()
    assert native == NativePart("gemini", f'{{ "parts": [{parts}], "role":"model" }}'.encode(), HERE.origin)
    assert (response.id, response.model, response.usage) == ("r1", "g", {"totalTokenCount": 9})
    assert (response.source, response.format) == ("makersuite", "gemini")


def test_parts_of_other_kinds_are_native_only() -> None:
    parts = '{"inlineData":{"mimeType":"image/png","data":"AA"}},{"executableCode":{"code":"1"}},{"text":"x"}'
    response = decoded(answer(parts))

    assert (response.text, response.tool_calls) == ("x", ())
    assert parts.encode() in next(part.value for part in response.message.parts if isinstance(part, NativePart))


@pytest.mark.parametrize("args", ["null", '""', "{}"])
def test_a_call_without_arguments_has_none(args: str) -> None:
    (call,) = decoded(answer(called("a", "c", args))).tool_calls

    assert (call.arguments, call.arguments_invalid) == ({}, False)


@trap(22)
@pytest.mark.parametrize("args", ["[1]", '"{\\"path\\": \\"a"', "7"])
def test_arguments_that_are_no_object_are_kept_and_marked(args: str) -> None:
    (call,) = decoded(answer(called("a", "c", args))).tool_calls

    assert (call.arguments, call.arguments_invalid) == (json.loads(args), True)


@trap(22)
def test_a_cut_off_answer_says_length_so_that_none_of_its_calls_is_run() -> None:
    response = decoded(answer(called("workspace_read_file", "c1"), "MAX_TOKENS"))

    assert (response.finish, len(response.tool_calls)) == (Finish.LENGTH, 1)


@pytest.mark.parametrize("content", ["", '"content":{"role":"model"},', '"content":null,'])
def test_an_answer_that_was_all_thought_says_length(content: str) -> None:
    response = decoded(f'{{"candidates":[{{{content}"finishReason":"MAX_TOKENS"}}]}}')

    assert (response.finish, response.text, response.tool_calls) == (Finish.LENGTH, "", ())


@trap(7)
@pytest.mark.parametrize(
    "part", [called("a"), called("a", ""), called("a", "  "), '{"functionCall":{"name":"a","id":7}}']
)
def test_a_call_without_an_id_is_fatal_and_gets_none_from_us(part: str) -> None:
    failure = refusal(answer(part))

    assert (failure.error_code, failure.retryable) == ("model.invalid_tool_call", False)
    assert "tool_call_0" not in str(failure)


@pytest.mark.parametrize(
    "parts",
    [
        called(" ", "c"),
        '{"functionCall":{"id":"c"}}',
        '{"functionCall":[]}',
        '{"functionCall":"x"}',
        f"{called('a', 'c')},{called('b', 'c')}",
    ],
)
def test_a_call_that_can_not_be_answered_is_fatal(parts: str) -> None:
    assert refusal(answer(parts)).error_code == "model.invalid_tool_call"


SWITCHED = replace(HERE, switches=Switches(positional_tool_call_ids=True))


@trap(7)
def test_a_connection_may_ask_for_ids_by_place_which_never_go_out() -> None:
    response = decoded(answer(f"{called('a')},{called('b')}"), SWITCHED)
    held = contents([GO, response.message, *results(response.tool_calls)], SWITCHED)

    assert [call.id[:11] + call.id[-2:] for call in response.tool_calls] == ["positional--1", "positional--2"]
    assert [part["functionResponse"]["name"] for part in held[-1]["parts"]] == ["a", "b"]
    assert "positional" not in json.dumps(held)
    assert '"id"' not in json.dumps(held)


@trap(7)
def test_ids_by_place_are_others_in_another_answer() -> None:
    one, same = (decoded(answer(called("a")), SWITCHED) for _ in range(2))
    other = decoded(answer(called("b")), SWITCHED)

    assert one.tool_calls[0].id == same.tool_calls[0].id
    assert one.tool_calls[0].id != other.tool_calls[0].id


@trap(7)
def test_where_ids_go_by_place_the_models_own_stand() -> None:
    response = decoded(answer(f"{called('a', 'x')},{called('b')}"), SWITCHED)
    held = contents([GO, response.message, *results(response.tool_calls)], SWITCHED)

    assert response.tool_calls[0].id == "x"
    assert response.tool_calls[1].id.startswith("positional-")
    assert [part["functionResponse"].get("id") for part in held[-1]["parts"]] == ["x", None]


@trap(8)
@pytest.mark.parametrize("content", ["", f',"content":{{"role":"model","parts":[{called("a", "c")}]}}'])
@pytest.mark.parametrize("word", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])
def test_a_call_that_the_model_bungled_is_no_answer_whatever_parsed(word: str, content: str) -> None:
    said_why = f'"finishMessage":"{KEY} {"x" * 900}"'
    failure = refusal(f'{{"candidates":[{{"finishReason":"{word}",{said_why}{content}}}]}}')

    assert (failure.error_code, failure.retryable) == ("model.upstream_invalid_response", True)
    assert failure.details["finishReason"] == word
    assert len(str(failure.details["finishMessage"])) == 200
    assert KEY not in str(failure.details)


@trap(9)
@pytest.mark.parametrize("candidates", ["", '"candidates":[],', '"candidates":null,'])
def test_a_blocked_prompt_is_an_error_that_says_why(candidates: str) -> None:
    failure = refusal(f'{{{candidates}"promptFeedback":{{"blockReason":"PROHIBITED_CONTENT"}}}}')

    assert (failure.error_code, failure.retryable) == ("model.request_failed", False)
    assert failure.details == {"kind": "content_filter", "reason": "PROHIBITED_CONTENT", "userRetryable": True}


@trap(9)
@pytest.mark.parametrize("word", ["SAFETY", "RECITATION", "SPII", "IMAGE_SAFETY", "LANGUAGE"])
def test_a_filtered_answer_is_an_error_and_its_calls_are_not_run(word: str) -> None:
    failure = refusal(answer(called("workspace_read_file", "c"), word))

    assert (failure.error_code, failure.retryable) == ("model.request_failed", False)
    assert (failure.details["kind"], failure.details["reason"]) == ("content_filter", word)


@pytest.mark.parametrize("word", ["TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE"])
def test_an_answer_that_the_server_stopped_is_final(word: str) -> None:
    failure = refusal(answer('{"text":"x"}', word))

    assert (failure.error_code, failure.retryable) == ("model.request_failed", False)


@pytest.mark.parametrize("word", ["OTHER", "NO_IMAGE", "NEWLY_MADE_UP", None])
def test_a_finish_that_says_nothing_is_taken_where_there_is_an_answer(word: str | None) -> None:
    assert decoded(answer('{"text":"x"}', word)).finish is Finish.OTHER
    assert decoded(answer(called("a", "c"), word)).finish is Finish.TOOL_CALLS
    assert refusal(answer('{"text":" "}', word)).error_code == "model.upstream_invalid_response"


@pytest.mark.parametrize("parts", ["", '{"text":""}', '{"text":"","thoughtSignature":"s"}'])
def test_an_empty_stop_is_a_legal_answer_without_words(parts: str) -> None:
    response = decoded(answer(parts))

    assert (response.finish, response.text) == (Finish.STOP, "")
    assert [type(part) for part in response.message.parts] == [NativePart]


@trap(8)
@pytest.mark.parametrize(
    "reply",
    [
        "{}", '{"candidates":[]}', '{"candidates":{"a":1}}', '{"candidates":[null]}', '{"candidates":"x"}',
        '{"candidates":[{}]}', '{"candidates":[{"finishReason":"STOP"}]}', '{"candidates":[{"content":[]}]}',
        '{"candidates":[{"content":{"parts":{}}}]}', '{"candidates":[{"content":{"parts":[null]}}]}',
        '{"candidates":[{"content":{"parts":[{"text":7}]}}]}', '{"promptFeedback":{}}', '{"promptFeedback":[]}',
        '{"promptFeedback":{"blockReason":7}}',
    ],
)  # fmt: skip
def test_json_that_is_no_answer_is_malformed_and_final(reply: str) -> None:
    failure = refusal(reply)

    assert (failure.error_code, failure.retryable) == ("model.upstream_invalid_response", False)


@pytest.mark.parametrize(
    "data", [b"", b" \n", b"<html>", b'{"candidates":[', b'{"a":NaN}', b"[1]", b"data: {}", b"\xff"]
)
def test_what_is_no_json_object_is_unreadable(data: bytes) -> None:
    with pytest.raises(Unreadable):
        gemini.read(data)


@trap(61)
def test_a_half_character_in_the_text_is_kept() -> None:
    assert decoded(answer('{"text":"a \\ud83d"}')).text == "a \ud83d"


@trap(48)
def test_calls_come_with_the_native_content_or_not_at_all() -> None:
    response = decoded(answer(called("workspace_read_file", "c")))
    lost = replace(response, message=replace(response.message, parts=response.message.parts[1:]))

    check_arrival(response, gemini.NATIVE)
    with pytest.raises(NativeMetadataLost):
        check_arrival(lost, gemini.NATIVE)
    assert gemini.COUNTED


@trap(52)
@pytest.mark.parametrize("spelled", ['{"error":{"code":503}}', '[{"error":{"code":503}}]'])
def test_an_error_in_place_of_an_answer_is_found(spelled: str) -> None:
    assert gemini.error_in(read(spelled.encode())) == {"error": {"code": 503}}


def test_an_answer_is_no_error() -> None:
    assert gemini.error_in(read(answer('{"text":"x"}').encode())) is None
    assert gemini.error_in(read(b'{"error":null,"candidates":[]}')) is None
    assert gemini.mended(b"{}", "no") is None


def test_a_missing_response_id_stays_missing() -> None:
    assert decoded('{"candidates":[{"finishReason":"STOP","content":{"parts":[{"text":"x"}]}}]}').id is None


def test_ten_thousand_calls_are_decoded() -> None:
    response = decoded(answer(",".join(called("workspace_read_file", f"\\ud83d{n}") for n in range(10_000))))

    assert len(response.tool_calls) == 10_000


def test_tools_are_declared_by_alias_and_without_arguments_have_no_parameters() -> None:
    value = body([GO], tools=TOOLS)
    (held,) = value["tools"]

    assert held["functionDeclarations"] == [
        {
            "name": "workspace_read_file",
            "description": READ.description,
            "parameters": tool_parameters(READ, GEMINI),
        },
        {"name": "workspace_list_files", "description": LIST.description},
    ]
    assert value["toolConfig"] == {"functionCallingConfig": {"mode": "AUTO"}}
    assert not {"tools", "toolConfig"} & set(body([GO], tool_choice="required"))


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        (
            {"type": "function", "function": {"name": "workspace.read_file"}},
            {"mode": "ANY", "allowedFunctionNames": ["workspace_read_file"]},
        ),
    ],
)
def test_a_tool_choice_in_geminis_words(choice: Json, config: Json) -> None:
    assert body([GO], tools=TOOLS, tool_choice=choice)["toolConfig"] == {"functionCallingConfig": config}


def test_two_tools_under_one_name_are_refused() -> None:
    twin = ToolSpec("workspace_read.file", "", "", {"type": "object"})

    with pytest.raises(ModelFailed) as refused:
        body([GO], tools=[READ, twin])
    assert refused.value.error_code == "model.request_build_failed"


def test_the_users_own_body_keys_are_put_in_and_taken_out() -> None:
    at = replace(HERE, body_include=(("labels", {"a": 1}),), body_exclude=("safetySettings", "generationConfig"))

    assert body([GO], at) == {"labels": {"a": 1}, "contents": [{"role": "user", "parts": [{"text": "Go."}]}]}
    bare = replace(at, body_include=())
    assert list(body([GO], bare)) == ["contents"]


def test_old_turns_are_joined_and_never_encoded_again() -> None:
    response: ModelResponse = decoded(answer(f'{{"text":"{"x" * 20_000}"}},{called("workspace_read_file", "c")}'))
    turn = [response.message, *results(response.tool_calls)]
    held = [gemini.encode_message(message, HERE) for message in [GO, *turn * 200]]
    pieces = gemini.encode(Outgoing(HERE, {}, held))

    assert sum(piece is held[1].items[0] for piece in pieces) == 200
    assert len(json.loads(b"".join(pieces))["contents"]) == 401


def test_an_empty_turn_is_encoded_as_nothing() -> None:
    assert gemini.encode_message(Message(Role.ASSISTANT, ()), vertex()).items == ()
    assert studio().origin != vertex().origin
