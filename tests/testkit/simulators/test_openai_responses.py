"""The Responses simulator answers over HTTP from its script, and breaks off, waits and refuses when told to."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from treadle.graph.jsontext import Json, loads
from treadle.testkit.replies import Reply, call, error
from treadle.testkit.simulators.http_server import Received
from treadle.testkit.simulators.openai_responses import OpenAIResponsesServer
from treadle.testkit.simulators.responses_script import GIANT, Answer, Broken, Reasoning, Say, answers, giant

from .asking_responses import KEY, USER, encrypted, post, refusal, request, result


async def test_it_answers_with_one_document() -> None:
    async with OpenAIResponsesServer([answers(Reasoning("why"), call("workspace.finish", a=1))]) as server:
        answer = await post(server, encrypted(USER))
    document = answer.json()
    thought, made = document["output"]

    assert (answer.status_code, document["object"], document["status"]) == (200, "response", "completed")
    assert (thought["type"], thought["summary"][0]["text"]) == ("reasoning", "why")
    assert thought["encrypted_content"].startswith("gAAAA")
    assert (made["name"], made["arguments"]) == ("workspace_finish", '{"a":1}')
    assert made["id"] != made["call_id"]
    assert server.steps_left == 0


async def test_reasoning_is_encrypted_only_where_that_was_asked_for() -> None:
    async with OpenAIResponsesServer([answers(Reasoning(), Say("hi"))]) as server:
        document = (await post(server, request(USER))).json()

    assert "encrypted_content" not in document["output"][0]


async def test_items_given_as_bytes_go_out_as_they_are() -> None:
    odd = b'{"type" : "message", "id":"msg_1", "x":1.10,"role":"assistant","content":[]}'
    async with OpenAIResponsesServer([answers(odd)]) as server:
        answer = await post(server, request(USER))

    assert odd in answer.content


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Answer((), "incomplete", "max_output_tokens"), ("incomplete", {"reason": "max_output_tokens"}, None)),
        (Answer((), "failed", "server_error"), ("failed", None, "server_error")),
    ],
)
async def test_a_response_may_end_otherwise(answer: Answer, told: Json) -> None:
    async with OpenAIResponsesServer([answer]) as server:
        document = (await post(server, request(USER))).json()
    fault = document["error"]

    assert (document["status"], document["incomplete_details"], fault and fault["code"]) == told


async def test_a_reply_goes_out_as_it_is() -> None:
    limited = error(429, "slow", type="requests", code="rate_limit_exceeded", retry_after="2")
    async with OpenAIResponsesServer([limited, Reply(b"<html>")]) as server:
        first, second = await post(server, request(USER)), await post(server, request(USER))

    assert (first.status_code, first.headers["retry-after"]) == (429, "2")
    assert first.json()["error"]["code"] == "rate_limit_exceeded"
    assert second.content == b"<html>"


async def test_a_step_may_be_made_from_the_request() -> None:
    def echo(received: Received) -> Answer:
        return answers(Say(received.json()["input"][0]["content"]))

    async with OpenAIResponsesServer([echo]) as server:
        document = (await post(server, request(USER))).json()

    assert document["output"][0]["content"][0]["text"] == "hi"
    assert server.requests[0].method == "POST"


async def test_an_answer_may_be_larger_than_three_mebibytes() -> None:
    async with OpenAIResponsesServer([giant()]) as server:
        answer = await post(server, request(USER))

    assert len(answer.content) > GIANT


async def test_a_refused_request_uses_up_no_step_and_a_used_up_script_says_so() -> None:
    async with OpenAIResponsesServer([answers(Say("hi"))]) as server:
        refused = await refusal(server, request(USER, zz=1))
        answer = await post(server, request(USER))
        after = await refusal(server, request(USER))

    assert (refused["param"], answer.status_code, after["code"]) == ("zz", 200, "script_exhausted")
    assert (server.refusals, len(server.requests)) == (["Unknown parameter: 'zz'."], 3)


@pytest.mark.parametrize("events", [0, 2])
async def test_a_broken_turn_is_a_broken_connection(events: int) -> None:
    async with OpenAIResponsesServer([Broken(answers(Say("hi")), events)]) as server:
        with pytest.raises(httpx.RemoteProtocolError):
            await post(server, request(USER))


async def test_it_waits_on_the_sleep_it_was_given() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async with OpenAIResponsesServer([answers(Say("late")).after(30)], sleep=sleep) as server:
        await post(server, request(USER))

    assert slept == [30]


async def test_a_client_that_leaves_is_counted() -> None:
    async with OpenAIResponsesServer([answers(Say("late")).after(3600)]) as server:
        asking = asyncio.create_task(post(server, request(USER)))
        while not server.requests:
            await asyncio.sleep(0.001)
        asking.cancel()
        while not server.aborted:
            await asyncio.sleep(0.001)

    assert server.aborted == 1


@pytest.mark.parametrize(
    ("method", "path", "headers", "told"),
    [
        ("POST", "/nowhere", KEY, (404, "unknown_url")),
        ("GET", "/responses", KEY, (405, None)),
        ("POST", "/responses", {}, (401, None)),
        ("POST", "/responses", {"authorization": "Basic k"}, (401, None)),
        ("POST", "/responses", {"authorization": "k"}, (401, None)),
        ("POST", "/responses", {"authorization": "Bearer other"}, (401, "invalid_api_key")),
        ("POST", "/responses", {**KEY, "content-type": "text/plain"}, (400, "unsupported_content_type")),
    ],
)
async def test_strangers_and_other_doors_are_refused(
    method: str, path: str, headers: dict[str, str], told: tuple[int, str | None]
) -> None:
    async with OpenAIResponsesServer([], api_key="k") as server, httpx.AsyncClient(trust_env=False) as client:
        answer = await client.request(method, f"{server.base_url}{path}", headers=headers, content=b"{}")

    assert (answer.status_code, loads(answer.content)["error"]["code"]) == told


async def test_over_http_no_response_can_be_continued() -> None:
    async with OpenAIResponsesServer([answers(call("a"))]) as server:
        first = (await post(server, request(USER))).json()
        made = first["output"][0]["call_id"]
        refused = await refusal(server, request(result(made), previous_response_id=first["id"]))

    assert (refused["code"], refused["param"]) == ("previous_response_not_found", "previous_response_id")
    assert refused["message"] == f"Previous response with id '{first['id']}' not found."


def test_it_names_its_format_and_a_model() -> None:
    server = OpenAIResponsesServer([])

    assert (server.format, server.model) == ("openai_responses", "gpt-scripted-1")


def test_the_port_is_known_only_while_it_runs() -> None:
    with pytest.raises(RuntimeError, match="async with"):
        _ = OpenAIResponsesServer([]).base_url
