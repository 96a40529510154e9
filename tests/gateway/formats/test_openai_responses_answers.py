"""Responses: output items to canonical words, and what is no answer."""

from __future__ import annotations

import pytest

from treadle.gateway import custody
from treadle.gateway.formats import openai_responses as responses
from treadle.graph.errors import NativeMetadataLost
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
)

from ..responses_side import asked, completed, response, said
from ..traps import trap
from .responses_words import HERE, decoded, parts, refused


def test_an_answer_is_decoded_in_the_order_text_reasoning_native_calls() -> None:
    reasoning = '{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Need it."},{"type":"summary_text","text":"Now."}],"encrypted_content":"CIPHER"}'
    answer = decoded(response("r1", reasoning, said("Look."), asked("c1"), usage={"input_tokens": 9}))

    (call,) = answer.tool_calls
    assert parts(answer) == [TextPart, ReasoningPart, NativePart, ToolCallPart]
    assert (answer.text, answer.finish, answer.finish_reason) == ("Look.", Finish.TOOL_CALLS, "completed")
    assert answer.reasoning == (ReasoningPart("Need it.\n\nNow.", "reasoning_summary"),)
    assert (call.name, call.model_name, call.arguments) == ("workspace.list_files", "workspace_list_files", {})
    assert call.raw.decode() == asked("c1")
    assert (answer.id, answer.model, answer.usage) == ("r1", "m", {"input_tokens": 9})
    assert (answer.source, answer.format) == ("custom", "openai_responses")


def test_plain_reasoning_text_is_read_too() -> None:
    item = '{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]}'

    assert decoded(response("r1", item)).reasoning == (ReasoningPart("Hm.", "reasoning_text"),)


def test_the_native_part_is_the_slice_of_the_output() -> None:
    answer = decoded('{"id":"r1", "output" : [ {"type": "message", "content": "Hi."} ], "status":"completed"}')

    (native,) = [part for part in answer.message.parts if isinstance(part, NativePart)]
    assert native == NativePart("openai_responses", b'[ {"type": "message", "content": "Hi."} ]', HERE.origin)
    assert answer.text == "Hi."


@trap(33)
@pytest.mark.parametrize("call_id", ["", '"call_id":null,', '"call_id":"  ",', '"call_id":7,'])
def test_a_call_without_a_call_id_is_refused_though_its_item_has_an_id(call_id: str) -> None:
    failure = refused(response("r1", f'{{"id":"fc_1","type":"function_call",{call_id}"name":"x","arguments":"{{}}"}}'))

    assert (failure.error_code, failure.retryable) == ("model.invalid_tool_call", False)
    assert "call_id" in failure.message


@trap(46, 22)
def test_calls_of_an_answer_that_was_cut_off_come_with_the_word_that_lets_none_run() -> None:
    answer = decoded(
        response("r1", asked("c1"), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    )

    assert (answer.finish, answer.finish_reason) == (Finish.LENGTH, "max_output_tokens")
    assert len(answer.tool_calls) == 1


def test_an_answer_cut_off_without_calls_is_an_answer() -> None:
    details = {"reason": "max_output_tokens"}
    event = completed("r1", said("Half"), status="incomplete", incomplete_details=details)
    answer = decoded(event.replace("response.completed", "response.incomplete"))

    assert (answer.finish, answer.text) == (Finish.LENGTH, "Half")


@pytest.mark.parametrize(
    ("more", "code", "retryable"),
    [
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "model.request_failed", False),
        ({"status": "cancelled"}, "model.request_failed", True),
        ({"status": "queued"}, "model.upstream_invalid_response", False),
        ({"status": "in_progress"}, "model.upstream_invalid_response", False),
    ],
)
def test_a_response_that_is_no_answer(more: dict[str, Json], code: str, retryable: bool) -> None:
    failure = refused(response("r1", said("x"), **more))

    assert (failure.error_code, failure.retryable) == (code, retryable)


def test_a_refusal_is_text_and_so_named() -> None:
    answer = decoded(response("r1", '{"type":"message","content":[{"type":"refusal","refusal":"I can\'t."}]}'))

    assert (answer.text, answer.finish) == ("I can't.", Finish.REFUSAL)


def test_the_texts_of_several_messages_are_joined_as_given() -> None:
    assert decoded(response("r1", said("a "), said(" b"))).text == "a  b"


def test_the_convenience_text_counts_only_where_there_is_no_message() -> None:
    assert decoded(response("r1", output_text="Hi.")).text == "Hi."
    assert decoded(response("r1", said("Ho."), output_text="Hi.")).text == "Ho."


@pytest.mark.parametrize("kind", ["custom_tool_call", "computer_call", "local_shell_call", "mcp_approval_request"])
def test_a_call_that_no_tool_can_answer_is_refused(kind: str) -> None:
    failure = refused(response("r1", f'{{"type":"{kind}","call_id":"c1","name":"x","input":"y"}}'))

    assert failure.error_code == "model.unsupported_tool_call"


@trap(48)
def test_an_answer_with_calls_whose_native_part_is_gone_is_lost() -> None:
    answer = decoded(response("r1", asked("c1")))
    custody.check_arrival(answer, responses.NATIVE)
    bare = tuple(part for part in answer.message.parts if not isinstance(part, NativePart))

    assert responses.COUNTED
    with pytest.raises(NativeMetadataLost):
        custody.check_arrival(ModelResponse(Message(Role.ASSISTANT, bare)), responses.NATIVE)


@trap(62)
def test_an_id_that_is_absent_stays_absent() -> None:
    assert decoded('{"status":"completed","output":[' + said("Hi.") + "]}").id is None
    assert decoded(response(" ", said("Hi."))).id is None


@pytest.mark.parametrize(
    "text",
    [
        '{"id":"r1","status":"completed"}',
        '{"id":"r1","status":"completed","output":null}',
        '{"id":"r1","status":"completed","output":{}}',
        '{"id":"r1","status":"completed","output":[7]}',
        '{"id":"r1","status":"completed","output":[]}',
        '{"id":"r1","status":"completed","output":[{"type":"message","content":{}}]}',
        '{"choices":[]}',
    ],
)
def test_well_formed_json_that_is_no_response_is_not_worth_a_retry(text: str) -> None:
    failure = refused(text)

    assert (failure.error_code, failure.retryable) == ("model.upstream_invalid_response", False)


def test_two_calls_under_one_id_are_refused() -> None:
    assert refused(response("r1", asked("c1"), asked("c1"))).error_code == "model.invalid_tool_call"


@pytest.mark.parametrize("name", ["null", '""', "7"])
def test_a_call_without_a_name_is_refused(name: str) -> None:
    call = f'{{"type":"function_call","call_id":"c1","name":{name},"arguments":"{{}}"}}'

    assert refused(response("r1", call)).error_code == "model.invalid_tool_call"
