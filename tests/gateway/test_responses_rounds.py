"""Whole rounds against a provider on loopback that refuses what the real one refuses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from treadle.gateway.gateway import ModelGateway
from treadle.gateway.transports.http import HttpTransport
from treadle.gateway.transports.websocket import WebSocketTransport
from treadle.graph.messages import Message, NativePart
from treadle.testkit.ports import ManualClock
from treadle.testkit.replies import Call, error
from treadle.testkit.simulators.openai_responses import OpenAIResponsesServer
from treadle.testkit.simulators.responses_script import Reasoning, Say, answers, limit_reached

from .responses_side import at
from .talk import Talk
from .words import KEY, MemorySecrets

LISTS = answers(Reasoning("Need it."), Call("workspace_list_files", {}), Call("workspace_read_file", {"path": "é"}))
LISTS_AGAIN = answers(Reasoning(), Call("workspace_list_files", {"path": "plan"}))
ENDS = answers(Say("Done."))


@pytest.fixture
async def gateway() -> AsyncIterator[ModelGateway]:
    clock = ManualClock()
    made = ModelGateway(HttpTransport(), MemorySecrets(), clock, sockets=WebSocketTransport(clock))
    yield made
    await made.close()


def methods(server: OpenAIResponsesServer) -> list[str]:
    return [request.method for request in server.requests]


async def test_three_rounds_over_a_socket_break_no_rule(gateway: ModelGateway) -> None:
    async with OpenAIResponsesServer([LISTS, LISTS_AGAIN, ENDS], api_key=KEY) as server:
        talk = Talk(gateway, at(server.base_url), reasoning_effort="high", include_reasoning=True)
        last = [await talk.round() for _ in range(3)][-1]

    assert server.refusals == []
    assert (methods(server), server.sockets) == (["WEBSOCKET"] * 3, 1)
    assert [len(request.json()["input"]) for request in server.requests] == [2, 2, 1]
    assert last.response.text == "Done."


async def test_three_rounds_by_http_break_no_rule(gateway: ModelGateway) -> None:
    async with OpenAIResponsesServer([LISTS, LISTS_AGAIN, ENDS], api_key=KEY) as server:
        server.refuse_upgrades(error(405, "Method Not Allowed"), None)
        talk = Talk(gateway, at(server.base_url))
        last = [await talk.round() for _ in range(3)][-1]

    assert server.refusals == []
    assert methods(server) == ["POST"] * 3
    assert last.response.text == "Done."


async def test_a_forgotten_answer_and_a_socket_at_its_limit_are_got_over(gateway: ModelGateway) -> None:
    async with OpenAIResponsesServer([LISTS, LISTS_AGAIN, limit_reached(), ENDS], api_key=KEY) as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        server.forget()
        second, third = await talk.round(), await talk.round()

    assert (second.replays, third.replays) == (
        ("previous_response_not_found",),
        ("websocket_connection_limit_reached",),
    )
    assert len(server.refusals) == 1
    assert server.sockets == 3
    assert third.response.text == "Done."


async def test_a_history_of_another_provider_breaks_no_rule(gateway: ModelGateway) -> None:
    async with OpenAIResponsesServer([LISTS, ENDS], api_key=KEY) as server:
        first = Talk(gateway, at(server.base_url))
        await first.round()
        there = replace(first.here, model="another")
        moved = Talk(gateway, there)
        moved.messages, moved.state = first.messages, first.state
        exchange = await moved.round()

    assert server.refusals == []
    assert [item.get("type") for item in server.requests[1].json()["input"]].count("reasoning") == 0
    assert exchange.response.text == "Done."


async def test_an_answer_in_canonical_words_breaks_no_rule(gateway: ModelGateway) -> None:
    async with OpenAIResponsesServer([LISTS, ENDS], api_key=KEY) as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        talk.messages = [_bare(message) for message in talk.messages]
        talk.state = {"sessionId": "run-1"}
        await talk.round()

    assert server.refusals == []


def _bare(message: Message) -> Message:
    return replace(message, parts=tuple(part for part in message.parts if not isinstance(part, NativePart)))
