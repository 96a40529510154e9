"""A run over its provider's WebSocket: what is journalled of it, and that its end waits for no socket."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from websockets.asyncio.server import ServerConnection

from treadle.engine.engine import Engine
from treadle.gateway.transports.socket_times import SocketTimes
from treadle.gateway.transports.websocket import WebSocketTransport
from treadle.graph.events import EventType
from treadle.graph.jsontext import Json
from treadle.graph.status import RunStatus
from treadle.testkit.replies import call
from treadle.testkit.simulators.openai_responses import OpenAIResponsesServer
from treadle.testkit.turns import says

from ..gateway.responses_side import REASONING, Answer, ResponsesSide, asked, completed, created, fault
from ..scenarios.stage import RUN, Played, Stage
from . import upstream

WRITE = completed(
    "r1", REASONING, asked("c1", "workspace_write_file", json.dumps({"path": "output/main.md", "content": "Tea."}))
)
END = completed("r2", asked("c2", "workspace_commit"), asked("c3", "workspace_finish"))
HANGS_S = 10.0


class Deaf(ResponsesSide):
    """It hears nothing after its last answer, not even that its client takes leave."""

    async def _answer(self, socket: ServerConnection, answer: Answer) -> None:
        await super()._answer(socket, answer)
        if not self._answers:
            socket.transport.pause_reading()


def request(stage: Stage, side: ResponsesSide) -> dict[str, Json]:
    made = stage.request(side.base_url)
    made["promptSnapshot"]["chatCompletionPayload"]["custom_api_format"] = "openai_responses"
    return made


@asynccontextmanager
async def over(stage: Stage, sockets: WebSocketTransport | None = None) -> AsyncGenerator[Engine]:
    async with Engine(
        stage.root, stage.host, sockets=sockets, clock=stage.clock, ids=stage.ids, disk=stage.disk
    ) as engine:
        yield engine


async def play(stage: Stage, side: ResponsesSide) -> Played:
    async with over(stage) as engine, side.running():
        await engine.start_run_with_prompt_snapshot(request(stage, side))
        await engine.wait(RUN)
        return await stage.played(engine)


def of(played: Played, event_type: str) -> list[dict[str, Json]]:
    return [event.payload for event in played.events if event.type == event_type]


async def test_a_run_goes_over_one_socket_from_start_to_end(stage: Stage) -> None:
    side = ResponsesSide([(created("r1"), WRITE), END])
    played = await play(stage, side)

    assert played.record is not None and played.record.status is RunStatus.COMPLETED
    assert side.by == [1, 1]
    assert [item["type"] for item in side.turns[1]["input"]] == ["function_call_output"]
    assert [told["providerState"]["transport"] for told in of(played, EventType.PROVIDER_STATE_UPDATED)] == [
        "responses_websocket"
    ] * 2
    assert of(played, EventType.PROVIDER_SESSION_REPLAYED) == []


async def test_a_replay_is_told_and_is_no_retry(stage: Stage) -> None:
    played = await play(stage, ResponsesSide([WRITE, fault("previous_response_not_found"), END]))

    assert of(played, EventType.PROVIDER_SESSION_REPLAYED) == [
        {"round": 2, "attempt": 1, "reasons": ["previous_response_not_found"]}
    ]
    assert of(played, EventType.MODEL_CALL_ATTEMPT_FAILED) == []
    assert played.record is not None and played.record.status is RunStatus.COMPLETED


async def test_a_fault_of_the_server_is_tried_again_with_all_that_was_said(stage: Stage) -> None:
    side = ResponsesSide([WRITE, fault(None, kind="server_error", status=0), END])
    played = await play(stage, side)

    (failed,) = of(played, EventType.MODEL_CALL_ATTEMPT_FAILED)
    assert failed["willRetry"]
    assert side.by == [1, 1, 2]
    assert "previous_response_id" not in side.turns[2]
    assert played.record is not None and played.record.status is RunStatus.COMPLETED


async def test_a_run_that_another_process_takes_up_sends_all_once_and_goes_on(stage: Stage) -> None:
    side = ResponsesSide([WRITE])
    async with side.running():
        async with over(stage) as engine:
            await engine.start_run_with_prompt_snapshot(request(stage, side))
            while len(side.turns) < 2:
                await asyncio.sleep(0.005)
        side.expect(END)
        async with over(stage) as engine:
            await engine.resume_run(RUN)
            await engine.wait(RUN)
            played = await stage.played(engine)

    assert side.by == [1, 1, 2]
    assert [item["type"] for item in side.turns[2]["input"]][-3:] == [
        "reasoning", "function_call", "function_call_output",
    ]  # fmt: skip
    assert of(played, EventType.PROVIDER_SESSION_REPLAYED)[0]["reasons"] == ["socket_lost"]
    assert played.record is not None and played.record.status is RunStatus.COMPLETED


async def test_a_cancel_ends_a_turn_under_way_at_once(stage: Stage) -> None:
    side = ResponsesSide([])
    async with over(stage) as engine, side.running():
        await engine.start_run_with_prompt_snapshot(request(stage, side))
        while not side.turns:
            await asyncio.sleep(0.005)
        await engine.cancel(RUN)
        async with asyncio.timeout(HANGS_S / 2):
            record = await engine.wait(RUN)

    assert record.status is RunStatus.CANCELLED


async def test_a_socket_that_takes_ten_seconds_to_close_delays_no_end(stage: Stage) -> None:
    side = Deaf([WRITE, END])
    sockets = WebSocketTransport(stage.clock, SocketTimes(close=HANGS_S))
    async with over(stage, sockets) as engine, side.running():
        await engine.start_run_with_prompt_snapshot(request(stage, side))
        began = time.monotonic()
        record = await engine.wait(RUN)
        took = time.monotonic() - began
        is_closing = not side.sockets[0].transport.is_closing()
        side.sockets[0].transport.abort()

    assert record.status is RunStatus.COMPLETED
    assert is_closing
    assert took < HANGS_S / 2


async def test_a_connection_whose_sockets_are_turned_off_goes_by_http(stage: Stage) -> None:
    script = [says("", call("workspace.list_files")), says("The end.")]
    async with OpenAIResponsesServer(script) as server:
        left = await upstream.played(stage, upstream.payload(server, connection_dialect=upstream.OVER_HTTP))

    assert ([one.method for one in server.requests], server.sockets, server.refusals) == (["POST", "POST"], 0, [])
    assert list(left.turns) == [1, 2]
    assert not left.of(EventType.PROVIDER_SESSION_REPLAYED)
