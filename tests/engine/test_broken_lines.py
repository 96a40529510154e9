"""A line that breaks inside an answer, or carries more than anybody wants: the run ends, bounded, and its folder is whole."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from treadle.graph.jsontext import Json
from treadle.testkit.replies import Reply, call
from treadle.testkit.simulators.http_server import LoopbackServer
from treadle.testkit.simulators.openai_responses import OpenAIResponsesServer
from treadle.testkit.simulators.registry import SIMULATORS
from treadle.testkit.simulators.responses_script import Broken, Reasoning, answers
from treadle.testkit.turns import says

from ..gateway.transports.loopback import raw
from ..scenarios.stage import Stage
from .raw_answers import NAMES, spoken
from .upstream import OVER_HTTP, Left, hidden, payload, played

LIMIT = 8_000_000
GIANT = 50_000_000
LOOK = says("I look.", call("workspace.list_files"))
HALF = says("I look again.", call("workspace.list_files"), reasoning="Once more.")
LINES = [(form, {"connection_dialect": OVER_HTTP} if form == "openai_responses" else {}) for form in NAMES]
IN_ALL_FORMATS = pytest.mark.parametrize(("form", "changes"), LINES, ids=NAMES)


@IN_ALL_FORMATS
@pytest.mark.parametrize("fault", ["drop", "break_off"])
async def test_an_answer_that_breaks_off_is_asked_for_again_and_then_given_up(
    stage: Stage, form: str, changes: dict[str, Json], fault: str
) -> None:
    cut = HALF.broken("drop" if fault == "drop" else "break_off")
    async with SIMULATORS[form]([LOOK, *[cut] * 9]) as server:
        left = await played(stage, payload(server, **changes))

    assert (len(server.requests), server.refusals) == (5, [])
    _line_failed(left, "network.body_interrupted")
    assert list(left.turns) == [1]


@pytest.mark.parametrize("code", [None, 1000, 1011])
@pytest.mark.parametrize("events", [0, 1, 3])
async def test_a_socket_that_goes_away_inside_an_answer_is_a_broken_line(
    stage: Stage, events: int, code: int | None
) -> None:
    cut = Broken(answers(Reasoning("Once more."), call("workspace.list_files")), events, code)
    async with OpenAIResponsesServer([LOOK, *[cut] * 20]) as server:
        left = await played(stage, payload(server))

    assert server.refusals == []
    _line_failed(left, "network.request_failed")
    assert len(left.of("model_call_attempt_started", round_number=2)) == 4


@pytest.mark.parametrize(
    "frame",
    [b"\x81", b"\x81\x7e\x10", b'\x81\x7e\x10\x00{"type":"response.comp', b'\x01\x06{"a":1', b"\xff\xff\xff\xff"],
    ids=["one byte", "half a head", "half a body", "a fragment without an end", "no frame at all"],
)
async def test_half_a_frame_is_a_broken_line(stage: Stage, frame: bytes) -> None:
    asked = 0

    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        await reader.read(1)
        writer.write(frame)
        await writer.drain()

    async with raw(half) as port:
        left = await played(stage, _at(port, "openai_responses"))

    _line_failed(left, "network.request_failed")
    assert asked == 4


@pytest.mark.slow
@IN_ALL_FORMATS
async def test_an_answer_over_the_limit_ends_the_run_at_once_and_one_under_it_passes(
    stage: Stage, form: str, changes: dict[str, Json]
) -> None:
    long = Reply(spoken(form, [f'"{"x" * (LIMIT // 4)}"']).body.encode())
    too_long = Reply(b'{"a":"' + b"x" * GIANT + b'"}')
    async with SIMULATORS[form]([LOOK, too_long]) as server:
        left = await played(stage, payload(server, **changes), reply_limit=LIMIT)
        asked = len(server.requests)
    _over_the_limit(left)
    assert (asked, list(left.turns)) == (2, [1])
    other = Stage(stage.root.parent / "other")
    async with SIMULATORS[form]([long]) as server:
        left = await played(other, payload(server, **changes), reply_limit=2 * LIMIT)
    assert left.of("tool_call_completed", round_number=1)


async def test_a_turn_over_the_limit_ends_the_run_at_once_over_a_socket_too(stage: Stage) -> None:
    too_long = Reply(b'{"type":"response.output_text.delta","delta":"' + b"x" * GIANT + b'"}')
    async with OpenAIResponsesServer([LOOK, too_long]) as server:
        left = await played(stage, payload(server), reply_limit=LIMIT)
        asked = len(server.requests)

    _over_the_limit(left)
    assert asked == 2


async def test_an_answer_without_end_costs_no_more_memory_than_the_limit(stage: Stage) -> None:
    async with _endless() as port:
        tracemalloc.start()
        left = await played(stage, _at(port, "gemini_interactions"), reply_limit=1_000_000)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    _over_the_limit(left, 1_000_000)
    assert most < 80_000_000


def _at(port: int, form: str) -> dict[str, Json]:
    """A payload for a server that is no simulator."""
    return {
        "chat_completion_source": "custom",
        "custom_api_format": form,
        "custom_url": f"http://127.0.0.1:{port}/v1",
        "model": "m",
        "messages": [{"role": "user", "content": "Who is there?"}],
    }


@asynccontextmanager
async def _endless() -> AsyncGenerator[int]:
    async def endless(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()

    async with LoopbackServer(lambda _: endless) as server:
        yield server.port


def _line_failed(left: Left, network_code: str) -> None:
    assert (left.record.status, left.end["code"]) == ("failed", "model.request_failed")
    assert left.end["details"]["networkCode"] == network_code
    assert left.end["retryable"]
    last = max(told["round"] for told in left.of("model_call_attempt_started"))
    assert not left.of("tool_call_requested", "tool_call_started", "model_completed", round_number=last)
    hidden(left)


def _over_the_limit(left: Left, limit: int = LIMIT) -> None:
    assert (left.record.status, left.end["code"]) == ("failed", "model.upstream_invalid_response")
    assert f"over the limit of {limit} bytes" in left.end["message"]
    assert "reply_limit of the engine" in left.end["message"]
    assert (left.end["retryable"], left.end["details"]["limitBytes"]) == (False, limit)
    last = left.of("model_call_attempt_failed")[-1]
    assert (last["attempt"], last["willRetry"]) == (1, False)
