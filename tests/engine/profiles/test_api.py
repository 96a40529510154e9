"""`engine.profiles`: what an editor of profiles asks for, in the words of the contract."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treadle.engine.engine import Engine
from treadle.engine.profiles.api import Profiles
from treadle.engine.services import Services
from treadle.graph.errors import InvalidData, InvalidInput
from treadle.graph.jsontext import Json
from treadle.graph.profiles.resolved import default_writer
from treadle.storage.profiles import FOLDER

from .kept import KeptPresets, by_ref, code_of, mine, put


@pytest.fixture
def services(tmp_path: Path) -> Services:
    return Services(tmp_path, presets=KeptPresets())


@pytest.fixture
def profiles(services: Services) -> Profiles:
    return Profiles(services)


async def test_the_built_in_profile_is_listed_where_nothing_is_stored(profiles: Profiles, tmp_path: Path) -> None:
    listed = await profiles.list()

    built_in = default_writer()
    assert listed == {
        "profiles": [
            {
                "id": "default-writer",
                "displayName": "Default Writer",
                "description": built_in.description,
                "directRunnable": True,
            }
        ],
        "issues": [],
    }
    assert list(tmp_path.iterdir()) == []


async def test_stored_profiles_are_listed_by_id_with_the_issues_of_bad_files(
    profiles: Profiles, services: Services
) -> None:
    for name in ("zeta", "alpha"):
        await profiles.save(mine({"description": None}, name))
    put(services, "broken.json", "{")

    listed = await profiles.list()

    assert [one["id"] for one in listed["profiles"]] == ["default-writer", "alpha", "zeta"]
    assert "description" not in listed["profiles"][1]
    assert [(one["fileName"], one["kind"]) for one in listed["issues"]] == [("broken.json", "invalidJson")]


async def test_a_stored_default_writer_stands_in_place_of_the_built_in_one_until_it_is_deleted(
    profiles: Profiles,
) -> None:
    own = mine({"displayName": "My Default"}, "default-writer")
    await profiles.save({"profile": own})
    await profiles.save(mine({}, "alpha"))

    assert [one["displayName"] for one in (await profiles.list())["profiles"]] == ["Mine", "My Default"]
    assert (await profiles.load("default-writer"))["profile"]["displayName"] == "My Default"
    await profiles.delete("default-writer")
    assert (await profiles.load("default-writer"))["profile"] == default_writer().to_json()
    assert await code_of(profiles.delete("default-writer")) == "agent.profile_not_found"


@pytest.mark.parametrize("given", ["mine", " mine ", {"profileId": "mine"}])
async def test_a_profile_is_loaded_with_its_defaults(profiles: Profiles, given: Json) -> None:
    saved = mine()
    del saved["context"], saved["tools"]["maxCallsPerRun"]
    await profiles.save(saved)

    assert (await profiles.load(given)) == {"profile": mine()}


async def test_a_profile_that_is_not_there_is_null_and_can_not_be_deleted(profiles: Profiles) -> None:
    assert await profiles.load("nobody") == {"profile": None}
    assert await code_of(profiles.delete("nobody")) == "agent.profile_not_found"
    assert await code_of(profiles.diagnose("nobody")) == "agent.profile_not_found"
    assert await code_of(profiles.resolve_system_prompt("nobody")) == "agent.profile_not_found"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("", "agent.profile_id_required"),
        ("  ", "agent.profile_id_required"),
        ({}, "agent.profile_id_required"),
        ({"profileId": None}, "agent.profile_id_required"),
        ({"profileId": 3}, "agent.profile_id_required"),
        (None, "agent.profile_id_required"),
        ("../x", "agent.profile_id_invalid"),
        ("x" * 129, "agent.profile_id_too_long"),
    ],
)
async def test_what_is_no_id_is_refused(profiles: Profiles, given: Json, code: str) -> None:
    for ask in (profiles.load, profiles.delete, profiles.diagnose):
        assert await code_of(ask(given)) == code


@pytest.mark.parametrize("wrap", [False, True])
async def test_a_profile_that_breaks_a_rule_is_not_saved(profiles: Profiles, services: Services, wrap: bool) -> None:
    await profiles.save(mine())
    wrong = mine({"tools.toolDescriptions": {"workspace.finish": {"properties": {"why": "x"}}}})

    with pytest.raises(InvalidInput) as refused:
        await profiles.save({"profile": wrong} if wrap else wrong)

    assert refused.value.error_code == "agent.profile_unknown_tool_property"
    assert refused.value.details == {"path": '$.tools.toolDescriptions["workspace.finish"].properties["why"]'}
    assert (await profiles.load("mine"))["profile"] == mine()


async def test_a_profile_may_name_a_preset_and_a_connection_that_are_not_there_yet(profiles: Profiles) -> None:
    dangling = by_ref("openai", "Nobody", required=True)
    connected = {"model": {"mode": "connectionRef", "connectionRef": "later", "modelId": "m"}}

    await profiles.save(mine({**dangling, **connected}))

    assert (await profiles.load("mine"))["profile"]["preset"]["ref"]["name"] == "Nobody"
    assert (await profiles.resolve_system_prompt("mine"))["profileId"] == "mine"


async def test_the_system_prompt_is_the_profiles_own_or_that_for_its_tools(profiles: Profiles) -> None:
    await profiles.save(mine({"tools.deny": ["workspace.apply_patch"]}))
    await profiles.save(mine({"instructions.agentSystemPrompt": "  Be brief.\n"}, "brief"))

    built_in, stored = await profiles.resolve_system_prompt(), await profiles.resolve_system_prompt("mine")
    own = await profiles.resolve_system_prompt({"profileId": "brief"})

    assert "workspace_apply_patch" in built_in["agentSystemPrompt"]
    assert "workspace_apply_patch" not in stored["agentSystemPrompt"]
    assert (stored["profileId"], built_in["profileId"]) == ("mine", "default-writer")
    assert set(built_in["tools"]) - set(stored["tools"]) == {"workspace.apply_patch"}
    assert own["agentSystemPrompt"] == "  Be brief.\n"


async def test_the_system_prompt_of_a_document_that_is_not_stored(profiles: Profiles) -> None:
    given = mine({"tools.deny": ["workspace.apply_patch"]})

    plain, wrapped = (
        await profiles.resolve_system_prompt(given),
        await profiles.resolve_system_prompt({"profile": given}),
    )

    assert plain == wrapped
    assert "workspace_apply_patch" not in plain["agentSystemPrompt"]
    assert (
        await code_of(profiles.resolve_system_prompt(mine({"tools.maxRounds": 0})))
        == "agent.profile_max_rounds_invalid"
    )


@pytest.mark.parametrize("given", [None, "", " ", {}, {"profileId": None}, {"profileId": ""}])
async def test_no_id_is_the_built_in_profile_whatever_is_stored(profiles: Profiles, given: Json) -> None:
    await profiles.save(mine({"instructions.agentSystemPrompt": "Mine."}, "default-writer"))

    assert (await profiles.resolve_system_prompt(given))["agentSystemPrompt"] != "Mine."
    assert (await profiles.resolve_system_prompt("default-writer"))["agentSystemPrompt"] == "Mine."


async def test_a_bad_file_is_repaired_as_it_was_recommended(profiles: Profiles, services: Services) -> None:
    put(services, "copy.json", json.dumps(mine()))
    put(services, "broken.json", "{")

    assert await profiles.repair_file("broken.json") == {"fileName": "broken.json", "action": "delete"}
    assert await profiles.repair_file({"fileName": "copy.json"}) == {
        "fileName": "copy.json", "action": "normalizeIdentity", "profileId": "copy",
    }  # fmt: skip
    assert (await profiles.list())["issues"] == []
    assert (await profiles.load("copy"))["profile"] == mine({}, "copy")


@pytest.mark.parametrize("given", ["", {}, {"fileName": 3}, None])
async def test_a_repair_must_name_a_file(profiles: Profiles, given: Json) -> None:
    assert await code_of(profiles.repair_file(given)) == "agent.validation_error"


async def test_a_damaged_file_is_told_when_it_is_loaded_and_can_be_deleted(
    profiles: Profiles, services: Services
) -> None:
    put(services, "broken.json", "{")

    with pytest.raises(InvalidData):
        await profiles.load("broken")
    await profiles.delete("broken")

    assert (await profiles.list())["issues"] == []


async def test_an_engine_has_its_profiles_below_its_data_root(tmp_path: Path) -> None:
    async with Engine(tmp_path) as engine:
        await engine.profiles.save(mine())

    assert json.loads((tmp_path / FOLDER / "mine.json").read_text("utf-8"))["id"] == "mine"
