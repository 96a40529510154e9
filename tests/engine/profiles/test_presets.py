"""A preset that got another name: the profiles that name it follow, or nothing changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle.engine.profiles.api import Profiles
from treadle.engine.services import Services
from treadle.graph.jsontext import Json

from .kept import KeptPresets, by_ref, code_of, mine, put


@pytest.fixture
def services(tmp_path: Path) -> Services:
    return Services(tmp_path, presets=KeptPresets())


@pytest.fixture
def profiles(services: Services) -> Profiles:
    return Profiles(services)


RETARGET = "agent.profile_preset_retarget"


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ({"name": "Tea"}, {"apiId": "openai", "name": "Coffee"}, f"{RETARGET}_from_api_required"),
        ({"apiId": " ", "name": "Tea"}, {"apiId": "openai", "name": "Coffee"}, f"{RETARGET}_from_api_required"),
        ({"apiId": "openai"}, {"apiId": "openai", "name": "Coffee"}, f"{RETARGET}_from_name_required"),
        ({"apiId": "openai", "name": "Tea"}, {"name": "Coffee"}, f"{RETARGET}_to_api_required"),
        ({"apiId": "openai", "name": "Tea"}, {"apiId": "openai", "name": 3}, f"{RETARGET}_to_name_required"),
        ({"apiId": "openai", "name": "Tea"}, None, f"{RETARGET}_to_api_required"),
        ({"apiId": "mine", "name": "Tea"}, {"apiId": "openai", "name": "Tea"}, "agent.profile_preset_api_invalid"),
        ({"apiId": "openai", "name": "Tea"}, {"apiId": "openai", "name": "Tea"}, f"{RETARGET}_same_ref"),
        ({"apiId": "openai", "name": "Tea"}, {"apiId": "novel", "name": "Tea"}, f"{RETARGET}_api_mismatch"),
        ({"apiId": "openai", "name": "Tea"}, {"apiId": "openai", "name": "Milk"}, f"{RETARGET}_target_missing"),
    ],
)
async def test_a_preset_is_retargeted_to_another_of_its_kind_that_is_there(
    profiles: Profiles, before: Json, after: Json, code: str
) -> None:
    await profiles.save(mine(by_ref("openai", "Tea")))

    assert await code_of(profiles.retarget_preset_refs({"from": before, "to": after})) == code
    assert (await profiles.load("mine"))["profile"] == mine(by_ref("openai", "Tea", required=False))


async def test_every_profile_that_names_the_preset_follows_it(profiles: Profiles, services: Services) -> None:
    await profiles.save(mine(by_ref("openai", "Tea", required=True), "a"))
    await profiles.save(mine(by_ref("openai", "Milk"), "b"))
    await profiles.save(mine(by_ref("openai", "Tea"), "c"))
    await profiles.save(mine({}, "d"))
    put(services, "broken.json", "{")

    done = await profiles.retarget_preset_refs(
        {"from": {"apiId": "openai", "name": "Tea"}, "to": {"apiId": "openai", "name": "Coffee"}}
    )

    assert done == {"updatedProfileIds": ["a", "c"]}
    presets = {name: (await profiles.load(name))["profile"]["preset"] for name in "abcd"}
    coffee = {"apiId": "openai", "name": "Coffee"}
    assert presets["a"] == {"mode": "ref", "ref": coffee, "required": True}
    assert presets["b"]["ref"]["name"] == "Milk"
    assert presets["c"]["ref"] == coffee
    assert presets["d"] == {"mode": "currentPromptSnapshot", "required": False}


async def test_both_names_of_kobold_are_one_kind_of_preset(profiles: Profiles) -> None:
    await profiles.save(mine(by_ref("kobold", "Old"), "a"))
    await profiles.save(mine(by_ref("koboldhorde", "Old"), "b"))

    done = await profiles.retarget_preset_refs(
        {"from": {"apiId": "kobold", "name": "Old"}, "to": {"apiId": "koboldhorde", "name": "New"}}
    )

    assert done == {"updatedProfileIds": ["a", "b"]}
