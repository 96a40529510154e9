"""The chat-completions simulator answers from its script, and refuses what real servers refuse."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from treadle.graph.jsontext import Json
from treadle.testkit.replies import Reply, call, calls, error, text
from treadle.testkit.simulators.chat_completions import ChatCompletionsServer
from treadle.testkit.simulators.http_server import Received

ASK = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


async def post(client: httpx.AsyncClient, server: ChatCompletionsServer, body: Json = ASK) -> httpx.Response:
    return await client.post(f"{server.base_url}/chat/completions", json=body)


async def test_it_answers_byte_for_byte_in_the_order_of_its_script() -> None:
    script = [Reply(b'{"a" : 1.10}'), error(429, "slow", retry_after="2"), text("third")]
    async with ChatCompletionsServer(script) as server, httpx.AsyncClient(trust_env=False) as client:
        answers = [await post(client, server) for _ in range(3)]

    assert answers[0].content == b'{"a" : 1.10}'
    assert (answers[1].status_code, answers[1].headers["retry-after"]) == (429, "2")
    assert answers[2].json()["choices"][0]["message"]["content"] == "third"
    assert (server.steps_left, server.connections) == (0, 1)


async def test_a_step_may_be_made_from_the_request() -> None:
    def echo(request: Received) -> Reply:
        return text(request.json()["messages"][-1]["content"])

    async with ChatCompletionsServer([echo]) as server, httpx.AsyncClient(trust_env=False) as client:
        answer = await post(client, server)

    assert answer.json()["choices"][0]["message"]["content"] == "hi"
    assert json.loads(server.requests[0].body) == ASK


async def test_a_request_that_breaks_a_rule_is_refused_and_uses_up_no_step() -> None:
    async with ChatCompletionsServer([text("ok")]) as server, httpx.AsyncClient(trust_env=False) as client:
        refused = await post(client, server, {**ASK, "_secret": 1})
        broken = await client.post(f"{server.base_url}/chat/completions", content=b"{")
        answer = await post(client, server)

    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "_secret")
    assert (broken.status_code, answer.status_code) == (400, 200)
    assert len(server.refusals) == 2


async def test_a_script_that_is_used_up_says_so() -> None:
    async with ChatCompletionsServer([]) as server, httpx.AsyncClient(trust_env=False) as client:
        answer = await post(client, server)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "script_exhausted")


async def test_other_paths_and_other_keys_are_refused() -> None:
    async with ChatCompletionsServer([], api_key="k") as server, httpx.AsyncClient(trust_env=False) as client:
        nowhere = await client.get(f"{server.base_url}/nowhere")
        stranger = await post(client, server)

    assert (nowhere.status_code, stranger.status_code) == (404, 401)


@pytest.mark.parametrize("broken", [Reply(b"{}" * 50, drop="before_answer"), Reply(b"{}" * 50, drop="inside_body")])
async def test_it_breaks_connections_off_when_told_to(broken: Reply) -> None:
    async with ChatCompletionsServer([broken, text("ok")]) as server, httpx.AsyncClient(trust_env=False) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await post(client, server)
        answer = await post(client, server)

    assert answer.status_code == 200


async def test_it_waits_on_the_sleep_it_was_given() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    steps = [text("late").after(30)]
    async with ChatCompletionsServer(steps, sleep=sleep) as server, httpx.AsyncClient(trust_env=False) as client:
        await post(client, server)

    assert slept == [30]


async def test_it_closes_while_an_answer_is_still_due() -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        async with ChatCompletionsServer([text("late").after(3600)]) as server:
            asking = asyncio.create_task(post(client, server))
            while not server.requests:
                await asyncio.sleep(0.001)
        with pytest.raises(httpx.TransportError):
            await asking


def test_the_port_is_known_only_while_it_runs() -> None:
    with pytest.raises(RuntimeError, match="async with"):
        _ = ChatCompletionsServer([calls(call("workspace.finish"))]).base_url
