"""The server that all simulators are keeps to its script, records what it was sent, and breaks what it is told to break."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from treadle.testkit.replies import Reply, call
from treadle.testkit.simulators.claude_messages import claude_messages
from treadle.testkit.simulators.gemini import gemini
from treadle.testkit.simulators.http_server import Received
from treadle.testkit.simulators.provider import PAGE, Said, ScriptedServer, Step
from treadle.testkit.turns import Fault, Refusal, says

from .asking import CLAUDE_HEADERS, GOOGLE_HEADERS, post

ASK = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}


async def ask(server: ScriptedServer) -> httpx.Response:
    return await post(server, "/messages", CLAUDE_HEADERS, ASK)


async def test_it_says_turns_refusals_and_bytes_in_the_order_of_its_script() -> None:
    steps: list[Step] = [says("one"), Refusal(529, "Overloaded", headers={"retry-after": "2"}), Reply(b'{"a" : 1.10}')]
    async with claude_messages(steps) as server:
        answers = [await ask(server) for _ in range(3)]

    assert answers[0].json()["content"] == [{"type": "text", "text": "one"}]
    assert (answers[1].status_code, answers[1].headers["retry-after"]) == (529, "2")
    assert answers[1].json()["error"] == {"type": "overloaded_error", "message": "Overloaded"}
    assert answers[2].content == b'{"a" : 1.10}'
    assert server.steps_left == 0


async def test_it_records_requests_as_they_came() -> None:
    raw = b'{"model" : "m", "max_tokens": 9, "messages": [{"content":"hi", "role":"user"}]}'
    async with claude_messages([says("ok")]) as server:
        await post(server, "/messages", {**CLAUDE_HEADERS, "X-Own": "1"}, raw)

    assert (server.requests[0].body, server.requests[0].headers["x-own"]) == (raw, "1")


async def test_a_step_may_be_made_from_the_request() -> None:
    def echo(request: Received) -> Said:
        return says(request.json()["messages"][0]["content"])

    async with claude_messages([echo]) as server:
        answer = await ask(server)

    assert answer.json()["content"][0]["text"] == "hi"


async def test_a_refused_request_uses_up_no_step_and_a_used_up_script_says_so() -> None:
    async with claude_messages([says("ok")]) as server:
        refused = await post(server, "/messages", CLAUDE_HEADERS, {**ASK, "_secret": 1})
        answers = [await ask(server) for _ in range(2)]

    assert [answer.status_code for answer in (refused, *answers)] == [400, 200, 400]
    assert answers[1].json()["error"]["type"] == "script_exhausted"
    assert server.refusals == ["_secret: Extra inputs are not permitted"]


async def test_what_a_provider_has_no_word_for_is_refused() -> None:
    ask_gemini = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    async with gemini([says("so far", finish="pause")]) as server:
        answer = await post(server, "/v1beta/models/gemini-3-x:generateContent", GOOGLE_HEADERS, ask_gemini)

    assert answer.json()["error"]["status"] == "script_unsayable"


@pytest.mark.parametrize("fault", ["drop", "break_off"])
async def test_it_breaks_connections_off(fault: Fault) -> None:
    async with claude_messages([says("lost").broken(fault), says("ok")]) as server:
        with pytest.raises(httpx.RemoteProtocolError):
            await ask(server)
        answer = await ask(server)

    assert answer.status_code == 200


async def test_it_sends_what_is_no_answer() -> None:
    steps: list[Step] = [says("cut").broken("truncate"), says("page").broken("html"), Refusal(502).broken("html")]
    async with claude_messages([*steps, says("none").broken("empty")]) as server:
        cut, page, gateway, empty = [await ask(server) for _ in range(4)]

    with pytest.raises(ValueError):
        cut.json()
    assert (page.status_code, page.content, page.headers["content-type"]) == (200, PAGE, "text/html")
    assert (gateway.status_code, gateway.content) == (502, PAGE)
    assert (empty.status_code, empty.content) == (200, b"")


async def test_it_waits_on_the_sleep_it_was_given() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async with claude_messages([says("late").after(30), Refusal(500).after(7)], sleep=sleep) as server:
        await ask(server)
        await ask(server)

    assert slept == [30, 7]


async def test_it_closes_while_an_answer_is_still_due() -> None:
    async with claude_messages([says("late").after(3600)]) as server:
        asking = asyncio.create_task(ask(server))
        while not server.requests:
            await asyncio.sleep(0.001)
    with pytest.raises(httpx.TransportError):
        await asking


async def test_arguments_that_are_text_go_out_as_they_are() -> None:
    made = call("workspace.finish")
    async with claude_messages([says("", type(made)("workspace.finish", '{"a" : 1.10}'))]) as server:
        answer = await ask(server)

    assert b'"input": {"a" : 1.10}}' in answer.content
    assert answer.json()["content"][0]["name"] == "workspace_finish"
