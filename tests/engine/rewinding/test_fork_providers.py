"""A fork says again to its provider what its origin was told, seals unbroken; another provider hears nothing private."""

from __future__ import annotations

import re

import pytest
from syrupy.assertion import SnapshotAssertion

from treadle.engine.engine import Engine
from treadle.graph.jsontext import Json
from treadle.storage.runs import body_path
from treadle.storage.secrets import FILE, FileSecrets
from treadle.testkit.replies import Call, call
from treadle.testkit.simulators.registry import KEY, SIMULATORS, Simulator
from treadle.testkit.turns import says

from ...gateway.records import record
from ...scenarios import words
from ...scenarios.flow import flow
from ...scenarios.stage import FORK, RUN, Played, Stage
from ..raw_answers import NAMES
from ..upstream import engine, payload, request

FIRST = says(
    "I look, then write.",
    call("workspace.list_files"),
    call("workspace.write_file", path="output/main.md", content=words.DRAFT),
    reasoning="Nobody but me may read this thought.",
)
COMMIT = says("I commit.", Call("workspace.commit", {}, id="later_1"), reasoning="Second thoughts.")
FINISH = says("", Call("workspace.finish", {}, id="later_2"), reasoning="Last thoughts.")

_SEALED = re.compile(rb'"(?:[A-Za-z0-9+/]{40,}={0,2}|(?:rs|fc)_[^"]+)"')


@pytest.mark.parametrize(
    "form",
    [pytest.param(name, marks=() if name == "openai_responses" else pytest.mark.slow) for name in NAMES],
)
@pytest.mark.parametrize("place", ["between_rounds", "inside_a_round"])
async def test_native_blocks_go_back_as_they_came(
    stage: Stage, form: str, place: str, snapshot: SnapshotAssertion
) -> None:
    async with SIMULATORS[form]([FIRST, COMMIT, FINISH, COMMIT, FINISH]) as server, engine(stage) as running:
        parent = await _play(stage, running, server)
        at_seq = _seq(parent, "checkpoint_created" if place == "between_rounds" else "tool_call_completed")
        await running.fork_run(RUN, at_seq=at_seq, new_run_id=FORK)
        await running.wait(FORK)
        forked = await stage.played(running, FORK)

    assert server.refusals == []
    sealed = _SEALED.findall((stage.run_folder() / body_path(1)).read_bytes())
    assert set(sealed) <= set(_SEALED.findall(server.requests[3].body))
    assert _own(forked) == snapshot


@pytest.mark.parametrize(
    ("before", "after"), [("openai_responses", "claude_messages"), ("gemini", "openai_compatible")]
)
async def test_another_profile_s_provider_hears_nothing_private(stage: Stage, before: str, after: str) -> None:
    async with SIMULATORS[before]([FIRST, COMMIT, FINISH]) as first, engine(stage) as running:
        parent = await _play(stage, running, first)
        async with SIMULATORS[after]([COMMIT, FINISH]) as second:
            profile = _on_connection(stage, running, second)
            at_seq = _seq(parent, "checkpoint_created")
            await running.fork_run(RUN, at_seq=at_seq, profile=profile, new_run_id=FORK)
            await running.wait(FORK)
            forked = await stage.played(running, FORK)

    assert second.refusals == []
    assert forked.types[-1] == "run_completed"
    assert forked.types.count("provider_switched") == 1
    sealed = _SEALED.findall((stage.run_folder() / body_path(1)).read_bytes())
    assert sealed
    assert not [seal for seal in sealed for sent in second.requests if seal in sent.body]


async def test_a_fork_has_a_session_of_its_own(stage: Stage) -> None:
    """Over its own socket it sends the whole transcript, while its origin goes on over the first."""
    form = "openai_responses"
    async with SIMULATORS[form]([FIRST, COMMIT, FINISH, COMMIT, FINISH]) as server, engine(stage) as running:
        parent = await _play(stage, running, server)
        await running.fork_run(RUN, at_seq=_seq(parent, "checkpoint_created"), new_run_id=FORK)
        await running.wait(FORK)
        forked = await stage.played(running, FORK)

    builds = [b'"previous_response_id"' in one.body for one in server.requests]
    assert builds == [False, True, True, False, True]
    assert "provider_session_replayed" not in forked.types


async def _play(stage: Stage, running: Engine, server: Simulator) -> Played:
    await running.start_run_with_prompt_snapshot(request(stage, payload(server, proxy_password=KEY)))
    await running.wait(RUN)
    return await stage.played(running)


def _on_connection(stage: Stage, running: Engine, server: Simulator) -> Json:
    source: Json = {"chatCompletionSource": "custom", "customApiFormat": server.format}
    made = record(
        provider=source, endpoint={"baseUrl": server.base_url}, auth={"secretRef": {"key": "api_key_custom", "id": "work"}},
    )  # fmt: skip
    running.services.connections.put("work", made)
    FileSecrets(stage.root / FILE).set("work", KEY)
    profile = words.profile()
    profile["model"] = {"mode": "connectionRef", "connectionRef": "work", "modelId": server.model}
    return profile


def _seq(played: Played, event_type: str) -> int:
    return next(event.seq for event in played.events if event.type == event_type)


def _own(played: Played) -> str:
    start = _seq(played, "run_forked") - 1
    return flow(Played(played.events[start:], (), played.record, played.chat, played.files, root=played.root))
