"""Claude's Messages: answers become canonical words, and go back as they came."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.gateway import custody
from treadle.gateway.formats import claude_messages as claude
from treadle.gateway.wire import Unreadable
from treadle.graph.errors import ModelFailed, NativeMetadataLost
from treadle.graph.messages import (
    Finish,
    Message,
    ModelResponse,
    NativePart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
)

from ..claude_words import (
    HERE,
    OFFICIAL,
    REDACTED,
    SAID,
    THINKING,
    answer,
    content,
    decoded,
    fragments,
    native,
    result,
    use,
    user,
    written,
)
from ..traps import trap
from ..words import json_texts


def code_of(data: bytes) -> str:
    with pytest.raises(ModelFailed) as failed:
        decoded(data)
    assert not failed.value.retryable
    return failed.value.error_code


def test_an_answer_is_decoded_in_the_order_text_reasoning_native_calls() -> None:
    blocks = content(THINKING, REDACTED, SAID, use("toolu_1"))
    response = decoded(answer(blocks, '"tool_use"'))

    (call,) = response.tool_calls
    assert [type(part) for part in response.message.parts] == [TextPart, ReasoningPart, NativePart, ToolCallPart]
    assert (response.text, response.reasoning) == ("Reading.", (ReasoningPart("Read both.", "thinking"),))
    assert (response.finish, response.finish_reason) == (Finish.TOOL_CALLS, "tool_use")
    assert (call.id, call.name, call.model_name) == ("toolu_1", "workspace.read_file", "workspace_read_file")
    assert (call.arguments, call.arguments_invalid) == ({"path": "a.md"}, False)
    assert call.raw == use("toolu_1").encode()
    assert (response.id, response.model, response.source) == ("msg_1", "claude-x", "custom")
    assert response.usage == {"input_tokens": 5, "output_tokens": 7}


@given(extra=st.lists(json_texts(), max_size=3))
@trap(61)
def test_whatever_blocks_a_server_sends_survive_the_way_back_byte_for_byte(extra: list[str]) -> None:
    blocks = "[ " + ",\n".join(f'{{"zz" : {value}, "type":"new" }}' for value in [*extra, "1.10"]) + " ]"
    message = decoded(answer(blocks)).message

    assert claude.encode_message(message, HERE).items == (blocks.encode(),)
    assert b'{"role":"assistant","content":' + blocks.encode() + b"}" in written([user("x"), message, user("y")])


@trap(61)
def test_large_integers_and_half_characters_in_a_call_go_back_as_they_came() -> None:
    odd = '{"n":18446744073709551616, "x":1.10,"s":"half \\ud83d here", "n2":1e2}'
    blocks = content('{"type":"thinking","thinking":"half \\ud83d","signature":"s"}', use("t", odd))
    response = decoded(answer(blocks, '"tool_use"'))

    assert response.tool_calls[0].arguments["n"] == 18446744073709551616
    assert blocks.encode() in written([user("x"), response.message, result("t")])


@trap(10)
def test_a_turn_with_every_kind_of_block_comes_back_verbatim_and_by_itself() -> None:
    blocks = content(THINKING, REDACTED, SAID, use("t"))
    messages = [user("go"), native(blocks, "t"), result("t"), native(content(SAID)), native(content(SAID)), user("on")]
    sent = json.loads(written(messages))["messages"]

    assert sent[1] == {"role": "assistant", "content": json.loads(blocks)}
    assert blocks.encode() in written(messages)
    assert [turn["role"] for turn in sent] == ["user", "assistant", "user", "assistant", "assistant", "user"]


@trap(11)
def test_a_thought_without_text_is_not_shown_but_goes_back() -> None:
    silent = '{"type":"thinking","thinking":"","signature":"s"}'
    response = decoded(answer(content(silent, use("t")), '"tool_use"'))

    assert response.reasoning == ()
    assert not any(isinstance(part, ReasoningPart) for part in response.message.parts)
    assert silent.encode() in written([user("x"), response.message, result("t")])


def test_an_answer_without_any_block_is_an_answer_and_is_not_sent_again() -> None:
    response = decoded(answer("[]"))

    assert (response.text, response.finish) == ("", Finish.STOP)
    sent = json.loads(written([user("x"), response.message, user("y")]))["messages"]
    assert [turn["role"] for turn in sent] == ["user"]


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ('"end_turn"', Finish.STOP),
        ('"stop_sequence"', Finish.STOP),
        ("null", Finish.STOP),
        ('"max_tokens"', Finish.LENGTH),
        ('"model_context_window_exceeded"', Finish.LENGTH),
        ('"pause_turn"', Finish.PAUSE),
        ('"something_new"', Finish.OTHER),
    ],
)
def test_the_finish_of_an_answer_without_calls(word: str, finish: Finish) -> None:
    assert decoded(answer(content(SAID), word)).finish is finish


@pytest.mark.parametrize("word", ['"end_turn"', '"tool_use"', '"pause_turn"', '"something_new"', "null"])
def test_calls_are_honoured_whatever_the_finish_says(word: str) -> None:
    assert decoded(answer(content(use("t")), word)).finish is Finish.TOOL_CALLS


@trap(22)
@pytest.mark.parametrize("word", ['"max_tokens"', '"model_context_window_exceeded"'])
def test_calls_of_an_answer_that_was_cut_off_are_told_from_whole_ones(word: str) -> None:
    response = decoded(answer(content(use("t", '{"path":"a"}')), word))

    assert response.finish is Finish.LENGTH  # no call of such an answer is run
    assert [call.id for call in response.tool_calls] == ["t"]


@trap(22)
@pytest.mark.parametrize("given", ['"{\\"path\\": \\"a"', "[1]", "7"])
def test_arguments_that_are_no_object_are_kept_and_marked(given: str) -> None:
    (call,) = decoded(answer(content(use("t", given)), '"tool_use"')).tool_calls

    assert call.arguments_invalid
    assert call.arguments == json.loads(given)


@pytest.mark.parametrize("given", ["null", '""', '"{}"', "{}"])
def test_arguments_that_say_nothing_are_an_empty_object(given: str) -> None:
    (call,) = decoded(answer(content(use("t", given)), '"tool_use"')).tool_calls

    assert (call.arguments, call.arguments_invalid) == ({}, False)


def test_what_the_provider_runs_itself_is_no_call_for_us() -> None:
    served = '{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}'
    found = '{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[]}'
    response = decoded(answer(content(served, found, '{"type":"mcp_tool_use","id":"m"}', SAID)))

    assert response.tool_calls == ()
    assert response.text == "Reading."


def test_a_refusal_is_a_failure_that_says_why_and_is_not_repeated() -> None:
    details = ',"stop_details":{"category":"cyber","explanation":"No.","other":1}'

    with pytest.raises(ModelFailed) as failed:
        decoded(answer("[]", '"refusal"', details))
    assert (failed.value.error_code, failed.value.retryable) == ("model.request_failed", False)
    assert failed.value.details["kind"] == "content_filter"
    assert failed.value.details["stopDetails"] == {"category": "cyber", "explanation": "No."}


@pytest.mark.parametrize(
    "block",
    [
        use(""),
        use("  "),
        '{"type":"tool_use","name":"x","input":{}}',
        '{"type":"tool_use","id":7,"name":"x","input":{}}',
        '{"type":"tool_use","id":"t","input":{}}',
        use("t", name=" "),
        content(use("t"), use("t"))[1:-1],
    ],
)
def test_a_call_without_an_id_or_name_of_its_own_is_refused(block: str) -> None:
    assert code_of(answer(content(block), '"tool_use"')) == "model.invalid_tool_call"


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b'{"content":null}',
        b'{"content":"text"}',
        b'{"content":["text"]}',
        b'{"choices":[{"message":{"content":"x"}}]}',
        answer(content(SAID), '"tool_use"'),
    ],
)
def test_json_that_is_no_answer_says_so(data: bytes) -> None:
    assert code_of(data) == "model.upstream_invalid_response"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" \n",
        b"<!DOCTYPE html><html></html>",
        b'{"content":[{"type":"te',
        b'{"content":[{"type":"text","text":NaN}]}',
        b'{"content":' + b"[" * 20000,
        b"[]",
        b"\xff\xfe",
        b'{"content":[]} {"content"',
        b'{"content":[]}\n7',
    ],
)
def test_what_is_no_json_object_can_not_be_read(data: bytes) -> None:
    with pytest.raises(Unreadable):
        claude.read(data)


def test_an_error_in_place_of_an_answer_is_found() -> None:
    error = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"r"}'

    assert claude.error_in(claude.read(error))["error"]["type"] == "overloaded_error"
    assert claude.error_in(claude.read(b'{"error":"no"}')) == {"error": "no"}
    assert claude.error_in(claude.read(b'{"error":"no","content":null}')) is not None
    assert claude.error_in(claude.read(answer("[]", more=',"error":null'))) is None


@trap(48)
def test_a_call_whose_native_part_is_missing_is_lost() -> None:
    response = decoded(answer(content(use("t")), '"tool_use"'))
    custody.check_arrival(response, claude.NATIVE)
    (call,) = response.tool_calls
    bare = ModelResponse(Message(Role.ASSISTANT, (ToolCallPart(call),)))

    assert claude.COUNTED
    with pytest.raises(NativeMetadataLost):
        custody.check_arrival(bare, claude.NATIVE)


@trap(48)
@pytest.mark.parametrize("signature", ['"signature":""', '"signature":null', '"other":1'])
def test_claudes_own_servers_sign_what_leads_to_a_call_and_others_need_not(signature: str) -> None:
    unsigned = f'{{"type":"thinking","thinking":"hm",{signature}}}'
    called = answer(content(unsigned, use("t")), '"tool_use"')

    with pytest.raises(NativeMetadataLost):
        decoded(called, OFFICIAL)
    assert decoded(called).tool_calls
    assert decoded(answer(content(unsigned, SAID)), OFFICIAL).text


def test_a_block_that_is_no_array_is_refused_and_two_blocks_too() -> None:
    part = NativePart("claude", b'{"content":[]}', HERE.origin)

    with pytest.raises(ValueError, match="array"):
        fragments([Message(Role.ASSISTANT, (part,))])
    with pytest.raises(ModelFailed) as failed:
        fragments([Message(Role.ASSISTANT, (part, part))])
    assert failed.value.error_code == "agent.invalid_model_message"


def test_ten_thousand_parallel_calls_are_taken() -> None:
    ids = [f"toolu_{number}" for number in range(10_000)]
    blocks = content(*map(use, ids))
    response = decoded(answer(blocks, '"tool_use"'))
    sent = written([user("x"), response.message, *map(result, ids)])

    assert len(response.tool_calls) == 10_000
    assert blocks.encode() in sent
    assert sent.count(b'"tool_result"') == 10_000
