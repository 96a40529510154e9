"""Runs on stored connections: chosen by the payload or by the profile, refused before a run exists, never with a key."""

from __future__ import annotations

import pytest

from treadle.engine.engine import Engine
from treadle.graph.errors import InvalidInput, ModelFailed, NotFound, TreadleError
from treadle.graph.jsontext import Json, dumps
from treadle.graph.status import RunStatus
from treadle.storage.connections import SETTINGS
from treadle.storage.secrets import FILE, FileSecrets
from treadle.testkit.simulators.chat_completions import ChatCompletionsServer

from ..gateway.records import record, settings
from ..scenarios import words
from ..scenarios.stage import RUN, Stage, snapshot

KEY = "sk-canary-7f3a9"
AUTH = {"secretRef": {"key": "api_key_custom", "id": "work"}}


def kept(stage: Stage, engine: Engine, base_url: str, **changes: Json) -> None:
    """A record of the server, and its key."""
    plain = {"chatCompletionSource": "custom"}
    made = record(provider=plain, endpoint={"baseUrl": base_url}, auth=AUTH, **changes)
    engine.services.connections.put("work", made)
    FileSecrets(stage.root / FILE).set("work", KEY)


def asking(**payload: Json) -> dict[str, Json]:
    """A snapshot that names no server of its own."""
    made: dict[str, Json] = snapshot("http://elsewhere.test/v1", **payload)
    for name in ("custom_url", "model"):
        made["chatCompletionPayload"].pop(name, None)
    return made


def by_profile(**model: Json) -> Json:
    profile = words.profile()
    profile["model"] = {"mode": "connectionRef", "connectionRef": "work", "modelId": "faster", **model}
    return profile


@pytest.mark.parametrize(
    ("request_changes", "model"),
    [
        ({"promptSnapshot": asking(llm_connection="work")}, "writer"),
        ({"promptSnapshot": asking(llm_connection={"id": "work", "model": "faster"})}, "faster"),
        ({"promptSnapshot": snapshot("http://elsewhere.test/v1"), "profile": by_profile()}, "faster"),
    ],
)
async def test_a_run_asks_the_stored_connection_and_tells_its_model(
    stage: Stage, request_changes: dict[str, Json], model: str
) -> None:
    server = ChatCompletionsServer([words.WRITE, words.COMMIT_AND_FINISH], api_key=KEY)
    async with server, Engine(stage.root, stage.host, clock=stage.clock, ids=stage.ids) as engine:
        kept(stage, engine, server.base_url)
        await engine.start_run_with_prompt_snapshot(stage.request(**request_changes, runId=RUN))
        ended = await engine.wait(RUN)
        events = await engine.read_events(RUN, limit=500)

    assert ended.status is RunStatus.COMPLETED
    assert {request.json()["model"] for request in server.requests} == {model}
    told = next(event.payload["request"] for event in events if event.type == "context_assembled")
    assert (told["chatCompletionSource"], told["model"]) == ("custom", model)
    holders = [path.name for path in stage.root.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert holders == ["secrets.json"]


async def refused(stage: Stage, **request: Json) -> TreadleError:
    async with Engine(stage.root, stage.host, clock=stage.clock, ids=stage.ids) as engine:
        with pytest.raises(TreadleError) as raised:
            await engine.start_run_with_prompt_snapshot(stage.request(**request, runId=RUN))
        assert not engine.services.store.exists(RUN)
    return raised.value


async def test_a_connection_that_is_not_there_refuses_the_start(stage: Stage) -> None:
    missing = await refused(stage, promptSnapshot=asking(llm_connection="work"))
    of_profile = await refused(stage, promptSnapshot=snapshot("http://h.test/v1"), profile=by_profile())

    assert isinstance(missing, NotFound)
    assert missing.error_code == "llm_connection.not_found"
    assert isinstance(of_profile, NotFound)
    assert of_profile.error_code == "agent.profile_model_connection_missing"


async def test_a_connection_that_is_wrong_refuses_the_start(stage: Stage) -> None:
    async with Engine(stage.root, stage.host) as engine:
        kept(stage, engine, "ftp://nowhere")
    wrong = await refused(stage, promptSnapshot=asking(llm_connection="work"))
    of_profile = await refused(stage, promptSnapshot=snapshot("http://h.test/v1"), profile=by_profile())

    assert isinstance(wrong, InvalidInput)
    assert wrong.error_code == "llm_connection.base_url_invalid"
    assert of_profile.error_code == "agent.profile_model_connection_invalid"
    assert "$.endpoint.baseUrl" in of_profile.message


async def test_what_the_policy_does_not_allow_refuses_the_start(stage: Stage) -> None:
    path = stage.root / SETTINGS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(dumps(settings(policy={"hosts": ["api.openai.com"]})))
    denied = await refused(stage, promptSnapshot=snapshot("http://h.test/v1"))

    assert isinstance(denied, ModelFailed)
    assert denied.error_code == "model.provider_denied"


async def test_a_model_that_takes_no_tools_fails_the_run_and_is_not_asked(stage: Stage) -> None:
    server = ChatCompletionsServer([], api_key=KEY)
    async with server, Engine(stage.root, stage.host, clock=stage.clock, ids=stage.ids) as engine:
        kept(stage, engine, server.base_url, capabilities={"toolCalling": False})
        await engine.start_run_with_prompt_snapshot(
            stage.request(promptSnapshot=asking(llm_connection="work"), runId=RUN)
        )
        ended = await engine.wait(RUN)
        events = await engine.read_events(RUN, limit=500)

    assert ended.status is RunStatus.FAILED
    assert events[-1].payload["code"] == "model.provider_denied"
    assert server.requests == []
