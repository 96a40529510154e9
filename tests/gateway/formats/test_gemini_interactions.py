"""The Interactions API: what is sent, in the current schema and in the older one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given

from treadle.gateway.connections.connection import Connection
from treadle.gateway.formats import gemini_interactions as shape
from treadle.gateway.gateway import FORMATS, ModelGateway
from treadle.gateway.outgoing import Outgoing
from treadle.gateway.transports.http import HttpTransport
from treadle.gateway.wire import elements, member, read
from treadle.graph.errors import InvalidInput, ModelFailed, NativeMetadataLost
from treadle.graph.identity import CallId
from treadle.graph.jsontext import Json
from treadle.graph.messages import (
    Message,
    NativePart,
    Role,
    TextPart,
    ToolCall,
    ToolCallPart,
    ToolResult,
    ToolResultPart,
    ToolSpec,
)
from treadle.testkit.ports import ManualClock

from ..traps import trap
from ..words import KEY, LIST, READ, TOOLS, MemorySecrets, connect, json_texts, payload

HERE = connect({"api_key_custom": KEY}, custom_api_format="gemini_interactions", model="gemini-3-x")

THOUGHT = '{ "type":"thought","signature":"CiQB==", "summary":[{"type":"text","text":"Need the file."}]}'
CALL = '{"type":"function_call","id":"fc_a","name":"workspace_read_file","arguments":{"path":"notes.md"}}'
SAID = '{"type":"model_output","content":[{"type":"text","text":"Look.","annotations":[]}]}'
SEARCH = '{"type":"google_search_call","id":"s1","signature":"sig=","arguments":{"n":1.10}}'

USER = Message(Role.USER, (TextPart("Summarise notes.md"),))
SYSTEM = Message(Role.SYSTEM, (TextPart("You are an agent."),))


def answered(*blocks: str, key: str = "steps", at: Connection = HERE) -> Message:
    body = f'{{"id":"int_1", "status":"completed", "{key}" : [ {" , ".join(blocks)} ]}}'
    return shape.decode(read(body.encode()), at, TOOLS, at.origin).message


def result(call_id: str = "fc_a", *, is_error: bool = False) -> Message:
    made = ToolResult(CallId(call_id), "workspace.read_file", "hello", is_error=is_error)
    return Message(Role.TOOL, (ToolResultPart(made),))


def outgoing(
    messages: Sequence[Message], at: Connection = HERE, tools: Sequence[ToolSpec] = (), **held: Json
) -> Outgoing:
    choice = held.pop("tool_choice", None)
    fragments = [shape.encode_message(message, at) for message in messages]
    return Outgoing(at, held, fragments, tools, tools, choice)


def sent(*messages: Message, at: Connection = HERE, tools: Sequence[ToolSpec] = (), **held: Json) -> bytes:
    return b"".join(shape.encode(outgoing(messages, at, tools, **held)))


def body(*messages: Message, at: Connection = HERE, tools: Sequence[ToolSpec] = (), **held: Json) -> dict[str, Json]:
    value: dict[str, Json] = json.loads(sent(*messages, at=at, tools=tools, **held))
    return value


def revision(*messages: Message) -> str | None:
    return shape.request_headers(outgoing(messages)).get("Api-Revision")


ENVELOPE: Json = {"ok": True, "content": "hello", "structured": None, "errorCode": None, "resourceRefs": []}
RESULT: Json = {"type": "function_result", "call_id": "fc_a", "name": "workspace_read_file", "result": ENVELOPE}


@given(extra=json_texts(), key=json_texts())
@trap(59, 61)
def test_whatever_a_server_adds_to_a_step_goes_back_byte_for_byte(extra: str, key: str) -> None:
    steps = [
        f'{{ "type":"mcp_server_tool_call" , "zz" : {extra}}}',
        f'{{"x":{key},"type" :"thought","signature":""}}',
        CALL,
    ]

    for place in ("steps", "outputs"):
        message = answered(*steps, key=place)
        raw = sent(USER, message, result())
        found = member(raw.decode("utf-8", "surrogatepass"), "input") or ""
        held = elements(found)[1:4] if place == "steps" else elements(member(elements(found)[1], "content") or "")
        assert held == steps
        assert [part.value for part in message.parts if isinstance(part, NativePart)] == [
            f'{{"{place}":[ {" , ".join(steps)} ]}}'.encode()
        ]


def test_a_request_in_the_current_schema() -> None:
    request = body(SYSTEM, USER, answered(THOUGHT, CALL), result(), tools=(READ,), include_reasoning=True)

    assert request == {
        "model": "gemini-3-x",
        "store": False,
        "stream": False,
        "system_instruction": "You are an agent.",
        "input": [
            {"type": "user_input", "content": [{"type": "text", "text": "Summarise notes.md"}]},
            json.loads(THOUGHT),
            json.loads(CALL),
            RESULT,
        ],
        "tools": [
            {"type": "function", "name": "workspace_read_file", "description": "Read a file",
             "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
        ],
        "generation_config": {"tool_choice": "auto", "thinking_summaries": "auto"},
    }  # fmt: skip
    assert list(request) == ["model", "store", "stream", "system_instruction", "input", "tools", "generation_config"]


@trap(59)
def test_a_server_that_answers_in_outputs_is_asked_in_the_older_schema_from_then_on() -> None:
    old = answered(THOUGHT, '{"type":"text","text":"Look."}', CALL, key="outputs")
    second = answered('{"type":"text","text":"Done."}', key="outputs")
    request = body(SYSTEM, USER, old, result(), second, USER)

    assert request["input"] == [
        {"role": "user", "content": "Summarise notes.md"},
        {"role": "model", "content": [json.loads(THOUGHT), {"type": "text", "text": "Look."}, json.loads(CALL)]},
        {"role": "user", "content": [RESULT]},
        {"role": "model", "content": [{"type": "text", "text": "Done."}]},
        {"role": "user", "content": "Summarise notes.md"},
    ]
    assert request["system_instruction"] == "You are an agent."
    assert (revision(USER), revision(USER, answered(SAID)), revision(USER, old)) == ("2026-05-20", "2026-05-20", None)


def test_results_of_one_answer_share_a_turn_of_the_older_schema() -> None:
    old = answered(CALL, CALL.replace("fc_a", "fc_b"), key="outputs")
    turns = body(USER, old, result("fc_a"), result("fc_b"), USER)["input"]

    assert [turn["role"] for turn in turns] == ["user", "model", "user", "user"]
    assert [block["call_id"] for block in turns[2]["content"]] == ["fc_a", "fc_b"]


@trap(59)
def test_a_server_that_goes_over_to_steps_gets_its_outputs_as_steps_where_they_can_be_said() -> None:
    text = '{"type":"text","text":"Look.", "annotations":[1.10]}'
    old = answered(THOUGHT, text, CALL, key="outputs")
    raw = sent(USER, old, result(), answered(SAID))

    kinds = [step["type"] for step in json.loads(raw)["input"]]
    assert kinds == ["user_input", "thought", "model_output", "function_call", "function_result", "model_output"]
    assert all(block.encode() in raw for block in (THOUGHT, text, CALL))
    assert revision(USER, old, result(), answered(SAID)) == "2026-05-20"


@trap(59)
@pytest.mark.parametrize(("first", "then"), [("outputs", "steps"), ("steps", "outputs")])
def test_what_the_other_schema_can_not_say_is_not_sent(first: str, then: str) -> None:
    with pytest.raises(NativeMetadataLost, match="google_search_call"):
        sent(USER, answered(SEARCH, key=first), answered(THOUGHT, key=then))


def test_a_server_that_goes_back_to_outputs_gets_its_steps_as_blocks() -> None:
    raw = sent(USER, answered(THOUGHT, SAID, CALL), result(), answered('{"type":"text","text":"x"}', key="outputs"))

    (_, turn, _, _) = json.loads(raw)["input"]
    assert turn == {"role": "model", "content": [json.loads(THOUGHT), *json.loads(SAID)["content"], json.loads(CALL)]}
    with pytest.raises(NativeMetadataLost):
        sent(USER, answered(SAID.replace('"content"', '"zz":1,"content"')), answered(THOUGHT, key="outputs"))


def test_an_empty_signature_is_kept() -> None:
    empty = '{"type":"thought","signature":""}'

    assert empty.encode() in sent(USER, answered(empty, CALL), result())


def test_native_arguments_that_hold_no_object_travel_inside_one() -> None:
    broken = '{"type":"function_call", "id":"fc_a", "name":"workspace_read_file","arguments":"{\\"path", "zz":1.10}'
    raw = sent(USER, answered(broken), result())

    assert b'"arguments":{"_invalid_arguments":"{\\"path"},"zz":1.10}' in raw
    text = CALL.replace('{"path":"notes.md"}', '"{}"')
    assert text.encode() in sent(USER, answered(text), result())


@trap(31)
def test_an_answer_of_another_connection_is_sent_in_canonical_words() -> None:
    elsewhere = replace(HERE, model="other")
    message = answered(THOUGHT, SAID, CALL, at=elsewhere)
    request = body(USER, message, result())

    assert request["input"][1:] == [
        {"type": "model_output", "content": [{"type": "text", "text": "Look."}]},
        json.loads(CALL),
        RESULT,
    ]
    assert b"CiQB" not in sent(USER, message, result())
    assert revision(USER, message) == "2026-05-20"


@trap(31)
def test_the_alias_is_sent_in_tools_calls_and_results() -> None:
    call = ToolCall(CallId("c1"), "workspace.read_file", {"path": "a"}, "workspace.read_file")
    request = body(USER, Message(Role.ASSISTANT, (ToolCallPart(call),)), result("c1"), tools=TOOLS)

    assert [tool["name"] for tool in request["tools"]] == [READ.model_name, LIST.model_name]
    assert "parameters" not in request["tools"][1]
    assert [step["name"] for step in request["input"][1:]] == [READ.model_name, READ.model_name]


@trap(31)
@pytest.mark.parametrize("key", ["steps", "outputs"])
def test_a_result_has_the_name_that_its_call_has(key: str) -> None:
    made_up = CALL.replace("workspace_read_file", "default_api:workspace.read_file")
    raw = sent(USER, answered(made_up, key=key), result(), answered(CALL, key=key), result())

    assert made_up.encode() in raw
    assert raw.count(b'"name":"default_api:workspace.read_file"') == 2
    assert raw.count(b'"name":"workspace_read_file"') == 2


@trap(61)
def test_numbers_of_any_size_and_half_characters_survive() -> None:
    call = ToolCall(CallId("c1"), "a", {"n": 2**64, "t": "\ud83d"}, "a")
    raw = sent(USER, Message(Role.ASSISTANT, (ToolCallPart(call),)), result("c1"))

    assert json.loads(raw)["input"][1]["arguments"] == {"n": 18446744073709551616, "t": "\ud83d"}


def test_arguments_that_are_no_object_travel_inside_one() -> None:
    call = ToolCall(CallId("c1"), "a", '{"path', "a", arguments_invalid=True)
    request = body(USER, Message(Role.ASSISTANT, (ToolCallPart(call),)), result("c1"))

    assert request["input"][1]["arguments"] == {"_invalid_arguments": '{"path'}


def test_a_failed_result_says_so_twice() -> None:
    step = body(USER, answered(CALL), result(is_error=True))["input"][-1]

    assert (step["is_error"], step["result"]["ok"]) == (True, False)
    assert "is_error" not in body(USER, answered(CALL), result())["input"][-1]


def test_system_messages_are_joined_and_a_developer_speaks_as_the_user() -> None:
    late, blank = Message(Role.SYSTEM, (TextPart('and "so"\n'),)), Message(Role.SYSTEM, (TextPart(""),))
    request = body(SYSTEM, USER, blank, late, Message(Role.DEVELOPER, (TextPart("dev"),)))

    assert request["system_instruction"] == 'You are an agent.\n\nand "so"\n'
    assert [step["type"] for step in request["input"]] == ["user_input", "user_input"]
    assert request["input"][1]["content"][0]["text"] == "dev"
    assert "system_instruction" not in body(USER)


def test_messages_that_say_nothing_are_left_out_but_not_all() -> None:
    empty = (Message(Role.USER, (TextPart(""),)), Message(Role.ASSISTANT, ()))

    assert len(body(*empty, USER)["input"]) == 1
    with pytest.raises(ModelFailed, match="user") as refused:
        sent(SYSTEM, *empty)
    assert refused.value.error_code == "model.request_build_failed"


def test_several_blocks_of_this_server_in_a_message_are_refused() -> None:
    block = NativePart(shape.NATIVE, b'{"steps":[]}')

    with pytest.raises(ModelFailed) as refused:
        shape.encode_message(Message(Role.ASSISTANT, (block, block)), HERE)
    assert refused.value.error_code == "agent.invalid_model_message"


@pytest.mark.parametrize("value", [b"{}", b"[]", b'{"steps":', b'{"steps":{}}'])
def test_a_block_that_is_no_answer_is_a_loss(value: bytes) -> None:
    with pytest.raises(ValueError):
        shape.encode_message(Message(Role.ASSISTANT, (NativePart(shape.NATIVE, value),)), HERE)


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://h.example", "https://h.example/v1beta/interactions"),
        ("https://h.example/", "https://h.example/v1beta/interactions"),
        ("https://h.example/proxy", "https://h.example/proxy/v1beta/interactions"),
        ("https://h.example/v1beta", "https://h.example/v1beta/interactions"),
        ("https://h.example/x/v1", "https://h.example/x/v1/interactions"),
    ],
)
def test_the_address_and_its_key(base: str, url: str) -> None:
    at = connect({"api_key_custom": KEY}, custom_api_format="gemini_interactions", custom_url=base)

    assert shape.endpoint(at) == (url, {"x-goog-api-key": KEY})
    assert shape.endpoint(replace(at, api_key=None))[1] == {}


async def test_the_gateway_sends_the_header_that_goes_with_the_schema() -> None:
    gateway = ModelGateway(HttpTransport(), MemorySecrets({"api_key_custom": KEY}), ManualClock())
    at = gateway.connect(payload(custom_api_format="gemini_interactions", model="gemini-3-x"))
    old = answered(SAID, key="outputs", at=at)

    assert FORMATS[shape.NAME].COUNTED
    assert gateway.build(outgoing([USER], at)).headers["api-revision"] == "2026-05-20"
    assert "api-revision" not in gateway.build(outgoing([USER, old, USER], at)).headers
    theirs = gateway.connect(
        payload(custom_api_format="gemini_interactions", custom_include_headers={"Api-Revision": "2027-01-01"})
    )
    assert gateway.build(outgoing([USER], theirs)).headers["api-revision"] == "2027-01-01"
    await gateway.close()


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (None, "auto"),
        ("none", "none"),
        ("required", "any"),
        (
            {"type": "function", "function": {"name": "workspace.read_file"}},
            {"allowed_tools": {"mode": "any", "tools": ["workspace_read_file"]}},
        ),
    ],
)
def test_the_tool_choice(choice: Json, said: Json) -> None:
    assert body(USER, tools=TOOLS, tool_choice=choice)["generation_config"] == {"tool_choice": said}
    assert "generation_config" not in body(USER, tool_choice=choice)


def test_settings_have_the_names_of_the_api_and_others_stay_home() -> None:
    request = body(
        USER, temperature=0.5, top_p=0.9, seed=7, max_tokens=10, stop=["a"], reasoning_effort="max",
        include_reasoning=False, top_k=0, presence_penalty=1, n=2, _tauritavern_provider_state={"sessionId": "s"},
    )  # fmt: skip

    assert request["generation_config"] == {
        "temperature": 0.5, "top_p": 0.9, "seed": 7, "max_output_tokens": 10, "stop_sequences": ["a"],
        "thinking_level": "high", "thinking_summaries": "none",
    }  # fmt: skip
    assert set(request) == {"model", "store", "stream", "input", "generation_config"}
    assert body(USER, stop="x", max_tokens=1, max_completion_tokens=2, reasoning_effort=" Auto ")["generation_config"] == {
        "max_output_tokens": 2, "stop_sequences": ["x"],
    }  # fmt: skip


def test_a_json_schema_is_the_response_format_of_the_schema_spoken() -> None:
    wanted: Json = {"name": "x", "schema": {"type": "object"}}
    old = answered(SAID, key="outputs")

    assert body(USER, json_schema=wanted)["response_format"] == {
        "type": "text", "mime_type": "application/json", "schema": {"type": "object"},
    }  # fmt: skip
    request = body(USER, old, USER, json_schema=wanted)
    assert (request["response_format"], request["response_mime_type"]) == ({"type": "object"}, "application/json")


@pytest.mark.parametrize(
    ("held", "named"),
    [
        ({"json_schema": 7}, "json_schema"),
        ({"stop": 7}, "stop"),
        ({"stop": ["a", 7]}, "stop"),
        ({"temperature": "hot"}, "temperature"),
        ({"max_tokens": True}, "max_tokens"),
        ({"reasoning_effort": 7}, "reasoning_effort"),
        ({"reasoning_effort": "huge"}, "reasoning_effort"),
    ],
)
def test_a_setting_that_is_wrong_is_named(held: dict[str, Json], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        sent(USER, **held)


def test_the_users_own_keys_are_put_in_and_the_tool_choice_stays_ours() -> None:
    theirs: Json = {"generation_config": {"top_k": 3, "tool_choice": "none"}, "service_tier": "flex"}
    at = connect(custom_api_format="gemini_interactions", custom_include_body=theirs)

    assert body(USER, at=at, tools=TOOLS)["generation_config"] == {"top_k": 3, "tool_choice": "auto"}
    assert body(USER, at=at)["service_tier"] == "flex"
    bad = connect(custom_api_format="gemini_interactions", custom_include_body={"generation_config": 7})
    with pytest.raises(InvalidInput, match="generation_config"):
        sent(USER, at=bad, tools=TOOLS)


def test_earlier_turns_are_the_same_pieces_in_every_request() -> None:
    first = outgoing([SYSTEM, USER, answered(THOUGHT, CALL), result()])
    more = shape.encode_message(answered(SAID), HERE)
    before, after = shape.encode(first), shape.encode(replace(first, fragments=[*first.fragments, more]))

    _, user, answer, (head, _, tail) = (fragment.items for fragment in first.fragments)
    items = [*user, *answer, head, tail]
    assert {id(item) for item in items} <= {id(piece) for piece in before} & {id(piece) for piece in after}
