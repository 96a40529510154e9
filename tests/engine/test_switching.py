"""A run that goes on with another provider's model: it is told what was said and done, and nothing of what was private."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from itertools import permutations

import pytest

from treadle.graph.jsontext import Json, loads
from treadle.storage.runs import body_path
from treadle.testkit.replies import Call, Reply, call
from treadle.testkit.simulators.http_server import LoopbackServer, Received
from treadle.testkit.simulators.registry import SIMULATORS, Simulator
from treadle.testkit.turns import says

from ..scenarios.stage import RUN, Stage
from .leaving import change
from .raw_answers import NAMES
from .upstream import Left, engine, left, payload, request

THOUGHT = "Nobody but me may read this thought."
DRAFT = "It is the tide."
FIRST = says(
    "I look, then write.",
    call("workspace.list_files"),
    call("workspace.write_file", path="output/main.md", content=DRAFT),
    reasoning=THOUGHT,
)
SECOND = says("I commit.", Call("workspace.commit", {}, id="later_1"), reasoning="Second thoughts.")
LAST = says("", Call("workspace.finish", {}, id="later_2"), reasoning="Last thoughts.")
"""With ids of their own: two simulators count from one, as no two providers do."""
FAR = 3600.0
"""Seconds that the answer waits for which the run is left."""

_SEALED = re.compile(rb'"(?:[A-Za-z0-9+/]{40,}={0,2}|(?:rs|fc|msg)_[^"]+)"')
"""Signatures, what is encrypted, and the names that only their provider knows."""

PAIRS = list(permutations(NAMES, 2))


@pytest.mark.parametrize(("before", "after"), PAIRS, ids=[f"{one}-then-{other}" for one, other in PAIRS])
async def test_another_provider_goes_on_inside_a_tool_turn(stage: Stage, before: str, after: str) -> None:
    await _leave(stage, before, [FIRST])
    async with SIMULATORS[after]([SECOND, LAST]) as server:
        ended = await _resume(stage, server)
        sent = list(server.requests)

    assert server.refusals == []
    assert ended.record.status == "completed"
    _nothing_private(ended, sent, rounds=[1])
    _told_once(ended, before, after, blocks=1, calls=2)
    assert all(b"I look, then write." in one.body and DRAFT.encode() in one.body for one in sent if not _builds(one))


@pytest.mark.slow
@pytest.mark.parametrize(("before", "after"), PAIRS, ids=[f"{one}-then-{other}" for one, other in PAIRS])
async def test_another_provider_goes_on_after_several_turns(stage: Stage, before: str, after: str) -> None:
    await _leave(stage, before, [FIRST, SECOND])
    async with SIMULATORS[after]([LAST]) as server:
        ended = await _resume(stage, server)
        sent = list(server.requests)

    assert server.refusals == []
    assert ended.record.status == "completed"
    _nothing_private(ended, sent, rounds=[1, 2])
    _told_once(ended, before, after, blocks=2, calls=3)


@pytest.mark.parametrize("form", NAMES)
async def test_another_model_of_the_same_provider_is_another_model(stage: Stage, form: str) -> None:
    await _leave(stage, form, [FIRST])
    async with SIMULATORS[form]([SECOND, LAST]) as server:
        ended = await _resume(stage, server, model=f"{server.model}-next")
        sent = list(server.requests)

    assert server.refusals == []
    assert ended.record.status == "completed"
    _nothing_private(ended, sent, rounds=[1])
    _told_once(ended, form, form, blocks=1, calls=2)


@pytest.mark.parametrize(("before", "after"), [("gemini", "claude_messages"), ("openai_responses", "gemini")])
async def test_a_run_that_comes_back_has_its_own_blocks_and_none_of_the_other_s(
    stage: Stage, before: str, after: str
) -> None:
    async with SIMULATORS[before]([FIRST, SECOND.after(FAR), LAST]) as first:
        await _play_until(stage, first, 2)
        async with SIMULATORS[after]([SECOND, LAST.after(FAR)]) as second:
            await change(stage, payload(second))
            await _play_until(stage, second, 2, again=True)
        await change(stage, payload(first))
        async with engine(stage) as running:
            await running.resume_run(RUN)
            await running.wait(RUN)
    ended = await left(stage)

    assert (first.refusals, second.refusals) == ([], [])
    assert ended.record.status == "completed"
    sent = set(_SEALED.findall(first.requests[-1].body))
    assert set(_private(ended, 1)) <= sent
    assert not set(_private(ended, 2)) & sent
    assert len(ended.of("provider_switched")) == 2


@pytest.mark.parametrize("after", NAMES)
async def test_calls_that_came_without_ids_are_told_apart_by_another_provider(stage: Stage, after: str) -> None:
    asked: list[Received] = []

    def respond(one: Received) -> Reply:
        asked.append(one)
        return Reply(_without_ids(len(asked))).after(FAR if len(asked) > 2 else 0)

    async with LoopbackServer(respond) as old:
        by_place: Json = {"positionalToolCallIds": True}
        address = {
            "reverse_proxy": f"http://127.0.0.1:{old.port}",
            "proxy_password": "made-up-key",
            "model": "gemini-2",
        }
        chat_payload = {"chat_completion_source": "makersuite", **address, "connection_dialect": by_place}
        chat_payload["messages"] = [{"role": "user", "content": "Who is there?"}]
        async with engine(stage) as running:
            await running.start_run_with_prompt_snapshot(request(stage, chat_payload))
            await _until_asked(asked, 3)
    async with SIMULATORS[after]([FIRST, SECOND, LAST]) as server:
        ended = await _resume(stage, server)

    assert server.refusals == []
    assert ended.record.status == "completed"


def _without_ids(number: int) -> bytes:
    part = '{"functionCall":{"name":"workspace_list_files","args":{}}}'
    content = f'{{"role":"model","parts":[{part},{part}]}}'
    return f'{{"responseId":"r{number}","candidates":[{{"finishReason":"STOP","content":{content}}}]}}'.encode()


async def _until_asked(requests: Sequence[Received], count: int) -> None:
    async with asyncio.timeout(30):
        while len(requests) < count:
            await asyncio.sleep(0.005)


async def _leave(stage: Stage, form: str, said: Sequence[Json]) -> None:
    async with SIMULATORS[form]([*said, LAST.after(FAR)]) as server:
        await _play_until(stage, server, len(said) + 1)
        assert server.refusals == []


async def _play_until(stage: Stage, server: Simulator, asked: int, *, again: bool = False) -> None:
    """Drive the run until the server has got so many requests, then leave it."""
    async with engine(stage) as running:
        if again:
            await running.resume_run(RUN)
        else:
            await running.start_run_with_prompt_snapshot(request(stage, payload(server)))
        await _until_asked(server.requests, asked)


async def _resume(stage: Stage, server: Simulator, **changes: Json) -> Left:
    await change(stage, payload(server, **changes))
    async with engine(stage) as running:
        await running.resume_run(RUN)
        await running.wait(RUN)
    return await left(stage)


def _builds(one: Received) -> bool:
    """Whether the request says only what is new."""
    return b'"previous_response_id"' in one.body


def _private(ended: Left, round_number: int) -> list[bytes]:
    """What is sealed in a stored answer: signatures, and what is encrypted."""
    return _SEALED.findall(ended.files[body_path(round_number)])


def _nothing_private(ended: Left, sent: Sequence[Received], rounds: Sequence[int]) -> None:
    first = loads(ended.files["model-responses/round-001.json"])["response"]["providerMetadata"]["providerFormat"]
    sealed = [seal for round_number in rounds for seal in _private(ended, round_number)]
    assert sealed or first == "openai_compatible"  # which says its thoughts in clear words
    assert sent
    for one in sent:
        assert THOUGHT.encode() not in one.body
        assert not [seal for seal in sealed if seal in one.body]


def _told_once(ended: Left, before: str, after: str, *, blocks: int, calls: int) -> None:
    (told,) = ended.of("provider_switched")
    assert (told["from"]["providerFormat"], told["to"]["providerFormat"]) == (before, after)
    assert (told["nativeBlocksLeft"], told["turnsLeft"], told["toolCallsCarried"]) == (blocks, blocks, calls)
    assert told["to"]["model"] == loads(ended.files["input/prompt_snapshot.json"])["chatCompletionPayload"]["model"]
