"""A format-neutral script drives the Responses simulator, over HTTP and on a socket."""

from __future__ import annotations

import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from treadle.graph.jsontext import Json, loads
from treadle.testkit.replies import call
from treadle.testkit.simulators.openai_responses import OpenAIResponsesServer
from treadle.testkit.simulators.responses_turns import scripted
from treadle.testkit.turns import Fault, Finish, Refusal, Turn, Usage, says

from .asking_responses import USER, encrypted, frames, last, post, request, send, socket

CASES: list[tuple[Finish, str, str | None]] = [
    ("stop", "completed", None),
    ("length", "incomplete", "max_output_tokens"),
    ("filter", "incomplete", "content_filter"),
]


async def test_a_turn_is_reasoning_blocks_text_and_calls() -> None:
    block = b'{"type":"web_search_call","id":"ws_1","x":1.10}'
    usage = Usage(9, 5, thinking=2, cached=3)
    turn = says("so", call("a.b", c=1), reasoning="why", usage=usage, blocks=(block,), service_tier="flex")
    async with OpenAIResponsesServer([turn]) as server:
        answer = await post(server, encrypted(USER))
    document = answer.json()

    assert [item["type"] for item in document["output"]] == ["reasoning", "web_search_call", "message", "function_call"]
    assert block in answer.content
    assert (document["service_tier"], document["output"][3]["name"]) == ("flex", "a_b")
    assert document["usage"] == {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 3},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 16,
    }


@pytest.mark.parametrize(("finish", "status", "reason"), CASES)
async def test_an_end_has_its_status(finish: Finish, status: str, reason: str | None) -> None:
    async with OpenAIResponsesServer([says("x", finish=finish)]) as server, socket(server) as opened:
        event = await last(opened, request(USER))
    details = event["response"]["incomplete_details"]

    assert (event["type"], details and details["reason"]) == (f"response.{status}", reason)


async def test_a_refusing_model_says_so_in_a_part() -> None:
    async with OpenAIResponsesServer([says("no", finish="refusal")]) as server:
        document = (await post(server, request(USER))).json()

    assert document["output"][0]["content"] == [{"type": "refusal", "refusal": "no"}]


REFUSALS: list[tuple[Refusal, str, str | None]] = [
    (Refusal(429), "invalid_request_error", "rate_limit_exceeded"),
    (Refusal(429, code="insufficient_quota"), "invalid_request_error", "insufficient_quota"),
    (Refusal(503), "server_error", "server_error"),
    (Refusal(400), "invalid_request_error", None),
]


@pytest.mark.parametrize(("refused", "kind", "code"), REFUSALS)
async def test_a_refusal_is_in_the_provider_s_shape(refused: Refusal, kind: str, code: str | None) -> None:
    async with OpenAIResponsesServer([refused, refused]) as server, socket(server) as opened:
        answer = await post(server, request(USER))
        event = await last(opened, request(USER))
    told: Json = {"message": "The server refused.", "type": kind, "param": None, "code": code}

    assert (answer.status_code, answer.json()["error"]) == (refused.status, told)
    assert (event["type"], event["status"], event["error"]) == ("error", refused.status, told)


async def test_headers_of_a_refusal_go_along() -> None:
    async with OpenAIResponsesServer([Refusal(429, headers={"retry-after": "2"})]) as server:
        answer = await post(server, request(USER))

    assert answer.headers["retry-after"] == "2"


@pytest.mark.parametrize("fault", ["drop", "break_off"])
async def test_what_breaks_off_breaks_the_connection(fault: Fault) -> None:
    turn = says("x").broken(fault)
    async with OpenAIResponsesServer([turn, turn]) as server, socket(server) as opened:
        with pytest.raises(httpx.RemoteProtocolError):
            await post(server, request(USER))
        await send(opened, request(USER))
        with pytest.raises(ConnectionClosed) as closed:
            await frames(opened)

    assert closed.value.rcvd is None


@pytest.mark.parametrize("said", [says("x"), Refusal(503)], ids=["turn", "refusal"])
@pytest.mark.parametrize("fault", ["truncate", "html", "empty"])
async def test_a_spoilt_body_is_no_json_nor_is_the_last_frame(fault: Fault, said: Turn | Refusal) -> None:
    async with OpenAIResponsesServer([said.broken(fault)] * 2) as server, socket(server) as opened:
        answer = await post(server, request(USER))
        await send(opened, request(USER))
        with pytest.raises(ValueError):
            while True:
                loads(await opened.recv(decode=False))

    assert answer.status_code == (200 if isinstance(said, Turn) else 503)
    assert answer.content.startswith({"truncate": b"{", "html": b"<!DOCTYPE", "empty": b""}[fault])


def test_a_pause_is_no_word_of_this_provider() -> None:
    with pytest.raises(ValueError, match="does not pause"):
        scripted(says("x", finish="pause"))
