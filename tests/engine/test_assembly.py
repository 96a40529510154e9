"""Prompts made of frozen inputs: prepared, built, and run."""

from __future__ import annotations

from copy import deepcopy

import pytest

from treadle.engine.engine import Engine
from treadle.graph.errors import InvalidData, InvalidInput, NotFound, TreadleError
from treadle.graph.jsontext import Json, dumps, loads
from treadle.graph.ports import AssembledPrompt, PromptParts
from treadle.graph.status import RunStatus
from treadle.nodes import registry
from treadle.storage.presets import FOLDER
from treadle.testkit.replies import call, calls
from treadle.testkit.simulators.chat_completions import ChatCompletionsServer

from ..gateway.records import record
from ..scenarios import words
from ..scenarios.stage import RUN, Stage

MARK = "_tauritavern_agent_prompt_marker"
LORE: dict[str, Json] = {
    "timestampMs": 1, "trigger": "normal",
    "entries": [{"world": "Eldoria", "uid": 0, "displayName": "Forest", "constant": False, "content": "Old trees."}],
}  # fmt: skip
FROZEN: dict[str, Json] = {
    "schemaVersion": 1,
    "kind": "tauritavern.agentFrozenRunInputSnapshot",
    "generationType": "normal",
    "promptInputs": {
        "worldInfoBefore": "Old trees.",
        "messages": [
            {"role": "user", "content": "Who is at the door?"},
            {"role": "assistant", "content": "The kettle sings."},
        ],
    },
    "worldInfoActivation": LORE,
    "macroContext": {"schemaVersion": 1, "names": {"user": "Ada", "char": "Wren"}},
}
INPUT: dict[str, Json] = {"generationType": "normal", "frozenRunInputSnapshot": FROZEN}
TEMPERATURE = 0.25


class Drawer:
    """Presets in memory."""

    def __init__(self, **presets: Json) -> None:
        self._presets = presets

    def get(self, api_id: str, name: str) -> Json | None:
        assert api_id == "openai"
        return self._presets.get(name)


class Fixed:
    """An assembler that gives the payload that it was made with, and keeps what it was asked."""

    engine = "fixed"

    def __init__(self, payload: Json) -> None:
        self.payload = payload
        self.asked: list[PromptParts] = []

    async def assemble(self, parts: PromptParts) -> AssembledPrompt:
        self.asked.append(parts)
        return AssembledPrompt(self.payload, {"main": 3})


def preset(base_url: str = "http://model.test/v1") -> dict[str, Json]:
    return {
        "chat_completion_source": "custom", "custom_url": base_url, "custom_model": "writer",
        "temperature": TEMPERATURE, "prompts": [],
    }  # fmt: skip


def profile(**blocks: Json) -> Json:
    made = words.profile()
    made["preset"] = {"mode": "ref", "ref": {"apiId": "openai", "name": "Slow burn"}}
    return {**made, **blocks}


def asking(**changes: Json) -> dict[str, Json]:
    return {**INPUT, "profile": profile(), **changes}


def engine(stage: Stage, presets: Drawer | None = None, assembler: Fixed | None = None) -> Engine:
    drawer = presets or Drawer(**{"Slow burn": preset()})
    return Engine(stage.root, stage.host, clock=stage.clock, ids=stage.ids, presets=drawer, assembler=assembler)


async def requested(running: Engine, **changes: Json) -> dict[str, Json]:
    made: dict[str, Json] = (await running.prompt_assembly.prepare(asking(**changes)))["request"]
    return made


async def refusal(running: Engine, **changes: Json) -> str:
    with pytest.raises(TreadleError) as caught:
        await running.prompt_assembly.prepare(asking(**changes))
    return caught.value.error_code


@pytest.mark.parametrize("mode", ["currentPromptSnapshot", "none"])
async def test_a_profile_without_a_preset_takes_the_prompt_as_it_comes(stage: Stage, mode: str) -> None:
    async with engine(stage) as running:
        assert await running.prompt_assembly.prepare(INPUT) == {"mode": "currentPromptSnapshot"}
        assert await running.prompt_assembly.prepare(asking(profile=profile(preset={"mode": mode}))) == {
            "mode": "currentPromptSnapshot"
        }
    assert not stage.root.exists()


async def test_a_profile_with_a_preset_is_given_all_that_its_prompt_is_made_of(stage: Stage) -> None:
    async with engine(stage) as running:
        made = await running.prompt_assembly.prepare(asking())

    request = made["request"]
    assert made["mode"] == "frontendPromptAssembly"
    assert request["settings"] == preset()
    assert request["frozenRunInputSnapshot"] == FROZEN
    assert "worldinfo_read_activated" in request["agentSystemPrompt"]
    assert "modelId" not in request
    assert made["assembly"]["fingerprint"] == request["fingerprint"]
    assert not stage.root.exists()


async def test_the_same_question_has_the_same_fingerprints_and_another_has_others(stage: Stage) -> None:
    other = deepcopy(FROZEN)
    other["macroContext"]["names"]["user"] = "Bo"
    async with engine(stage) as running:
        first, again = await requested(running), await requested(running)
        changed = await requested(running, frozenRunInputSnapshot=other)

    assert first == again
    assert first["fingerprint"]["presetSha256"] == changed["fingerprint"]["presetSha256"]
    assert (
        first["fingerprint"]["frozenRunInputSnapshotSha256"] != changed["fingerprint"]["frozenRunInputSnapshotSha256"]
    )


async def test_a_stored_connection_takes_the_place_of_the_presets(stage: Stage) -> None:
    model = {"mode": "connectionRef", "connectionRef": "work", "modelId": "faster"}
    async with engine(stage) as running:
        provider = {"chatCompletionSource": "custom", "customApiFormat": "claude_messages"}
        running.services.connections.put("work", record(provider=provider, endpoint={"baseUrl": "http://new.test"}))
        request = await requested(running, profile=profile(model=model))

    assert request["modelId"] == "faster"
    assert request["settings"] == {
        "temperature": TEMPERATURE, "prompts": [], "chat_completion_source": "custom", "custom_model": "faster",
        "custom_api_format": "claude_messages",
    }  # fmt: skip


async def test_presets_of_the_data_root_are_found(stage: Stage) -> None:
    path = stage.root / FOLDER / "openai" / "Slow burn.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(dumps(preset()))
    async with Engine(stage.root, stage.host) as running:
        assert (await requested(running))["settings"] == preset()
        path.write_text("{")
        with pytest.raises(InvalidData) as caught:
            await requested(running)

    assert caught.value.error_code == "prompt_assembly.preset_data_invalid"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"profile": None, "profileId": "nobody"}, "agent.profile_not_found"),
        ({"profile": profile(model={"mode": "requiresConfiguration"})}, "agent.profile_model_requires_configuration"),
        (
            {"profile": profile(preset={"mode": "ref", "ref": {"apiId": "novel", "name": "a"}})},
            "prompt_assembly.openai_preset_required",
        ),
        (
            {"profile": profile(preset={"mode": "ref", "ref": {"apiId": "openai", "name": "None"}})},
            "prompt_assembly.preset_not_found",
        ),
        (
            {"profile": profile(preset={"mode": "ref", "ref": {"apiId": "openai", "name": "List"}})},
            "prompt_assembly.preset_data_invalid",
        ),
        (
            {"profile": profile(model={"mode": "connectionRef", "connectionRef": "none", "modelId": "m"})},
            "agent.profile_model_connection_missing",
        ),
        ({"generationType": "swipe"}, "prompt_assembly.generation_type_mismatch"),
        ({"frozenRunInputSnapshot": None}, "agent.frozen_run_input_snapshot_required"),
    ],
)
async def test_what_cannot_be_prepared_is_refused(stage: Stage, changes: dict[str, Json], code: str) -> None:
    async with engine(stage, Drawer(**{"Slow burn": preset(), "List": []})) as running:
        assert await refusal(running, **changes) == code


async def test_a_prompt_that_was_built_runs(stage: Stage) -> None:
    lore = calls(call("worldinfo.read_activated", entries=[{"ref": "worldinfo:Eldoria#0"}]))
    async with (
        ChatCompletionsServer([lore, words.WRITE, words.COMMIT_AND_FINISH]) as server,
        engine(stage, Drawer(**{"Slow burn": preset(server.base_url)})) as running,
    ):
        made = await running.prompt_assembly.build_snapshot(await requested(running))
        assembly = made.pop("assembly")
        await running.start_run_with_prompt_snapshot(stage.request(profile=profile(), **made))
        ended = await running.wait(RUN)
        sent = [loads(request.body) for request in server.requests]
        intent = [event.payload for event in await running.read_events(RUN) if "intent" in event.type]

    assert ended.status is RunStatus.COMPLETED
    assert assembly == {"schemaVersion": 1, "engine": "treadle-plain-prompt", "tokenCounts": {}}
    assert (sent[0]["model"], sent[0]["temperature"]) == ("writer", TEMPERATURE)
    assert [message["role"] for message in sent[0]["messages"]] == ["system", "system", "assistant", "user"]
    assert [message["content"] for message in sent[0]["messages"][1:]] == [
        "Old trees.", "The kettle sings.", "Who is at the door?",
    ]  # fmt: skip
    assert "Old trees." in loads(sent[1]["messages"][-1]["content"])["content"]
    assert intent == [made["generationIntent"]]
    assert intent[0] == {
        "source": "prompt-assembly", "generationType": "normal", "chatCompletionSource": "custom", "model": "writer",
    }  # fmt: skip
    kept = stage.run_folder() / "input" / "frozen_run_input_snapshot.json"
    assert loads(kept.read_bytes()) == FROZEN


async def test_a_run_in_another_presentation_still_has_one_agent_prompt_its_own(stage: Stage) -> None:
    async with (
        ChatCompletionsServer([words.WRITE, words.FINISH]) as server,
        engine(stage, Drawer(**{"Slow burn": preset(server.base_url)})) as running,
    ):
        made = await running.prompt_assembly.build_snapshot(await requested(running))
        made.pop("assembly")
        request = stage.request(profile=profile(), presentation="background", **made)
        await running.start_run_with_prompt_snapshot(request)
        await running.wait(RUN)
        sent = loads(server.requests[0].body)["messages"]

    told = [message["content"] for message in sent if "agent mode" in message["content"]]
    assert len(told) == 1
    assert "works in the background" in told[0]


async def test_the_policy_is_applied_to_a_copy(stage: Stage) -> None:
    context = {"initialChatHistoryMessages": 1, "includeActivatedWorldInfo": False}
    async with engine(stage) as running:
        request = await requested(running, profile=profile(context=context))
        before = deepcopy(request)
        made = await running.prompt_assembly.build_snapshot(request)

    snapshot = made["promptSnapshot"]
    assert [message["content"] for message in snapshot["chatCompletionPayload"]["messages"][1:]] == [
        "Who is at the door?"
    ]
    assert snapshot["contextPolicy"] == context
    assert snapshot["worldInfoActivation"] == LORE
    assert made["frozenRunInputSnapshot"] == FROZEN
    assert request == before


async def test_an_assembler_of_ones_own_gets_the_parts_and_its_name_is_kept(stage: Stage) -> None:
    assembler = Fixed({"messages": [{"role": "system", "content": "", MARK: "agentSystemPrompt"}], "model": "m"})
    async with engine(stage, assembler=assembler) as running:
        request = await requested(running, jsonSchema={"name": "n"})
        made = await running.prompt_assembly.build_snapshot(request)
    [parts] = assembler.asked

    assert made["promptSnapshot"]["chatCompletionPayload"] == assembler.payload
    assert made["assembly"] == {"schemaVersion": 1, "engine": "fixed", "tokenCounts": {"main": 3}}
    assert parts.prompt_inputs == FROZEN["promptInputs"]
    assert parts.macro_context == FROZEN["macroContext"]
    assert (parts.settings, parts.json_schema) == (preset(), {"name": "n"})
    assert parts.system_prompt == request["agentSystemPrompt"]


USER = {"role": "user", "content": "Hi"}


UNUSABLE: list[tuple[dict[str, Json], str]] = [
    ({"messages": [USER], "tools": [{}]}, "agent.external_tools_unsupported_phase2b"),
    ({"messages": [USER], "tool_choice": None}, "agent.external_tool_choice_unsupported_phase2b"),
    ({"messages": [{"role": "tool", "content": "x"}]}, "agent.external_tool_turns_unsupported_phase2b"),
    ({"messages": [{**USER, "tool_calls": [{}]}]}, "agent.external_tool_turns_unsupported_phase2b"),
    ({}, "agent.invalid_prompt_snapshot"),
    ({"messages": 3}, "agent.tool_loop_requires_messages"),
    ({"messages": ["Hi"]}, "agent.invalid_prompt_snapshot"),
    ({"messages": [{**USER, MARK: "agentTask"}]}, "agent.unknown_prompt_marker"),
    ({"messages": [{**USER, MARK: 1}]}, "agent.invalid_prompt_marker"),
    ({"messages": [{**USER, MARK: "agentSystemPrompt"}] * 2}, "agent.system_prompt_marker_duplicate"),
    ({"messages": [USER]}, "agent.system_prompt_component_missing"),
    ({"messages": "Hi"}, "agent.system_prompt_component_missing"),
]


@pytest.mark.parametrize(("payload", "code"), UNUSABLE)
async def test_a_prompt_that_no_run_could_start_with_is_refused(
    stage: Stage, payload: dict[str, Json], code: str
) -> None:
    async with engine(stage, assembler=Fixed(payload)) as running:
        with pytest.raises(InvalidInput) as caught:
            await running.prompt_assembly.build_snapshot(await requested(running))

    assert caught.value.error_code == code


async def test_a_task_that_is_required_must_stand_in_the_prompt(stage: Stage) -> None:
    marked = {"role": "system", "content": "", MARK: "agentSystemPrompt"}
    async with engine(stage, assembler=Fixed({"messages": [marked]})) as running:
        request = {
            **(await requested(running)),
            "requiredAgentPromptComponents": ["agentSystemPrompt", "agentTask"],
            "agentTaskPrompt": "Find the key.",
        }
        with pytest.raises(InvalidInput) as caught:
            await running.prompt_assembly.build_snapshot(request)

    assert caught.value.error_code == "agent.task_prompt_component_missing"


async def test_lore_that_cannot_be_told_is_refused_before_a_prompt_is_made(stage: Stage) -> None:
    assembler = Fixed({"messages": []})
    frozen = {**FROZEN, "worldInfoActivation": {"entries": [{"content": None}]}}
    async with engine(stage, assembler=assembler) as running:
        with pytest.raises(InvalidInput) as caught:
            await running.prompt_assembly.build_snapshot(await requested(running, frozenRunInputSnapshot=frozen))

    assert caught.value.error_code == "agent.invalid_worldinfo_activation_snapshot"
    assert "frozenRunInputSnapshot.worldInfoActivation.entries[0].content" in caught.value.message
    assert assembler.asked == []


class Careless(Fixed):
    """One that changes what it was given."""

    async def assemble(self, parts: PromptParts) -> AssembledPrompt:
        for given in (parts.prompt_inputs, parts.macro_context, parts.settings, parts.json_schema):
            given.clear()
        return await super().assemble(parts)


async def test_an_assembler_may_change_what_it_is_given(stage: Stage) -> None:
    careless = Careless({"messages": [{"role": "system", "content": "", MARK: "agentSystemPrompt"}]})
    async with engine(stage, assembler=careless) as running:
        request = await requested(running, jsonSchema={"name": "n"})
        before = deepcopy(request)
        made = await running.prompt_assembly.build_snapshot(request)

    assert request == before
    assert made["frozenRunInputSnapshot"] == FROZEN


async def test_a_request_is_the_callers_own(stage: Stage) -> None:
    async with engine(stage) as running:
        first = await requested(running)
        first["settings"].clear()
        again = await requested(running)

    assert again["settings"] == preset()


async def test_an_unknown_profile_is_not_found(stage: Stage) -> None:
    async with engine(stage) as running:
        with pytest.raises(NotFound):
            await running.prompt_assembly.prepare({**INPUT, "profileId": "nobody"})


async def test_the_tools_are_listed_as_they_are_and_the_list_is_the_callers_own(stage: Stage) -> None:
    async with engine(stage) as running:
        listed = await running.list_tools()
        first = deepcopy(listed)
        listed[0]["inputSchema"]["properties"].clear()
        again = await running.list_tools()

    assert again == first
    assert [tool["name"] for tool in again] == list(registry.TOOLS)
    assert set(again[0]) == {"name", "modelName", "title", "description", "inputSchema", "annotations", "source"}
