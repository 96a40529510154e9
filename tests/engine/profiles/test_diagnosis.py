"""What a stored profile is fit for, and what is in its way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treadle.engine.profiles.api import Profiles
from treadle.engine.services import Services
from treadle.graph.errors import NotFound
from treadle.graph.jsontext import Json

from ...gateway.records import record
from ...graph.profiles.documents import document
from .kept import KeptPresets, by_ref, mine, put


@pytest.fixture
def services(tmp_path: Path) -> Services:
    return Services(tmp_path, presets=KeptPresets())


@pytest.fixture
def profiles(services: Services) -> Profiles:
    return Profiles(services)


ALL_BUT_PREVIEW = ["promptAssembly", "directRun", "subAgent"]
DIAGNOSES: list[tuple[dict[str, object], dict[str, Json]]] = [
    (
        by_ref("novel", "Tea"),
        {
            "code": "agent.profile_preset_api_unsupported", "path": "$.preset.ref.apiId", "blocks": ALL_BUT_PREVIEW,
            "repairActions": ["selectPreset", "openJsonEditor"],
            "resource": {"kind": "preset", "apiId": "novel", "name": "Tea"},
        },
    ),
    (
        by_ref("openai", "Milk"),
        {
            "code": "agent.profile_preset_missing", "path": "$.preset.ref.name", "blocks": ALL_BUT_PREVIEW,
            "repairActions": ["selectPreset", "openJsonEditor"],
            "resource": {"kind": "preset", "apiId": "openai", "name": "Milk"},
        },
    ),
    (
        {"model": {"mode": "requiresConfiguration"}},
        {
            "code": "agent.profile_model_requires_configuration", "path": "$.model.mode", "blocks": ALL_BUT_PREVIEW,
            "repairActions": ["selectModel"], "resource": {"kind": "model"},
        },
    ),
    (
        {"model": {"mode": "connectionRef", "connectionRef": "gone", "modelId": "m"}},
        {
            "code": "agent.profile_model_connection_missing", "path": "$.model.connectionRef",
            "blocks": ["directRun", "subAgent"], "repairActions": ["selectModel", "setModelRequiresConfiguration"],
            "resource": {"kind": "llmConnection", "id": "gone", "modelId": "m"},
        },
    ),
    (
        {**by_ref("openai", "Tea"), "model": {"mode": "connectionRef", "connectionRef": "bad", "modelId": "m"}},
        {
            "code": "agent.profile_model_connection_invalid", "path": "$.model.connectionRef",
            "blocks": ALL_BUT_PREVIEW, "repairActions": ["selectModel", "setModelRequiresConfiguration"],
            "resource": {"kind": "llmConnection", "id": "bad", "modelId": "m"},
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), DIAGNOSES, ids=[row[1]["code"] for row in DIAGNOSES])
async def test_what_is_in_the_way_of_a_profile_is_told(
    profiles: Profiles, services: Services, changes: dict[str, object], expected: dict[str, Json]
) -> None:
    services.connections.put("bad", {"kind": "other"})
    callable_too = {"delegation": {"callable": True, "allowAsSubagent": True}}
    await profiles.save(mine({**changes, **callable_too}))

    told = await profiles.diagnose("mine")

    (diagnostic,) = told.pop("diagnostics")
    assert diagnostic.pop("message")
    assert diagnostic == {"severity": "error", **expected}
    assert told == {
        "profileId": "mine",
        "previewAvailable": True,
        "promptAssemblyAvailable": "promptAssembly" not in expected["blocks"],
        "directRunAvailable": False,
        "subAgentAvailable": False,
    }


async def test_two_faults_are_told_both(profiles: Profiles) -> None:
    await profiles.save(mine({**by_ref("openai", "Milk"), "model": {"mode": "requiresConfiguration"}}))

    told = await profiles.diagnose("mine")

    assert [one["code"] for one in told["diagnostics"]] == [
        "agent.profile_preset_missing",
        "agent.profile_model_requires_configuration",
    ]


@pytest.mark.parametrize("text", ["{", "[]", json.dumps(document({"id": "other"})), json.dumps(document({"id": 3}))])
async def test_a_profile_that_breaks_the_contract_is_looked_at_no_further(
    profiles: Profiles, services: Services, text: str
) -> None:
    put(services, "mine.json", text)

    told = await profiles.diagnose("mine")

    (diagnostic,) = told["diagnostics"]
    assert (diagnostic["code"], diagnostic["path"]) == ("agent.profile_contract_invalid", "$")
    assert diagnostic["blocks"] == ["preview", *ALL_BUT_PREVIEW]
    assert diagnostic["repairActions"] == ["openJsonEditor"]
    assert "resource" not in diagnostic
    assert [told[f"{use}Available"] for use in ("preview", "promptAssembly", "directRun", "subAgent")] == [False] * 4


@pytest.mark.parametrize(
    ("changes", "direct", "sub"),
    [
        ({}, True, False),
        ({"delegation": {"callable": True, "allowAsSubagent": True}}, True, True),
        ({"delegation": {"callable": True, "allowAsHandoffTarget": True}}, True, False),
        (
            {
                "run.directRunnable": False,
                "run.presentation": "background",
                "delegation": {"callable": True, "allowAsSubagent": True},
            },
            False,
            True,
        ),
        (
            {**by_ref("openai", "Tea"), "model": {"mode": "connectionRef", "connectionRef": "work", "modelId": "m"}},
            True,
            False,
        ),
    ],
)
async def test_a_profile_in_order_is_fit_for_what_it_says(
    profiles: Profiles, services: Services, changes: dict[str, object], direct: bool, sub: bool
) -> None:
    services.connections.put("work", record())
    await profiles.save(mine(changes))

    told = await profiles.diagnose("mine")

    assert told == {
        "profileId": "mine", "previewAvailable": True, "promptAssemblyAvailable": True, "directRunAvailable": direct,
        "subAgentAvailable": sub, "diagnostics": [],
    }  # fmt: skip


async def test_the_built_in_profile_has_nothing_in_its_way(profiles: Profiles) -> None:
    told = await profiles.diagnose("default-writer")

    assert (told["directRunAvailable"], told["diagnostics"]) == (True, [])


async def test_an_id_that_nobody_has_is_no_diagnostic(profiles: Profiles) -> None:
    with pytest.raises(NotFound):
        await profiles.diagnose("nobody")
