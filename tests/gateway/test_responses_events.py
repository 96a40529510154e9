"""The events of a Responses turn: which one ends it, what it says, and the answer put together from them."""

from __future__ import annotations

import json

import pytest

from treadle.gateway import errors
from treadle.gateway.formats import openai_responses as responses
from treadle.gateway.responses.events import Listener
from treadle.gateway.wire import Unreadable
from treadle.graph.jsontext import Json
from treadle.graph.messages import NativePart
from treadle.graph.ports import WireReply

from .responses_side import REASONING, asked, at, completed, created, fault, response, said
from .traps import trap
from .words import TOOLS

HERE = at()


def done(place: Json, item: str) -> str:
    return f'{{"type":"response.output_item.done","output_index":{json.dumps(place)},"item": {item} }}'


def read(*events: str) -> tuple[str, dict[str, Json]]:
    body = responses.read("\n".join(events).encode())
    return body.text, body.value


def fails(document: Json, status: int = 200) -> tuple[str, bool, object]:
    failure = errors.failure_inside(WireReply(status, {}, b""), document, now=0.0, scrub=str)
    return failure.error_code, failure.retryable, failure.details.get("providerCode")


def test_the_answer_is_what_the_last_event_holds_exactly() -> None:
    held = response("r1", REASONING, said("\\ud83d"), n=1)

    assert read(created("r1"), completed("r1", REASONING, said("\\ud83d"), n=1))[0] == held
    assert read(completed("r1", REASONING, said("\\ud83d"), n=1))[0] == held


@pytest.mark.parametrize("kind", ["response.completed", "response.done", "response.incomplete"])
def test_each_word_for_the_end_is_an_end(kind: str) -> None:
    event = completed("r1", said("Hi.")).replace("response.completed", kind)

    assert Listener(None)(event.encode())
    assert read(created("r1"), event)[1]["id"] == "r1"


@pytest.mark.parametrize("last", ['"output":[],', "", '"output":null,'])
def test_an_answer_without_its_items_gets_those_that_were_told_as_they_were_told(last: str) -> None:
    added = done(0, '{"type":"reasoning","encrypted_content":"part"}').replace("done", "added")
    odd = REASONING.replace("}", ',"n": 1.10 }')
    end = f'{{"type":"response.completed","response":{{"id":"r1",{last}"status":"completed"}}}}'
    body = responses.read("\n".join([added, done(1, asked("c1")), "7", done(0, odd), end]).encode())
    answer = responses.decode(body, HERE, TOOLS, "o")

    (native,) = [part for part in answer.message.parts if isinstance(part, NativePart)]
    assert native.value.decode() == f"[{odd},{asked('c1')}]"
    assert [call.id for call in answer.tool_calls] == ["c1"]
    assert answer.id == "r1"


def test_an_answer_that_holds_its_items_is_not_added_to() -> None:
    assert read(done(0, REASONING), done(1, asked("c1")), completed("r1", said("Hi.")))[1]["output"] == [
        json.loads(said("Hi."))
    ]


@trap(44)
def test_a_code_is_found_inside_an_error_and_beside_it() -> None:
    nested = fault("rate_limit_exceeded", "Slow.", status=429)
    flat = '{"type":"error","code":"rate_limit_exceeded","message":"Slow.","param":null,"sequence_number":3}'
    failed = '{"type":"response.failed","response":{"id":"r1","status":"failed","error":{"code":"rate_limit_exceeded","message":"Slow."}}}'
    told: list[tuple[str, str]] = []
    for event in (nested, flat, failed):
        listener = Listener(None)
        assert listener(event.encode())
        told.append(listener.fault)

    assert told == [("rate_limit_exceeded", "Slow.")] * 3
    read_back = [responses.error_in(responses.read(event.encode())) for event in (nested, flat, failed)]
    assert {fails(document) for document in read_back} == {("model.provider_rate_limited", True, "rate_limit_exceeded")}


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (401, "model.request_failed", False),
        (429, "model.provider_rate_limited", True),
        (503, "model.request_failed", True),
    ],
)
def test_an_error_event_s_status_is_that_of_its_refusal(status: int, code: str, retryable: bool) -> None:
    document = responses.error_in(responses.read(fault(None, status=status, kind="odd").encode()))

    assert fails(document)[:2] == (code, retryable)


def test_a_failed_response_that_does_not_say_why_is_a_failure() -> None:
    body = responses.read(response("r1", status="failed", error=None).encode())

    assert fails(responses.error_in(body))[:2] == ("model.request_failed", False)


def test_an_answer_holds_no_error() -> None:
    assert responses.error_in(responses.read(response("r1", said("x"), error=None).encode())) is None
    assert responses.error_in(responses.read(b'{"error":{"message":"no"}}')) == {"error": {"message": "no"}}


@pytest.mark.parametrize(
    "data",
    [
        "",
        "  ",
        "<html>no</html>",
        '{"id":"r1"',
        "[1]",
        'data: {"type":"response.created"}',
        '{"id":NaN}',
        '{"type":"response.completed"}',
        '{"type":"response.completed","response":[]}',
        created("r1") + "\n" + created("r1"),
        created("r1") + "\nnot JSON",
        created("r1") + "\n" + completed("r1", said("x"))[:-1],
    ],
)
def test_what_is_no_answer_can_not_be_read(data: str) -> None:
    with pytest.raises(Unreadable):
        responses.read(data.encode())


def test_a_response_over_many_lines_is_one_document() -> None:
    text = json.dumps(json.loads(response("r1", said("x"))), indent=1)

    assert read(text)[0] == text


def test_a_frame_that_is_no_json_ends_a_turn_and_answers_nothing() -> None:
    listener = Listener(None)

    assert [listener(frame) for frame in (b'"text"', b"{}", b'{"type":7}', b'{"type":["error"]}')] == [False] * 4
    assert listener(b"\xff")
    assert (listener.answered, listener.frames) == (None, 5)


@trap(42)
def test_another_response_s_events_end_nothing() -> None:
    listener = Listener("r1")

    assert not listener(completed("r1").encode())
    assert not listener(created("r2").encode())
    assert not listener(completed("r1").encode())
    assert listener(completed("r2").encode())
    assert listener.answered == "r2"


def test_an_error_ends_the_turn_of_any_response() -> None:
    listener = Listener("r1")
    listener(created("r2").encode())

    assert listener(fault("server_error").encode())
    assert listener.answered is None
