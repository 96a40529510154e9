"""A run's turns over real sockets: only what is new while the server remembers, all of it once where it does not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from treadle.gateway.gateway import ModelGateway
from treadle.gateway.transports.http import HttpTransport
from treadle.gateway.transports.websocket import WebSocketTransport
from treadle.testkit.ports import ManualClock

from .responses_side import (
    REASONING,
    Close,
    Silence,
    asked,
    at,
    completed,
    created,
    fault,
    said,
)
from .talk import FIRST, SECOND, START, WHOLE, Talk, kinds, side
from .traps import trap
from .words import KEY, MemorySecrets


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def gateway(clock: ManualClock) -> AsyncIterator[ModelGateway]:
    made = ModelGateway(HttpTransport(), MemorySecrets(), clock, sockets=WebSocketTransport(clock))
    yield made
    await made.close()


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0.005)


async def test_the_second_turn_sends_only_the_results_over_the_same_socket(gateway: ModelGateway) -> None:
    async with side(FIRST, SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        first, second = await talk.round(), await talk.round()

    assert server.by == [1, 1]
    assert [turn["type"] for turn in server.turns] == ["response.create"] * 2
    assert kinds(server.turns[0]) == ["developer", "user"]
    assert kinds(server.turns[1]) == ["function_call_output"]
    assert server.turns[1]["previous_response_id"] == "r1"
    assert server.turns[1]["tools"] == server.turns[0]["tools"]
    assert first.body == "\n".join(FIRST).encode()
    assert (first.replays, second.replays, second.response.text) == ((), (), "Done.")


async def test_the_state_tells_what_can_be_built_on(gateway: ModelGateway) -> None:
    async with side(FIRST).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()

    assert talk.state == {
        "sessionId": "run-1",
        "chatCompletionSource": "custom",
        "providerFormat": "openai_responses",
        "connectionKey": talk.here.key,
        "model": "m",
        "messageCursor": 2,
        "lastResponseId": "r1",
        "nativeContinuation": {"provider": "openai_responses", "partCount": 1},
        "transport": "responses_websocket",
        "previousResponseId": "r1",
    }


async def test_neither_session_nor_state_goes_out_and_the_key_goes_in_a_header(gateway: ModelGateway) -> None:
    async with side(FIRST, SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        await talk.round()

    sent = json.dumps([server.turns, server.headers])
    assert "run-1" not in sent and "messageCursor" not in sent and "_tauritavern" not in sent
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in json.dumps(server.turns)


async def test_each_turn_is_recorded_as_it_went(gateway: ModelGateway) -> None:
    async with side(FIRST).running() as server:
        talk = Talk(gateway, at(server.base_url))
        exchange = await talk.round()

    (call,) = talk.heard
    assert (call.transport, call.error) == ("responses_websocket", None)
    assert call.reply is not None and call.reply.body == exchange.body
    assert json.loads(call.request.body) == server.turns[0]
    assert b"".join(call.request.pieces) == call.request.body


@trap(40)
async def test_a_socket_closed_between_turns_costs_one_whole_transcript_and_no_retry(gateway: ModelGateway) -> None:
    async with side(FIRST, SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        await server.sockets[0].close(1001)
        await settled()
        exchange = await talk.round()

    assert exchange.replays == ("socket_lost",)
    assert server.by == [1, 2]
    assert kinds(server.turns[1]) == WHOLE
    assert "previous_response_id" not in server.turns[1]
    assert server.turns[1]["input"][2:4] == [json.loads(REASONING), json.loads(asked("c1"))]
    assert exchange.provider_state["previousResponseId"] == "r2"


@trap(40)
async def test_a_socket_that_ends_as_a_turn_is_sent_costs_one_whole_transcript_too(gateway: ModelGateway) -> None:
    async with side(FIRST, Close(1000), SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        exchange = await talk.round()

    assert exchange.replays == ("socket_lost",)
    assert server.by == [1, 1, 2]
    assert [kinds(turn) for turn in server.turns[1:]] == [["function_call_output"], WHOLE]
    assert [call.error is None for call in talk.heard] == [True, False, True]


@trap(40)
async def test_an_answer_that_is_forgotten_costs_one_whole_transcript_on_a_new_socket(gateway: ModelGateway) -> None:
    async with side(FIRST, fault("previous_response_not_found"), SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        exchange = await talk.round()

    assert exchange.replays == ("previous_response_not_found",)
    assert server.by == [1, 1, 2]
    assert kinds(server.turns[2]) == WHOLE
    assert "previous_response_id" not in server.turns[2]


async def test_there_is_one_repeat_and_no_more(gateway: ModelGateway) -> None:
    lost = fault("previous_response_not_found")
    async with side(FIRST, lost, lost, SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        failure = await talk.failure()

    assert len(server.turns) == 3
    assert (failure.error_code, failure.retryable) == ("model.request_failed", False)
    assert failure.details["providerCode"] == "previous_response_not_found"


async def test_results_that_the_server_misses_are_sent_with_all_the_rest(gateway: ModelGateway) -> None:
    missed = fault(None, "No tool output found for function call c1.")
    async with side(FIRST, missed, SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        exchange = await talk.round()

    assert exchange.replays == ("no_tool_output",)
    assert kinds(server.turns[2]) == WHOLE


@trap(41)
async def test_a_socket_at_the_server_s_age_limit_is_opened_anew(gateway: ModelGateway) -> None:
    async with side(FIRST, fault("websocket_connection_limit_reached"), SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        exchange = await talk.round()

    assert exchange.replays == ("websocket_connection_limit_reached",)
    assert server.by == [1, 1, 2]
    assert kinds(server.turns[2]) == WHOLE


@trap(41)
async def test_a_first_turn_at_the_limit_is_repeated_too_and_a_second_limit_is_worth_a_retry(
    gateway: ModelGateway,
) -> None:
    limit = fault("websocket_connection_limit_reached")
    async with side(limit, limit).running() as server:
        failure = await Talk(gateway, at(server.base_url)).failure()

    assert (len(server.turns), failure.retryable) == (2, True)


@trap(41)
async def test_a_socket_of_an_hour_is_not_used_again(gateway: ModelGateway, clock: ManualClock) -> None:
    async with side(FIRST, SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        clock.advance(56 * 60)
        exchange = await talk.round()

    assert exchange.replays == ("socket_expired",)
    assert server.by == [1, 2]
    assert kinds(server.turns[1]) == WHOLE


async def test_an_answer_that_came_but_was_not_taken_is_not_built_on(gateway: ModelGateway) -> None:
    async with side(FIRST, completed("r2", said("Unused.")), SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        state, messages = talk.state, list(talk.messages)
        await talk.round()
        talk.state, talk.messages = state, messages
        exchange = await talk.round()

    assert exchange.replays == ("turn_failed",)
    assert server.by == [1, 1, 1]
    assert kinds(server.turns[2]) == WHOLE


async def test_a_server_that_stores_is_asked_to_go_on_over_a_new_socket(gateway: ModelGateway) -> None:
    async with side(FIRST, SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url), store=True)
        await talk.round()
        await server.sockets[0].close()
        await settled()
        exchange = await talk.round()

    assert (exchange.replays, server.by) == ((), [1, 2])
    assert server.turns[1]["previous_response_id"] == "r1"


@trap(42)
async def test_after_a_cancelled_turn_nothing_of_it_is_taken_for_the_next_answer(gateway: ModelGateway) -> None:
    async with side(FIRST, Silence(), SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        turn = asyncio.create_task(talk.round())
        while len(server.turns) < 2:
            await asyncio.sleep(0.005)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        exchange = await talk.round()

    assert talk.heard[1].error == "cancelled"
    assert (exchange.response.text, exchange.replays) == ("Done.", ("socket_lost",))
    assert server.by == [1, 1, 2]


@trap(43)
@pytest.mark.parametrize("code", [1000, 1001, 1011])
async def test_a_close_before_the_last_event_is_a_fault_and_no_answer(gateway: ModelGateway, code: int) -> None:
    async with side(Close(code, (created("r1"),))).running() as server:
        talk = Talk(gateway, at(server.base_url))
        failure = await talk.failure()

    assert (failure.error_code, failure.retryable) == ("model.request_failed", True)
    assert talk.state == START
    assert server.by == [1]


@trap(43)
async def test_a_close_in_the_middle_of_a_later_turn_is_left_to_the_run_s_retry(gateway: ModelGateway) -> None:
    async with side(FIRST, Close(1000, (created("r2"),)), SECOND).running() as server:
        talk = Talk(gateway, at(server.base_url))
        await talk.round()
        failure = await talk.failure()
        exchange = await talk.round()

    assert failure.retryable
    assert exchange.replays == ("socket_lost",)
    assert kinds(server.turns[2]) == WHOLE


async def test_a_session_that_is_closed_ends_its_turn(gateway: ModelGateway) -> None:
    async with side().running() as server:
        turn = asyncio.create_task(Talk(gateway, at(server.base_url)).failure())
        while not server.turns:
            await asyncio.sleep(0.005)
        gateway.close_session("unknown")
        gateway.close_session("run-1")
        failure = await turn

    assert failure.error_code == "model.cancelled"
