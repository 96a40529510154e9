"""The profile that a run follows: the built-in one, and its frozen form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from treadle.graph.errors import InvalidData
from treadle.graph.jsontext import Json, dumps, loads
from treadle.graph.paths import ROOTS
from treadle.graph.profiles.resolved import SEED_TOOLS, default_writer, parse_profile, resolve, resolved_profile

from .documents import document, resolved


def test_the_built_in_writer_is_that_of_the_seeds() -> None:
    assert default_writer().to_json() == {
        "schemaVersion": 1,
        "kind": "tauritavern.agentProfile",
        "id": "default-writer",
        "displayName": "Default Writer",
        "description": default_writer().description,
        "preset": {"mode": "currentPromptSnapshot", "required": False},
        "model": {"mode": "currentPromptSnapshot"},
        "context": {"initialChatHistoryMessages": -1, "includeActivatedWorldInfo": True},
        "instructions": {},
        "plan": {"mode": "none", "beta": True, "nodes": []},
        "tools": {
            "allow": list(SEED_TOOLS),
            "deny": [],
            "approval": [],
            "toolDescriptions": {},
            "maxRounds": 80,
            "maxCallsPerRun": 80,
            "maxCallsPerTool": {},
        },
        "run": {
            "presentation": "foreground",
            "directRunnable": True,
            "modelRetry": {"maxRetries": 3, "intervalMs": 3000, "maxWaitMs": 60000},
            "driftRecovery": {"maxAttempts": 0},
            "hydrateRounds": 5,
        },
        "skills": {"visible": ["*"], "deny": [], "maxReadCharsPerCall": 20000, "maxReadCharsPerRun": 80000},
        "workspace": {
            "visibleRoots": ["output", "scratch", "plan", "summaries", "persist"],
            "writableRoots": ["output", "scratch", "plan", "summaries", "persist"],
            "writeGuard": False,
            "patchAfterPartialRead": False,
        },
        "output": {
            "artifacts": [
                {
                    "id": "main",
                    "path": "output/main.md",
                    "kind": "markdown",
                    "target": "messageBody",
                    "required": True,
                    "assemblyOrder": 0,
                }
            ]
        },
    }


def test_there_are_thirteen_tools_in_the_seeds_order() -> None:
    assert len(SEED_TOOLS) == 13
    assert SEED_TOOLS[0] == "chat.search"
    assert SEED_TOOLS[-2:] == ("workspace.commit", "workspace.finish")


def test_a_profile_parses_from_what_it_writes() -> None:
    assert parse_profile(loads(dumps(document())), known_tools=SEED_TOOLS) == default_writer()


def test_a_profile_does_not_change() -> None:
    with pytest.raises(ValidationError):
        default_writer().tools.max_rounds = 3


def test_a_resolved_profile_tells_what_the_run_follows() -> None:
    profile = resolved(
        {
            "tools.deny": ["chat.search"],
            "tools.maxRounds": 7,
            "tools.maxCallsPerRun": 9,
            "tools.maxCallsPerTool": {"workspace.commit": 2},
            "run.modelRetry": {"maxRetries": 1, "intervalMs": 20, "maxWaitMs": 300},
            "run.driftRecovery": {"maxAttempts": 2},
            "run.hydrateRounds": 0,
            "workspace": {
                "visibleRoots": ["output", "plan"],
                "writableRoots": ["output"],
                "writeGuard": True,
                "patchAfterPartialRead": True,
            },
            "instructions.agentSystemPrompt": "  Write. ",
            "context.initialChatHistoryMessages": 12,
        }
    )

    assert profile.id == "default-writer"
    assert profile.visible_tools == SEED_TOOLS[1:]
    assert (profile.visible_roots, profile.writable_roots) == (("output", "plan"), ("output",))
    assert (profile.message_body_path, profile.message_body_required) == ("output/main.md", True)
    assert (profile.max_rounds, profile.max_calls_per_run) == (7, 9)
    assert profile.max_calls_per_tool == {"workspace.commit": 2}
    assert (profile.max_retries, profile.retry_interval_ms, profile.retry_max_wait_ms) == (1, 20, 300)
    assert (profile.drift_max_attempts, profile.hydrate_rounds) == (2, 0)
    assert (profile.write_guard, profile.patch_after_partial_read) == (True, True)
    assert profile.system_prompt == "  Write. "
    assert profile.context_policy == {"initialChatHistoryMessages": 12, "includeActivatedWorldInfo": True}


def test_a_tool_that_is_allowed_twice_is_seen_once_and_in_its_first_place() -> None:
    profile = resolved({"tools.allow": ["workspace.finish", "workspace.commit", "workspace.finish"]})

    assert profile.visible_tools == ("workspace.finish", "workspace.commit")


def test_the_start_may_override_the_presentation_and_nothing_else() -> None:
    profile = default_writer()
    overridden = resolve(profile, "file:default-writer", "background")

    assert overridden.presentation == "background"
    assert resolve(profile).presentation == "foreground"
    assert overridden.definition.to_json() == document({"run.presentation": "background"})


def test_the_frozen_form_has_the_resolved_output_and_its_source() -> None:
    frozen = resolve(default_writer(), "file:default-writer", "background").to_json()

    assert frozen["output"] == {
        "artifacts": [
            {
                "id": "main",
                "path": "output/main.md",
                "kind": "markdown",
                "target": "message_body",
                "required": True,
                "assemblyOrder": 0,
            }
        ],
        "messageBodyArtifactId": "main",
        "messageBodyPath": "output/main.md",
    }
    assert frozen["sourceTrace"] == {"profileSource": "file:default-writer"}
    assert frozen["run"]["presentation"] == "background"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tools.approval": "mutating"},
        {"tools.approval": ["workspace.commit"]},
        {"instructions.agentSystemPrompt": "You write.\n"},
        {"tools.toolDescriptions": {"workspace.commit": {"description": "d", "properties": {"path": "p"}}}},
        {"delegation": {"canDelegate": True}},
        {"preset": {"mode": "ref", "ref": {"apiId": "openai", "name": "Mine"}}},
    ],
)
def test_the_frozen_form_is_read_back_whole(changes: dict[str, Json]) -> None:
    profile = resolve(parse_profile(document(changes), known_tools=SEED_TOOLS), "file:mine", "background")

    assert resolved_profile(loads(dumps(profile.to_json(), pretty=True))) == profile


@pytest.mark.parametrize("key", list(resolved().to_json()))
def test_a_frozen_form_that_lost_a_needed_field_is_damaged(key: str) -> None:
    frozen = resolved().to_json()
    del frozen[key]
    optional = {"description", "context", "instructions"}

    if key in optional:
        assert resolved_profile(frozen).id == "default-writer"
    else:
        with pytest.raises(InvalidData, match=r"input/resolved_profile\.json"):
            resolved_profile(frozen)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sourceTrace", {"profileSource": 3}),
        ("sourceTrace", {}),
        ("sourceTrace", None),
        ("output", []),
        ("output", {"artifacts": [{"id": "main"}]}),
        ("output", {"artifacts": [{"target": "hidden"}]}),
        ("output", {"artifacts": 3}),
        ("output", {"artifacts": []}),
        ("tools", {"allow": ["workspace.finish"], "maxRounds": 3}),
        ("kind", "other"),
        ("unknown", 1),
    ],
)
def test_a_frozen_form_that_was_altered_is_damaged(key: str, value: Json) -> None:
    frozen = {**resolved().to_json(), key: value}

    with pytest.raises(InvalidData, match=r"input/resolved_profile\.json"):
        resolved_profile(frozen)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(list(resolved().to_json())), inner),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_anything_else_is_damaged(value: Json) -> None:
    with pytest.raises(InvalidData):
        resolved_profile(value)


def test_the_manifest_has_the_runs_identity_and_five_roots() -> None:
    ref = {"kind": "group", "chatId": "7"}
    profile = resolved({"workspace.visibleRoots": ["output", "persist"], "workspace.writableRoots": ["output"]})
    manifest = profile.manifest_json("run_1", "chat-1", ref, "2026-01-01T00:00:00.000Z")

    assert [root["path"] for root in manifest["roots"]] == list(ROOTS)
    assert manifest["roots"][0] == {
        "path": "output",
        "lifecycle": "run",
        "scope": "run",
        "mount": "materialized",
        "commit": "never",
        "visible": True,
        "writable": True,
    }
    assert manifest["roots"][-1] == {
        "path": "persist",
        "lifecycle": "persistent",
        "scope": "chat",
        "mount": "projected_overlay",
        "commit": "on_run_completed",
        "visible": True,
        "writable": False,
    }
    assert {key: value for key, value in manifest.items() if key != "roots"} == {
        "workspaceVersion": 1,
        "runId": "run_1",
        "stableChatId": "chat-1",
        "chatRef": ref,
        "createdAt": "2026-01-01T00:00:00.000Z",
        "input": {
            "mode": "prompt_snapshot",
            "promptSnapshotPath": "input/prompt_snapshot.json",
            "resolvedProfilePath": "input/resolved_profile.json",
        },
        "artifacts": profile.to_json()["output"]["artifacts"],
        "commitPolicy": {"defaultTarget": "message_body", "combineTemplate": None, "storeArtifactsInExtra": True},
    }
