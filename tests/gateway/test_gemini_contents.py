"""Messages as Gemini's contents: its own go back as they came, others in words that it takes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.gateway.calls import CONTENT_PART
from treadle.gateway.connections.connection import Connection
from treadle.gateway.gemini.settings import is_gemini_3
from treadle.graph.errors import ModelFailed
from treadle.graph.identity import CallId
from treadle.graph.jsontext import Json
from treadle.graph.messages import (
    MediaPart,
    Message,
    NativePart,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCall,
    ToolCallPart,
)

from .gemini_words import (
    GEMINI_3,
    HERE,
    answer,
    body,
    called,
    contents,
    decoded,
    fragments,
    request,
    result,
    results,
    said,
    studio,
    vertex,
)
from .traps import trap
from .words import json_texts

GO = said("Go.")
DUMMY = "skip_thought_signature_validator"


def foreign(*names: str, text: str = "") -> Message:
    """A turn that another provider's model took."""
    parts: list[Part] = [TextPart(text)] if text else []
    held = [ToolCall(CallId(f"call_{n}"), name, {"n": n}, name.replace(".", "_")) for n, name in enumerate(names)]
    return Message(Role.ASSISTANT, (*parts, *(ToolCallPart(call) for call in held)))


@given(extra=json_texts(), ahead=st.booleans())
def test_whatever_gemini_adds_survives_the_way_back_byte_for_byte(extra: str, ahead: bool) -> None:
    part = f'{{"zz" : {extra}, "thoughtSignature":"s"}}'
    asked = called("a", "c1", f'{{ "n":{extra}}}')
    content = f'{{ "parts" : [{part}, {asked}],"yy":{extra} ,"role":"model"}}'
    order = f'"content":{content},"finishReason":"STOP"' if ahead else f'"finishReason":"STOP", "content":{content}'
    response = decoded(f'{{"candidates":[{{{order}}}]}}')

    assert content.encode() in request([GO, response.message, *results(response.tool_calls)])


@trap(61)
@pytest.mark.parametrize("value", ["18446744073709551616", "1.10", "-0.0", "1E+2", '"\\ud83d"', '"\\u00e9\\/"'])
def test_numbers_and_half_characters_of_a_call_are_replayed_as_spelled(value: str) -> None:
    part = called("workspace_read_file", "c1", f'{{"z":{value},"a":1}}')
    response = decoded(answer(part))

    assert part.encode() in request([GO, response.message, *results(response.tool_calls)])
    assert response.tool_calls[0].arguments["z"] == json.loads(value)


@trap(1)
def test_results_of_one_turn_are_one_content_in_the_order_of_the_calls() -> None:
    response = decoded(answer(f"{called('workspace_read_file', 'a')},{called('workspace_list_files', 'b')}"))
    first, second = results(response.tool_calls)

    for given_results in ([first, second], [second, first]):
        held = contents([GO, response.message, *given_results])
        assert [content["role"] for content in held] == ["user", "model", "user"]
        assert [part["functionResponse"]["id"] for part in held[-1]["parts"]] == ["a", "b"]


@trap(2)
def test_a_call_that_came_unsigned_stays_unsigned() -> None:
    parts = f"{called('workspace_read_file', 'a', signature='S==')},{called('workspace_list_files', 'b')}"
    response = decoded(answer(parts))
    sent = request([GO, response.message, *results(response.tool_calls)])

    assert f"[{parts}]".encode() in sent
    assert DUMMY.encode() not in sent


@trap(3)
def test_a_foreign_turn_bears_one_dummy_signature_and_only_for_gemini_3() -> None:
    turn = foreign("workspace.read_file", "workspace.list_files", text="Look.")
    messages = [GO, turn, result("call_0"), result("call_1", "workspace.list_files")]

    text, first, second = contents(messages)[1]["parts"]
    assert (text, first["thoughtSignature"]) == ({"text": "Look."}, DUMMY)
    assert "thoughtSignature" not in second
    assert DUMMY.encode() not in request(messages, studio("gemini-2.5-pro"))


@pytest.mark.parametrize(
    ("model", "signs"),
    [(GEMINI_3, True), ("models/gemini-3.1-flash", True), ("gemini-4-pro", True), ("gemini-2.5-flash-preview-09", False),
     ("gemini-exp-1206", False), ("gemma-3-27b", False), ("gemini-1.5-pro-002", False)],
)  # fmt: skip
def test_the_generation_is_read_from_the_models_name(model: str, signs: bool) -> None:
    assert is_gemini_3(model) is signs


@trap(4)
def test_an_empty_text_with_a_signature_is_replayed_last_and_unmerged() -> None:
    parts = f'{called("workspace_list_files", "a")},{{"text":"","thoughtSignature":"x"}}'
    response = decoded(answer(parts))

    assert f"[{parts}]".encode() in request([GO, response.message, *results(response.tool_calls)])
    assert response.text == ""


@trap(5)
def test_an_id_that_the_model_gave_is_repeated() -> None:
    response = decoded(answer(called("workspace_read_file", "c1")))
    (part,) = contents([GO, response.message, *results(response.tool_calls)])[-1]["parts"]

    assert list(part["functionResponse"]) == ["id", "name", "response"]
    assert part["functionResponse"]["id"] == "c1"


@trap(6)
@pytest.mark.parametrize("at", [vertex(), HERE])
def test_ids_of_another_provider_never_go_out(at: Connection) -> None:
    sent = request([GO, foreign("workspace.read_file"), result("call_0")], at)

    assert b'"id"' not in sent
    assert b"call_0" not in sent


@trap(6)
def test_a_turn_of_another_connection_is_foreign_too() -> None:
    response = decoded(answer(called("workspace_read_file", "c1", signature="S==")))
    sent = request([GO, response.message, *results(response.tool_calls)], vertex())

    assert b"c1" not in sent
    assert b"S==" not in sent


@trap(31)
@pytest.mark.parametrize("wire", ["workspace_read_file", "workspace.read_file", "default_api:workspace_read_file"])
def test_a_result_bears_the_name_that_the_call_has_on_the_wire(wire: str) -> None:
    response = decoded(answer(called(wire, "c1")))
    model, user = contents([GO, response.message, *results(response.tool_calls)])[1:]

    assert user["parts"][0]["functionResponse"]["name"] == model["parts"][0]["functionCall"]["name"] == wire


@trap(31)
def test_a_foreign_call_and_its_result_bear_the_alias() -> None:
    model, user = contents([GO, foreign("workspace.read_file"), result("call_0")])[1:]

    assert model["parts"][0]["functionCall"] == {"name": "workspace_read_file", "args": {"n": 0}}
    assert user["parts"][0]["functionResponse"]["name"] == "workspace_read_file"


@trap(48)
def test_two_blocks_in_one_message_are_refused() -> None:
    block = NativePart("gemini", b'{"role":"model","parts":[{"text":"a"}]}')

    with pytest.raises(ModelFailed) as refused:
        fragments([Message(Role.ASSISTANT, (block, block))])
    assert refused.value.error_code == "agent.invalid_model_message"


@pytest.mark.parametrize("block", [b"[]", b'{"parts":[', b"\xff", b'"x"'])
def test_a_block_that_is_no_content_can_not_be_read(block: bytes) -> None:
    with pytest.raises(ValueError):
        fragments([Message(Role.ASSISTANT, (NativePart("gemini", block),))])


def test_a_content_without_a_role_is_given_the_models() -> None:
    response = decoded('{"candidates":[{"finishReason":"STOP","content":{ "parts":[{"text":"Hi"}]}}]}')

    assert b'{"role":"model", "parts":[{"text":"Hi"}]}' in request([GO, response.message])


def test_a_content_without_parts_has_no_place_in_a_request() -> None:
    response = decoded('{"candidates":[{"finishReason":"MAX_TOKENS","content":{"role":"model"}}]}')

    assert contents([GO, response.message, said("Again.")]) == [
        {"role": "user", "parts": [{"text": "Go."}, {"text": "Again."}]}
    ]


def test_a_turn_of_its_own_is_not_merged_with_its_neighbours() -> None:
    response = decoded(answer('{"text":"b"}'))
    held = contents([GO, said("a", Role.ASSISTANT), response.message, said("c", Role.ASSISTANT)])

    assert [content["role"] for content in held] == ["user", "model", "model", "model"]


def test_neighbours_with_one_role_become_one_content_but_never_with_results() -> None:
    messages = [GO, said("On.", Role.DEVELOPER), foreign(text="a"), foreign("workspace.read_file", text="b")]
    held = contents([*messages, result("call_0"), said("Well?")])

    assert [content["role"] for content in held] == ["user", "model", "user", "user"]
    assert held[0]["parts"] == [{"text": "Go."}, {"text": "On."}]
    assert [part.get("text") for part in held[1]["parts"]] == ["a", "b", None]
    assert held[3]["parts"] == [{"text": "Well?"}]


def test_a_result_is_the_envelope_as_an_object() -> None:
    (part,) = contents([GO, foreign("workspace.read_file"), result("call_0", content="é \ud83d")])[-1]["parts"]

    response = part["functionResponse"]["response"]
    assert list(response) == ["ok", "content", "structured", "errorCode", "resourceRefs"]
    assert (response["ok"], response["content"]) == (True, "é \ud83d")


def test_arguments_that_are_no_object_travel_inside_one() -> None:
    call = ToolCall(CallId("c"), "workspace.read_file", '{"path', "workspace_read_file", arguments_invalid=True)
    messages = [GO, Message(Role.ASSISTANT, (ToolCallPart(call),)), result("c")]

    assert contents(messages)[1]["parts"][0]["functionCall"]["args"] == {"_invalid_arguments": '{"path'}


def test_the_leading_system_messages_are_the_system_instruction() -> None:
    messages = [said("One \ud83d", Role.SYSTEM), said("  ", Role.SYSTEM), said('"Two"', Role.SYSTEM), GO]
    late = body([*messages, said("Late.", Role.SYSTEM)])

    assert late["systemInstruction"] == {"parts": [{"text": 'One \ud83d\n\n"Two"'}]}
    assert late["contents"] == [{"role": "user", "parts": [{"text": "Go."}, {"text": "Late."}]}]


def test_a_system_message_is_the_users_where_the_payload_or_its_place_says_so() -> None:
    alone = body([said("Rules.", Role.SYSTEM)])
    unwanted = body([said("Rules.", Role.SYSTEM), GO], use_sysprompt=False)

    assert "systemInstruction" not in alone | unwanted
    assert alone["contents"] == [{"role": "user", "parts": [{"text": "Rules."}]}]
    assert unwanted["contents"][0]["parts"][0] == {"text": "Rules."}


def test_blank_messages_are_left_out_unless_nothing_else_is_there() -> None:
    assert contents([GO, said(" "), said("", Role.ASSISTANT)]) == [{"role": "user", "parts": [{"text": "Go."}]}]
    assert contents([said("")]) == [{"role": "user", "parts": [{"text": ""}]}]


def test_a_speakers_name_stands_before_the_words_once() -> None:
    held = contents([said("Hi.", name="Bram"), said("Bram: Hi.", name="Bram"), said("", name="Bram")])

    assert held[0]["parts"] == [{"text": "Bram: Hi."}, {"text": "Bram: Hi."}]


def test_reasoning_and_foreign_blocks_stay_behind() -> None:
    block = NativePart("claude", b'{"secret":1}')
    message = Message(Role.ASSISTANT, (TextPart("a"), ReasoningPart("why", "thinking"), block))

    assert contents([GO, message])[1]["parts"] == [{"text": "a"}]


@pytest.mark.parametrize(
    ("part", "inline"),
    [
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}, ("image/png", "AA==")),
        ({"type": "image_url", "image_url": "data:image/svg+xml;name=x;base64,BB"}, ("image/svg+xml", "BB")),
        ({"type": "video_url", "video_url": {"url": "data:video/mp4;base64,CC"}}, ("video/mp4", "CC")),
        ({"type": "file", "file": {"file_data": "data:application/pdf;base64,DD"}}, ("application/pdf", "DD")),
        ({"type": "input_audio", "input_audio": {"data": "EE", "format": "wav"}}, ("audio/wav", "EE")),
    ],
)
def test_media_go_inside_the_request(part: Json, inline: tuple[str, str]) -> None:
    (content,) = contents([Message(Role.USER, (TextPart("See"), MediaPart("x", part)), "Bram")])

    assert content["parts"] == [{"text": "Bram: See"}, {"inlineData": {"mimeType": inline[0], "data": inline[1]}}]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://h.test/a.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/png,%89PNG"}},
        {"type": "image_url"},
        {"type": "file", "file": {"file_id": "f_1"}},
        {"type": "input_audio", "input_audio": {"data": "EE"}},
        {"type": "refusal", "refusal": "no"},
        {"n": 1},
        7,
    ],
)
def test_what_gemini_does_not_take_is_told_and_not_dropped(part: Json) -> None:
    for held in (MediaPart("image/*", part), NativePart(CONTENT_PART, json.dumps(part).encode())):
        with pytest.raises(ModelFailed) as refused:
            fragments([Message(Role.USER, (held,))])
        assert refused.value.error_code == "model.request_build_failed"


def test_ten_thousand_parallel_calls_are_answered() -> None:
    parts = ",".join(called("workspace_read_file", f"c{n}") for n in range(10_000))
    response = decoded(answer(parts))
    held = contents([GO, response.message, *reversed(results(response.tool_calls))])

    assert [part["functionResponse"]["id"] for part in held[-1]["parts"]] == [f"c{n}" for n in range(10_000)]
