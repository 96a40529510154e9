"""The wire log: what went to the model and what came back, as much of it as was asked for, and never a key."""

from __future__ import annotations

import asyncio
import traceback

import pytest

from treadle.engine.engine import Engine
from treadle.graph.errors import InvalidData, InvalidInput, NotFound
from treadle.graph.jsontext import Json, dumps, loads
from treadle.storage.connections import SETTINGS
from treadle.storage.wire_log import WireLevel
from treadle.testkit.replies import Reply, call, calls, error
from treadle.testkit.simulators.chat_completions import ChatCompletionsServer
from treadle.testkit.simulators.http_server import Received
from treadle.testkit.simulators.openai_responses import OpenAIResponsesServer
from treadle.testkit.simulators.registry import payload_for
from treadle.testkit.turns import says

from ..gateway.traps import trap
from ..gateway.words import MemorySecrets
from ..scenarios import words
from ..scenarios.stage import RUN, Stage, snapshot

KEY = 'canary-key-9f"3\\a1'
TOKEN = "canary-token-77"
QUERY = "canary-query-21"
CANARIES = ("canary-key-9f", "canary-token", "canary-query")


async def played(
    stage: Stage, level: WireLevel | None, *steps: Reply, server: ChatCompletionsServer | None = None, **payload: Json
) -> list[Received]:
    model = server or ChatCompletionsServer(steps)
    async with model, Engine(stage.root, stage.host, clock=stage.clock, ids=stage.ids, wire_log=level) as engine:
        await engine.start_run_with_prompt_snapshot(
            stage.request(promptSnapshot=snapshot(model.base_url, **payload), runId=RUN)
        )
        await engine.wait(RUN)
    return model.requests


async def read(stage: Stage, round_number: int) -> list[dict[str, Json]]:
    async with Engine(stage.root) as engine:
        return await engine.read_wire(RUN, round_number)


async def test_what_is_kept_by_itself_is_everything_but_the_bodies(stage: Stage) -> None:
    await played(stage, "metadata", words.WRITE, words.COMMIT_AND_FINISH)

    ((call_made,),) = [attempt["calls"] for attempt in await read(stage, 1)]
    assert call_made["endpoint"].endswith("/v1/chat/completions")
    assert (call_made["level"], call_made["ok"], call_made["response"]["status"]) == ("INFO", True, 200)
    assert call_made["request"]["headers"]["content-type"] == "application/json"
    assert "body" not in call_made["request"]
    assert not (stage.run_folder() / "wire" / "fragments").exists()


@pytest.mark.parametrize("level", ["off", "full"])
async def test_the_data_roots_settings_file_says_what_is_kept_where_nobody_else_does(stage: Stage, level: str) -> None:
    path = stage.root / SETTINGS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(dumps({"schemaVersion": 1, "kind": "tauritavern.llmSettings", "wireLog": level}))
    await played(stage, None, words.WRITE, words.COMMIT_AND_FINISH)

    wire = stage.run_folder() / "wire"
    assert (wire.exists(), (wire / "fragments").exists()) == (level == "full", level == "full")


async def test_a_log_that_is_off_writes_nothing(stage: Stage) -> None:
    await played(stage, "off", words.WRITE, words.COMMIT_AND_FINISH)

    assert not (stage.run_folder() / "wire").exists()
    with pytest.raises(NotFound, match="holds no round 1"):
        await read(stage, 1)


async def test_a_full_log_gives_every_body_back_as_it_went_and_came(stage: Stage) -> None:
    sent = await played(stage, "full", words.WRITE, error(503, "busy"), words.COMMIT_AND_FINISH)

    ((first,),) = [attempt["calls"] for attempt in await read(stage, 1)]
    again = [attempt["calls"][0] for attempt in await read(stage, 2)]
    assert [call_made["request"]["body"].encode() for call_made in (first, *again)] == [one.body for one in sent]
    assert loads(first["response"]["body"])["choices"]
    assert [call_made["response"]["status"] for call_made in again] == [503, 200]
    assert "busy" in again[0]["response"]["body"]
    assert again[0]["errorMessage"] == "HTTP 503"


async def test_a_full_log_grows_with_what_is_said_and_not_with_how_often_it_is_sent(stage: Stage) -> None:
    size = 20_000
    rounds = [calls(call("workspace.write_file", path=f"plan/{n}.md", content=f"{n}" * size)) for n in range(1, 13)]
    sent = await played(stage, "full", *rounds, words.WRITE, words.COMMIT_AND_FINISH)

    kept = [path.stat().st_size for path in (stage.run_folder() / "wire").rglob("*") if path.is_file()]
    assert sum(len(one.body) for one in sent) > 80 * size
    assert sum(kept) < 60 * size  # each text twice in what the model said and once in what it is told, for 5 rounds
    (newest,) = [attempt["calls"] for attempt in await read(stage, 14)]
    assert newest[0]["request"]["body"].encode() == sent[-1].body


async def test_a_call_that_is_cancelled_is_told_too(stage: Stage) -> None:
    async with stage.show(words.WRITE.after(60), over_http=True) as show:
        await show.start()
        await show.asked(1)
        await show.engine.cancel(RUN)
        await show.end()

    ((call_made,),) = [attempt["calls"] for attempt in await read(stage, 1)]
    assert (call_made["level"], call_made["ok"], call_made["errorMessage"]) == ("WARN", False, "cancelled")
    assert call_made["response"] is None


@trap(49)
@pytest.mark.parametrize("status", [401, 429, 500])
async def test_no_key_is_in_any_file_also_where_the_server_repeats_it(stage: Stage, status: int) -> None:
    def echo(request: Received) -> Reply:
        said = f"{request.headers['authorization']} {request.headers['x-token']} {request.path}"
        refused = error(status, f"no: {said}")
        return Reply(refused.body, refused.status, headers={**refused.headers, "x-request-id": said})

    server = ChatCompletionsServer([echo] * 9)
    async with server:
        payload: dict[str, Json] = {
            "custom_url": f"{server.base_url}?key={QUERY}",
            "custom_include_headers": f"X-Token: {TOKEN}",
        }
        async with Engine(
            stage.root,
            stage.host,
            secrets=MemorySecrets({"api_key_custom": KEY}),
            clock=stage.clock,
            ids=stage.ids,
            wire_log="full",
        ) as engine:
            await engine.start_run_with_prompt_snapshot(
                stage.request(promptSnapshot=snapshot(server.base_url, **payload))
            )
            record = await engine.wait(RUN)
            events = await engine.read_events(RUN, limit=500)

    assert record.status == "failed"
    assert KEY in server.requests[0].headers["authorization"]
    logs = [path for path in (stage.run_folder() / "wire").rglob("*") if path.is_file()]
    assert len(logs) > 2
    frozen = {"prompt_snapshot.json"}  # holds the payload as the host gave it, its own headers and address included
    for path in stage.root.rglob("*"):
        if path.is_file() and path.name not in frozen:
            assert not [canary for canary in CANARIES if canary.encode() in path.read_bytes()], path
    for event in events:
        assert not [canary for canary in CANARIES if canary.encode() in dumps(event.to_json())], event


async def test_a_turn_over_a_socket_is_told_as_what_it_was(stage: Stage) -> None:
    answers = [says("", call("workspace.write_file", path="output/main.md", content="Tea."))]
    answers.append(says("", call("workspace.commit"), call("workspace.finish")))
    async with (
        OpenAIResponsesServer(answers) as server,
        Engine(stage.root, stage.host, clock=stage.clock, ids=stage.ids, wire_log="full") as engine,
    ):
        payload = {**payload_for(server), "custom_url": None}
        await engine.start_run_with_prompt_snapshot(stage.request(promptSnapshot=snapshot("", **payload)))
        await engine.wait(RUN)

    ((told,),) = [attempt["calls"] for attempt in await read(stage, 2)]
    assert (told["transport"], told["request"]["method"]) == ("responses_websocket", "WEBSOCKET")
    assert told["request"]["body"].encode() == server.requests[1].body
    assert loads(told["response"]["body"].splitlines()[-1])["type"] == "response.completed"


async def test_a_log_goes_on_after_a_resume(stage: Stage) -> None:
    server = ChatCompletionsServer([words.WRITE, words.COMMIT.after(60), words.COMMIT_AND_FINISH])
    async with server:
        async with Engine(stage.root, stage.host, clock=stage.clock, ids=stage.ids, wire_log="full") as engine:
            await engine.start_run_with_prompt_snapshot(stage.request(server.base_url))
            while len(server.requests) < 2:
                await asyncio.sleep(0.002)
        async with Engine(stage.root, stage.host, clock=stage.clock, ids=stage.ids, wire_log="full") as engine:
            await engine.resume_run(RUN)
            await engine.wait(RUN)

    (attempt,) = await read(stage, 2)
    assert attempt["calls"][0]["request"]["body"].encode() == server.requests[-1].body


async def test_a_damaged_log_says_where(stage: Stage) -> None:
    await played(stage, "full", words.WRITE, words.COMMIT_AND_FINISH)
    folder = stage.run_folder() / "wire"
    big = max((folder / "fragments").iterdir(), key=lambda path: path.stat().st_size)

    big.write_bytes(b"other")
    with pytest.raises(InvalidData, match=f"wire/fragments/{big.name}"):
        await read(stage, 1)
    big.unlink()
    with pytest.raises(InvalidData, match="lacks wire/fragments"):
        await read(stage, 1)
    (folder / "round-001-1.json").write_bytes(b"{}")
    with pytest.raises(InvalidData, match="does not list its calls"):
        await read(stage, 1)


@pytest.mark.parametrize("round_number", [0, -1, True, "1"])
async def test_a_round_that_can_not_be_is_refused(stage: Stage, round_number: int) -> None:
    with pytest.raises(InvalidInput, match="round must be an integer from 1"):
        await read(stage, round_number)


def test_an_unknown_level_is_refused(stage: Stage) -> None:
    with pytest.raises(InvalidInput, match="off, metadata, full") as refused:
        Engine(stage.root, wire_log="all")  # type: ignore[arg-type]  # a caller's own text
    assert "all" in "".join(traceback.format_exception(refused.value))
