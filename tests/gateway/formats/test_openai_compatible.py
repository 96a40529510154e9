"""Chat completions: canonical words to the wire, and answers back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given

from treadle.gateway.calls import CONTENT_PART
from treadle.gateway.connections.connection import Connection, Dialect
from treadle.gateway.formats import openai_compatible as chat
from treadle.gateway.outgoing import Fragment, Outgoing
from treadle.gateway.wire import read
from treadle.graph.errors import ModelFailed
from treadle.graph.identity import CallId
from treadle.graph.jsontext import Json, dumps
from treadle.graph.messages import (
    Finish,
    MediaPart,
    Message,
    ModelResponse,
    NativePart,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCall,
    ToolCallPart,
    ToolResult,
    ToolResultPart,
    ToolSpec,
)
from treadle.testkit.replies import Call, calls, text

from ..traps import trap
from ..words import KEY, LIST, READ, TOOLS, connection, json_texts

HERE = connection()


def decoded(body: bytes | str, at: Connection = HERE) -> ModelResponse:
    data = body.encode() if isinstance(body, str) else body
    return chat.decode(read(data), at, TOOLS, at.origin)


def completion(message: str, finish: str = '"stop"') -> str:
    return f'{{"id":"x", "choices":[ {{"index":0,"finish_reason":{finish}, "message": {message} }} ],"model":"m"}}'


def with_call(call: str) -> str:
    return completion(f'{{"role":"assistant","content":null,"tool_calls":[{call}]}}', '"tool_calls"')


def sent(message: Message, at: Connection = HERE) -> dict[str, Json]:
    value: dict[str, Json] = json.loads(chat.encode_message(message, at).items[0])
    return value


def joined(fragments: Sequence[bytes], at: Connection = HERE, tools: Sequence[ToolSpec] = TOOLS, **more: Json) -> bytes:
    held = [Fragment(Role.USER, (item,)) for item in fragments]
    choice = more.pop("tool_choice", None)
    return b"".join(chat.encode(Outgoing(at, more, held, tools, tool_choice=choice)))


def body(fragments: list[bytes], at: Connection = HERE, **payload: Json) -> dict[str, Json]:
    value: dict[str, Json] = json.loads(joined(fragments, at, **payload))
    return value


def parts(response: ModelResponse) -> list[type[Part]]:
    return [type(part) for part in response.message.parts]


@trap(28, 29)
@given(extra=json_texts())
def test_whatever_a_server_adds_survives_the_way_back_byte_for_byte(extra: str) -> None:
    message = f'{{ "role":"assistant","zz" : {extra},"content":"hi", "reasoning_details":[{extra}] }}'
    response = decoded(completion(message))
    (fragment,) = chat.encode_message(response.message, HERE).items

    assert fragment == message.encode()
    assert message.encode() in joined([b'{"role":"user","content":"x"}', fragment])


def test_an_answer_is_decoded_in_the_order_text_reasoning_native_calls() -> None:
    reply = calls(
        Call("workspace.read_file", {"path": "notes.md"}, "call_a"), text="Look.", reasoning_content="Need it."
    )
    response = decoded(reply.body)

    (call,) = response.tool_calls
    assert parts(response) == [TextPart, ReasoningPart, NativePart, ToolCallPart]
    assert (response.text, response.finish, response.finish_reason) == ("Look.", Finish.TOOL_CALLS, "tool_calls")
    assert (call.id, call.name, call.model_name) == ("call_a", "workspace.read_file", "workspace_read_file")
    assert call.arguments == {"path": "notes.md"}
    assert json.loads(call.raw)["id"] == "call_a"
    assert response.usage == {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}


@trap(27, 28)
@pytest.mark.parametrize(
    ("message", "source", "said"),
    [
        ('"reasoning_content":"a","reasoning":"b"', "reasoning_content", "a"),
        ('"reasoning_content":" ","reasoning":"b"', "reasoning", "b"),
        (
            '"reasoning_details":[{"type":"reasoning.text","text":"a"},{"type":"reasoning.encrypted","text":"CIPHER"},{"type":"reasoning.summary","summary":"b"}]',
            "reasoning_details",
            "ab",
        ),
    ],
)
def test_reasoning_is_read_from_the_first_place_that_has_any(message: str, source: str, said: str) -> None:
    response = decoded(completion(f'{{"role":"assistant","content":"x",{message}}}'))

    assert response.reasoning == (ReasoningPart(said, source),)
    assert response.text == "x"


def test_content_in_parts_is_joined_as_given() -> None:
    message = '{"role":"assistant","content":[{"type":"text","text":" a"},{"type":"text","text":"b "},{"type":"x"}]}'

    assert decoded(completion(message)).text == " ab "


def test_a_refusal_in_words_is_an_answer() -> None:
    response = decoded(completion('{"role":"assistant","content":null,"refusal":"I will not."}'))

    assert (response.text, response.finish) == ("I will not.", Finish.REFUSAL)


@pytest.mark.parametrize(
    ("word", "finish"),
    [('"stop"', Finish.STOP), ("null", Finish.STOP), ('"eos"', Finish.STOP), ('"length"', Finish.LENGTH)],
)
def test_the_finish_of_a_plain_answer(word: str, finish: Finish) -> None:
    assert decoded(completion('{"role":"assistant","content":"x"}', word)).finish is finish


@trap(21)
@pytest.mark.parametrize("word", ["stop", "tool_calls", "function_call", "", "whatever"])
def test_calls_are_honoured_whatever_the_finish_is_called(word: str) -> None:
    response = decoded(calls(Call("workspace_list_files", {}), finish_reason=word).body)

    assert len(response.tool_calls) == 1
    assert response.finish is Finish.TOOL_CALLS


@trap(22)
def test_a_cut_off_answer_says_length_and_keeps_its_calls_for_the_run_to_refuse() -> None:
    response = decoded(calls(Call("workspace_read_file", '{"path": "a', "c1"), finish_reason="length").body)

    (call,) = response.tool_calls
    assert response.finish is Finish.LENGTH
    assert (call.arguments, call.arguments_invalid) == ('{"path": "a', True)


def test_filtered_and_broken_answers_are_errors() -> None:
    with pytest.raises(ModelFailed) as filtered:
        decoded(completion('{"role":"assistant","content":"x"}', '"content_filter"'))
    with pytest.raises(ModelFailed) as broken:
        decoded(completion('{"role":"assistant","content":"x"}', '"insufficient_system_resource"'))

    assert (filtered.value.details["kind"], filtered.value.retryable) == ("content_filter", False)
    assert broken.value.retryable is True


@pytest.mark.parametrize(
    "call",
    [
        '{"id":"","type":"function","function":{"name":"a","arguments":"{}"}}',
        '{"type":"function","function":{"name":"a","arguments":"{}"}}',
        '{"id":"c","type":"function","function":{"name":" ","arguments":"{}"}}',
        '{"id":"c","type":"function"}',
        '{"id":"c","function":{"name":"a"}},{"id":"c","function":{"name":"b"}}',
        "null",
    ],
)
def test_a_call_that_can_not_be_answered_is_fatal(call: str) -> None:
    with pytest.raises(ModelFailed) as refused:
        decoded(with_call(call))

    assert (refused.value.error_code, refused.value.retryable) == ("model.invalid_tool_call", False)


def test_the_old_function_call_has_no_id_and_is_fatal() -> None:
    with pytest.raises(ModelFailed) as refused:
        decoded(completion('{"role":"assistant","content":null,"function_call":{"name":"a","arguments":"{}"}}'))

    assert refused.value.error_code == "model.invalid_tool_call"


def test_a_call_of_another_type_is_unsupported() -> None:
    with pytest.raises(ModelFailed) as refused:
        decoded(with_call('{"id":"c","type":"custom","custom":{"name":"a","input":"x"}}'))

    assert refused.value.error_code == "model.unsupported_tool_call"


@pytest.mark.parametrize("tool_calls", ["null", "[]"])
def test_no_calls_are_a_plain_answer(tool_calls: str) -> None:
    assert decoded(completion(f'{{"content":"x","tool_calls":{tool_calls}}}')).tool_calls == ()


@trap(51)
@pytest.mark.parametrize(
    "reply",
    [
        '{"choices":[]}', '{"choices":null}', "{}", '{"choices":[{}]}', '{"choices":[null]}', '{"choices":{}}',
        '{"choices":[{"message":null}]}', '{"choices":[{"message":{"content":7}}]}', '{"choices":[{"delta":{}}]}',
    ],
)  # fmt: skip
def test_json_that_is_no_answer_is_malformed_and_final(reply: str) -> None:
    with pytest.raises(ModelFailed) as refused:
        decoded(reply)

    assert (refused.value.error_code, refused.value.retryable) == ("model.upstream_invalid_response", False)


@trap(62)
def test_a_missing_response_id_stays_missing() -> None:
    assert decoded('{"choices":[{"message":{"role":"assistant","content":"x"}}]}').id is None


@trap(51)
@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('{"error":{"code":429}}', {"error": {"code": 429}}),
        ('{"error":{"code":1},"choices":[]}', {"error": {"code": 1}, "choices": []}),
        ('{"choices":[{"error":{"code":502},"message":{}}]}', {"error": {"code": 502}}),
        ('{"error":{"code":1},"choices":[{"message":{}}]}', None),
        ('{"error":null}', None),
    ],
)
def test_an_error_in_place_of_an_answer_is_found(reply: str, found: Json) -> None:
    assert chat.error_in(read(reply.encode())) == found


def test_prompt_messages_keep_their_role_text_and_name() -> None:
    assert sent(Message(Role.SYSTEM, (TextPart("a"), TextPart("b")))) == {"role": "system", "content": "ab"}
    named = sent(Message(Role.USER, (TextPart("hi \ud83d"),), name="Bram"))
    assert named == {"role": "user", "name": "Bram", "content": "hi \ud83d"}


def test_a_developer_is_the_system_where_the_role_is_not_known() -> None:
    message = Message(Role.DEVELOPER, (TextPart("a"),))

    assert sent(message)["role"] == "system"
    assert sent(message, connection(Dialect(developer_role=True)))["role"] == "developer"


def test_media_make_the_content_a_list() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    native = NativePart(CONTENT_PART, b'{"type" : "file","n":1.10}')
    message = Message(Role.USER, (TextPart("see"), MediaPart("image/png", image), native))

    assert sent(message)["content"] == [{"type": "text", "text": "see"}, image, {"type": "file", "n": 1.1}]
    assert native.value in chat.encode_message(message, HERE).items[0]


@trap(31)
def test_a_tool_message_carries_the_envelope_and_the_alias() -> None:
    result = ToolResult(CallId("call_a"), "workspace.read_file", "héllo", {"n": 1}, resource_refs=("r",))

    assert sent(Message(Role.TOOL, (ToolResultPart(result),))) == {
        "role": "tool",
        "tool_call_id": "call_a",
        "name": "workspace_read_file",
        "content": '{"ok":true,"content":"héllo","structured":{"n":1},"errorCode":null,"resourceRefs":["r"]}',
    }


@pytest.mark.parametrize("count", [0, 2])
def test_a_tool_message_holds_exactly_one_result(count: int) -> None:
    part = ToolResultPart(ToolResult(CallId("c"), "a", "x"))

    with pytest.raises(ModelFailed) as refused:
        chat.encode_message(Message(Role.TOOL, (part,) * count), HERE)
    assert refused.value.error_code == "agent.invalid_model_message"


@trap(26, 30, 61)
def test_a_turn_of_another_connection_is_sent_in_canonical_words_without_its_reasoning() -> None:
    reply = calls(Call("workspace.read_file", {"n": 2**64}, "call_a"), reasoning_content="r", zz="private")
    response = decoded(reply.body, connection(model="other"))

    assert sent(response.message) == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "call_a", "type": "function",
             "function": {"name": "workspace_read_file", "arguments": '{"n":18446744073709551616}'}},
        ],
    }  # fmt: skip
    assert sent(response.message, connection(Dialect(empty_content="string")))["content"] == ""
    assert sent(response.message, connection(Dialect(echo_reasoning="all")))["reasoning_content"] == ""


def test_a_turn_of_the_prompt_gets_no_reasoning() -> None:
    message = Message(Role.ASSISTANT, (TextPart("hi"),))

    assert sent(message, connection(Dialect(echo_reasoning="all"))) == {"role": "assistant", "content": "hi"}


@trap(24)
def test_broken_arguments_of_another_connection_travel_inside_an_object() -> None:
    call = ToolCall(CallId("c"), "workspace.read_file", '{"path', "workspace_read_file", arguments_invalid=True)
    message = sent(Message(Role.ASSISTANT, (ToolCallPart(call),)))

    text_sent = message["tool_calls"][0]["function"]["arguments"]
    assert json.loads(text_sent) == {"_invalid_arguments": '{"path'}


def test_several_blocks_of_one_provider_in_a_message_are_refused() -> None:
    block = NativePart(chat.NAME, b'{"role":"assistant","content":"x"}')

    with pytest.raises(ModelFailed) as refused:
        chat.encode_message(Message(Role.ASSISTANT, (block, block)), HERE)
    assert refused.value.error_code == "agent.invalid_model_message"


@trap(31)
def test_a_body_joins_the_fragments_and_names_the_tools_by_alias() -> None:
    value = body([b'{"role":"user","content":"hi"}'], temperature=0.5)

    assert list(value) == ["model", "stream", "temperature", "messages", "tools", "tool_choice"]
    assert (value["model"], value["stream"], value["tool_choice"]) == ("m", False, "auto")
    assert [tool["function"]["name"] for tool in value["tools"]] == [READ.model_name, LIST.model_name]
    assert value["tools"][0]["function"]["parameters"] == READ.input_schema
    assert "strict" not in value["tools"][0]["function"]


def test_without_tools_there_is_no_tool_choice() -> None:
    value = json.loads(joined([b"{}"], tools=(), tool_choice="auto"))

    assert set(value) == {"model", "stream", "messages"}


def test_the_users_own_body_keys_are_put_in_and_taken_out() -> None:
    at = replace(HERE, body_include=(("min_p", 0.1), ('quo"te', 1)), body_exclude=("temperature",))

    value = body([], at, temperature=0.5)
    assert (value["min_p"], value['quo"te'], "temperature" in value) == (0.1, 1, False)


def test_a_host_that_thinks_is_not_forced_to_a_tool() -> None:
    at = replace(HERE, source="moonshot")
    thinking = json.loads(joined([], at, enable_thinking=True, tool_choice="required"))
    plain = json.loads(joined([], at, tool_choice="required"))

    assert (thinking["tool_choice"], plain["tool_choice"]) == ("auto", "required")


def test_the_endpoint_carries_the_key_only_where_there_is_one() -> None:
    url, headers = chat.endpoint(HERE)

    assert (url, headers) == ("http://localhost:9/v1/chat/completions", {"Authorization": f"Bearer {KEY}"})
    assert chat.endpoint(replace(HERE, api_key=None))[1] == {}


def test_no_body_is_mended_for_another_reason_or_without_reasoning_in_it() -> None:
    with_reasoning = dumps({"messages": [{"role": "assistant", "reasoning": "r", "content": "x"}]})

    assert chat.mended(with_reasoning, "property 'reasoning' is unsupported") == (
        b'{"messages":[{"role":"assistant","content":"x"}]}'
    )
    assert chat.mended(with_reasoning, "bad schema") is None
    assert chat.mended(b'{"messages":[]}', "property 'reasoning' is unsupported") is None


def test_a_plain_answer_without_calls_is_legal() -> None:
    response = decoded(text("Done.").body)

    assert parts(response) == [TextPart, NativePart]
