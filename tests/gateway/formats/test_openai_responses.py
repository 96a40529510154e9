"""Responses: canonical words to input items, and what came before sent back as it came."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from treadle.gateway.calls import CONTENT_PART
from treadle.gateway.formats import openai_responses as responses
from treadle.graph.errors import InvalidInput, ModelFailed, NativeMetadataLost
from treadle.graph.identity import CallId
from treadle.graph.jsontext import Json
from treadle.graph.messages import (
    MediaPart,
    Message,
    NativePart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCall,
    ToolCallPart,
    ToolResult,
    ToolResultPart,
)

from ..responses_side import REASONING, asked, at, completed, response, said
from ..traps import trap
from ..words import json_texts
from .responses_words import HERE, SYSTEM, USER, body, decoded, raw_body, result, sent


@trap(61)
@given(extra=json_texts())
def test_whatever_a_server_sends_survives_the_way_back_byte_for_byte(extra: str) -> None:
    items = f'{{ "type":"zz" , "id":{extra},"a b":[{extra}] }} , {{"type":"reasoning","encrypted_content":"x","n": {extra}}}'
    answer = decoded(f'{{"id":"r","status":"completed","output":[ {items}\n],"model":"m"}}')

    assert items.encode() in raw_body([USER, answer.message])


@trap(61)
def test_odd_numbers_and_half_characters_come_back_as_they_were_also_from_events() -> None:
    item = '{"type":"message","phase":"commentary","n":18446744073709551616,"f":1.10,"content":[{"type":"output_text","text":"\\ud83d"}]}'
    answer = decoded(completed("r1", item) + "\n")

    assert answer.text == "\ud83d"
    assert item.encode() in raw_body([USER, answer.message])


@trap(32)
def test_a_call_is_known_by_its_call_id_and_goes_back_with_both_ids() -> None:
    answer = decoded(response("r1", asked("call_a")))
    sent_items = body([USER, answer.message, result("call_a")])["input"]

    assert [call.id for call in answer.tool_calls] == ["call_a"]
    assert (sent_items[1]["id"], sent_items[1]["call_id"]) == ("fc_call_a", "call_a")
    assert sent_items[2]["type"] == "function_call_output"
    assert sent_items[2]["call_id"] == "call_a"
    assert "id" not in sent_items[2] and "name" not in sent_items[2]


@trap(33)
def test_a_call_without_a_call_id_is_not_sent_back_either() -> None:
    native = NativePart("openai_responses", b'[{"id":"fc_1","type":"function_call","name":"x","arguments":"{}"}]')

    with pytest.raises(ModelFailed, match="invalid_tool_call"):
        responses.encode_message(Message(Role.ASSISTANT, (native,)), HERE)


@trap(34, 35)
def test_a_whole_transcript_holds_every_item_next_to_its_neighbours_as_it_came() -> None:
    comment = '{"type":"message","id":"msg_1","phase":"commentary","content":[{"type":"output_text","text":"Look.","annotations":[]}]}'
    output = ", ".join([REASONING, comment, asked("c1")])
    answer = decoded(response("r1", output))

    assert output.encode() in raw_body([SYSTEM, USER, answer.message, result("c1")])


@trap(34)
@pytest.mark.parametrize("held", ['"encrypted_content":null', '"encrypted_content":""', '"status":"completed"'])
def test_calls_that_hang_on_reasoning_without_content_can_not_be_replayed(held: str) -> None:
    reasoning = f'{{"type":"reasoning","id":"rs_1","summary":[],{held}}}'
    answer = decoded(response("r1", reasoning, asked("c1")))
    talk = [USER, answer.message, result("c1")]

    with pytest.raises(NativeMetadataLost, match="store"):
        body(talk)
    assert body(talk, store=True)["input"][1]["id"] == "rs_1"
    assert body(talk, previous="r1", cursor=1)["input"] == body([result("c1")])["input"]
    assert reasoning.encode() in raw_body([*talk, Message(Role.ASSISTANT, (TextPart("So."),)), USER])


def test_reasoning_that_holds_its_text_can_be_replayed() -> None:
    item = '{"type":"reasoning","id":"rs_1","content":[{"type":"reasoning_text","text":"Hm."}]}'
    answer = decoded(response("r1", item, asked("c1")))

    assert item.encode() in raw_body([USER, answer.message, result("c1")])


@trap(36)
@pytest.mark.parametrize(
    ("given_include", "wanted"),
    [
        (None, ["reasoning.encrypted_content"]),
        (["x"], ["x", "reasoning.encrypted_content"]),
        (["reasoning.encrypted_content", "x"], ["reasoning.encrypted_content", "x"]),
        ([], ["reasoning.encrypted_content"]),
    ],
)
def test_encrypted_reasoning_is_always_asked_for_and_once(given_include: Json, wanted: list[str]) -> None:
    assert body([USER], include=given_include)["include"] == wanted


@trap(36)
@pytest.mark.parametrize("bad", ["str", {"a": 1}, [1], ["x", None]])
def test_an_include_that_is_no_list_of_strings_is_refused(bad: Json) -> None:
    with pytest.raises(InvalidInput, match="include must be a list of strings"):
        body([USER], include=bad)


@trap(38)
def test_after_a_turn_without_calls_only_the_reminder_goes_out() -> None:
    answer = decoded(response("r1", said("Well.")))
    reminder = Message(Role.USER, (TextPart("Use a tool."),))
    written = body([SYSTEM, USER, answer.message, reminder], previous="r1", cursor=2)

    assert written["previous_response_id"] == "r1"
    assert written["input"] == [{"type": "message", "role": "user", "content": "Use a tool."}]
    assert [tool["name"] for tool in written["tools"]] == ["workspace_read_file", "workspace_list_files"]


@trap(39)
def test_two_results_and_a_note_between_them_go_out_in_one_input() -> None:
    answer = decoded(response("r1", asked("c1"), asked("c2")))
    talk = [USER, answer.message, result("c1"), SYSTEM, result("c2")]
    written = body(talk, previous="r1", cursor=1)["input"]

    assert [item.get("call_id", item.get("role")) for item in written] == ["c1", "developer", "c2"]


def test_more_than_one_answer_since_the_cursor_means_the_whole_transcript() -> None:
    one, two = decoded(response("r1", said("a"))), decoded(response("r2", said("b")))
    written = body([USER, one.message, USER, two.message, USER], previous="r2", cursor=1)

    assert "previous_response_id" not in written
    assert len(written["input"]) == 5


def test_nothing_new_is_nothing_to_send() -> None:
    with pytest.raises(ModelFailed, match="nothing to send") as failed:
        body([USER], previous="r1", cursor=1)

    assert failed.value.error_code == "model.request_build_failed"


@trap(31)
def test_an_answer_of_another_provider_goes_out_in_canonical_words_under_aliases() -> None:
    call = ToolCall(CallId("c 1"), "workspace.read_file", {"path": "é\ud83d"}, "workspace_read_file")
    odd = ToolCall(CallId("c2"), "my tool", '{"path": "a', "my tool", arguments_invalid=True)
    foreign = NativePart("claude", b'[{"type":"thinking","signature":"s"}]')
    message = Message(Role.ASSISTANT, (TextPart("Look."), foreign, ToolCallPart(call), ToolCallPart(odd)))

    text, first, second = sent(message)
    assert text == {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Look."}],
    }
    assert first == {
        "type": "function_call",
        "call_id": "c 1",
        "name": "workspace_read_file",
        "arguments": first["arguments"],
    }
    assert json.loads(first["arguments"]) == {"path": "é\ud83d"}
    assert second["name"] == "my_tool"
    assert json.loads(second["arguments"]) == {"_invalid_arguments": '{"path": "a'}


def test_an_answer_of_another_model_of_this_provider_is_not_sent_as_it_came() -> None:
    answer = decoded(response("r1", REASONING, asked("c1")), at(model="other"))

    assert [item["type"] for item in sent(answer.message)] == ["function_call"]


def test_a_result_is_an_envelope_of_five_keys() -> None:
    failed = ToolResult(CallId("c1"), "x", "no", {"a": 1}, is_error=True, error_code="e", resource_refs=("r",))
    (item,) = sent(Message(Role.TOOL, (ToolResultPart(failed),)))

    assert item["output"] == '{"ok":false,"content":"no","structured":{"a":1},"errorCode":"e","resourceRefs":["r"]}'


@trap(22)
@pytest.mark.parametrize("arguments", ['{"path": "a', "[1]", "7"])
def test_argument_text_that_is_no_object_is_kept_but_travels_inside_one(arguments: str) -> None:
    answer = decoded(response("r1", REASONING, asked("c1", arguments=arguments)))
    (call,) = answer.tool_calls
    written = raw_body([USER, answer.message, result("c1")])
    item = json.loads(written)["input"][2]

    assert (call.arguments, call.arguments_invalid) == (arguments, True)
    assert json.loads(item["arguments"]) == {"_invalid_arguments": arguments}
    assert item["id"] == "fc_c1"
    assert REASONING.encode() in written


@pytest.mark.parametrize("arguments", ["null", '""', '" "', '"null"'])
def test_no_arguments_are_an_empty_object(arguments: str) -> None:
    answer = decoded(response("r1", f'{{"type":"function_call","call_id":"c1","name":"x","arguments":{arguments}}}'))

    assert [call.arguments for call in answer.tool_calls] == [{}]
    assert sent(answer.message)[0]["arguments"] == "{}"


def test_items_that_need_no_answer_stay_with_the_native_part() -> None:
    search = '{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}}'
    answer = decoded(response("r1", search, said("Found.")))

    assert answer.tool_calls == ()
    assert search.encode() in raw_body([answer.message])


def test_ten_thousand_calls_are_read_and_sent_back() -> None:
    answer = decoded(response("r1", *(asked(f"c{number}") for number in range(10_000))))

    assert len(answer.tool_calls) == 10_000
    assert len(sent(answer.message)) == 10_000


@pytest.mark.parametrize(
    ("role", "wire"), [(Role.SYSTEM, "developer"), (Role.DEVELOPER, "developer"), (Role.USER, "user")]
)
def test_system_text_travels_as_a_developer_s(role: Role, wire: str) -> None:
    assert sent(Message(role, (TextPart("a"), TextPart("b")), name="Lin")) == [
        {"type": "message", "role": wire, "content": "ab"}
    ]


def test_images_and_files_become_input_parts() -> None:
    image: Json = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}}
    file: Json = {"type": "file", "file": {"file_data": "data:,x", "filename": "a.pdf"}}
    own = b'{"type":"input_image", "image_url":"https://x/y"}'
    held = (TextPart("See"), MediaPart("image/png", image), MediaPart("x", file), NativePart(CONTENT_PART, own))
    (item,) = sent(Message(Role.USER, held))

    assert item["content"] == [
        {"type": "input_text", "text": "See"},
        {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:,x"},
        json.loads(own),
    ]


@pytest.mark.parametrize(
    "value",
    [
        {"type": "input_audio", "input_audio": {"data": "", "format": "mp3"}},
        {"type": "video_url", "video_url": {"url": "https://x"}},
        {"type": "image_url"},
        {"type": "image_url", "image_url": {"url": 7}},
        {"type": 7},
        "text",
    ],
)
def test_media_that_the_api_does_not_take_is_an_error(value: Json) -> None:
    with pytest.raises(ModelFailed) as failed:
        responses.encode_message(Message(Role.USER, (MediaPart("x", value),)), HERE)

    assert failed.value.error_code == "model.request_build_failed"


def test_an_answer_without_words_is_no_item() -> None:
    assert sent(Message(Role.ASSISTANT, (ReasoningPart("hm", "x"),))) == []


def test_two_own_blocks_in_one_message_are_refused() -> None:
    native = NativePart("openai_responses", b"[]")

    with pytest.raises(ModelFailed, match="invalid_model_message"):
        responses.encode_message(Message(Role.ASSISTANT, (native, native)), HERE)
