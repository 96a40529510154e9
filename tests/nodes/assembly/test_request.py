"""What an assembly is asked with: every field of both inputs, and what is answered."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.profiles.documents import GONE, resolved
from tests.nodes.test_frozen_input import FROZEN, SNAKE
from treadle.graph.canonical import fingerprint
from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json, dumps, loads
from treadle.graph.profiles.schema import PresetRef
from treadle.nodes.assembly.question import Question, answer, preset_object, preset_ref, question
from treadle.nodes.assembly.request import assembly_request

INPUT: dict[str, Json] = {"generationType": "normal", "frozenRunInputSnapshot": FROZEN}
REQUEST: dict[str, Json] = {
    "schemaVersion": 1,
    "kind": "tauritavern.agentPromptAssemblyRequest",
    "profileId": "default-writer",
    "generationType": "normal",
    "frozenRunInputSnapshot": FROZEN,
    "settings": {"chat_completion_source": "openai"},
    "presetRef": {"apiId": "openai", "name": "Default"},
    "agentContextPolicy": {"initialChatHistoryMessages": -1, "includeActivatedWorldInfo": True},
    "agentSystemPrompt": "Write.",
    "fingerprint": {},
}
BAD_INPUT, BAD_REQUEST = "agent.prompt_assembly_input_invalid", "agent.prompt_assembly_request_invalid"
REF: dict[str, object] = {"preset": {"mode": "ref", "ref": {"apiId": "openai", "name": "Slow burn"}}}


def refusal(read: Callable[[Json], object], base: dict[str, Json], key: str, value: object) -> tuple[str, str]:
    changed = {name: item for name, item in {**base, key: value}.items() if item is not GONE}
    with pytest.raises(InvalidInput) as caught:
        read(changed)
    return caught.value.error_code, caught.value.message


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("profileId", 3, BAD_INPUT),
        ("profileId", ["x"], BAD_INPUT),
        ("generationType", GONE, "agent.invalid_generation_type"),
        ("generationType", None, "agent.invalid_generation_type"),
        ("generationType", 1, "agent.invalid_generation_type"),
        ("generationType", " ", "agent.invalid_generation_type"),
        ("generationType", "swipe", "prompt_assembly.generation_type_mismatch"),
        ("frozenRunInputSnapshot", GONE, "agent.frozen_run_input_snapshot_required"),
        ("frozenRunInputSnapshot", None, "agent.frozen_run_input_snapshot_required"),
        ("frozenRunInputSnapshot", [], "agent.frozen_run_input_snapshot_invalid"),
        ("frozenRunInputSnapshot", {}, "agent.frozen_run_input_snapshot_schema_required"),
        ("jsonSchema", [], BAD_INPUT),
        ("jsonSchema", "x", BAD_INPUT),
        ("jsonSchema", True, BAD_INPUT),
        ("profileID", "x", BAD_INPUT),
    ],
)
def test_each_field_of_the_input_is_refused_by_its_name(key: str, value: object, code: str) -> None:
    told, message = refusal(question, INPUT, key, value)

    assert told == code
    assert key in message


@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_an_input_and_a_request_are_objects(value: Json) -> None:
    for read, code in ((question, BAD_INPUT), (assembly_request, BAD_REQUEST)):
        with pytest.raises(InvalidInput) as caught:
            read(value)

        assert caught.value.error_code == code


def test_an_input_is_read() -> None:
    full = question({**INPUT, "frozenRunInputSnapshot": SNAKE, "profileId": " mine ", "jsonSchema": {"name": "n"}})

    assert (full.profile_id, full.generation_type, full.json_schema) == ("mine", "normal", {"name": "n"})
    assert full.frozen["promptInputs"] == {"messages": []}
    assert question({**INPUT, "profileId": " ", "jsonSchema": None}).profile_id is None


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("promptInputs", {}, "prompt_assembly.prompt_inputs_duplicated"),
        ("promptInputs", None, "prompt_assembly.prompt_inputs_duplicated"),
        ("worldInfoActivation", {}, "prompt_assembly.world_info_activation_duplicated"),
        ("worldInfoActivation", None, "prompt_assembly.world_info_activation_duplicated"),
        ("macroContext", {}, "prompt_assembly.macro_context_duplicated"),
        ("macroContext", None, "prompt_assembly.macro_context_duplicated"),
        ("schemaVersion", GONE, BAD_REQUEST),
        ("schemaVersion", 2, BAD_REQUEST),
        ("schemaVersion", True, BAD_REQUEST),
        ("schemaVersion", "1", BAD_REQUEST),
        ("kind", GONE, BAD_REQUEST),
        ("kind", None, BAD_REQUEST),
        ("kind", "tauritavern.agentProfile", BAD_REQUEST),
        ("generationType", GONE, "agent.invalid_generation_type"),
        ("generationType", "swipe", "prompt_assembly.generation_type_mismatch"),
        ("frozenRunInputSnapshot", GONE, "agent.frozen_run_input_snapshot_required"),
        ("frozenRunInputSnapshot", 1, "agent.frozen_run_input_snapshot_invalid"),
        ("settings", GONE, BAD_REQUEST),
        ("settings", None, BAD_REQUEST),
        ("settings", [], BAD_REQUEST),
        ("modelId", 3, BAD_REQUEST),
        ("agentContextPolicy", GONE, "agent.context_policy_required"),
        ("agentContextPolicy", None, "agent.context_policy_required"),
        ("agentContextPolicy", [], "agent.invalid_context_policy_snapshot"),
        ("agentContextPolicy", {"more": 1}, "agent.invalid_context_policy_snapshot"),
        ("agentContextPolicy", {"initialChatHistoryMessages": "1"}, "agent.invalid_context_policy_snapshot"),
        ("agentSystemPrompt", GONE, "agent.system_prompt_required"),
        ("agentSystemPrompt", None, "agent.system_prompt_required"),
        ("agentSystemPrompt", "\n", "agent.system_prompt_required"),
        ("agentSystemPrompt", 3, BAD_REQUEST),
        ("agentTaskPrompt", 3, BAD_REQUEST),
        ("requiredAgentPromptComponents", "agentTask", BAD_REQUEST),
        ("requiredAgentPromptComponents", ["agentResults"], BAD_REQUEST),
        ("requiredAgentPromptComponents", [["agentTask"]], BAD_REQUEST),
        ("jsonSchema", 3, BAD_REQUEST),
        ("more", 1, BAD_REQUEST),
    ],
)
def test_each_field_of_a_request_is_refused_by_its_name(key: str, value: object, code: str) -> None:
    told, message = refusal(assembly_request, REQUEST, key, value)

    assert told == code
    assert key in message


@pytest.mark.parametrize("source", [GONE, None, "", 3])
def test_a_model_needs_settings_with_a_source(source: object) -> None:
    settings = {} if source is GONE else {"chat_completion_source": source}

    code, message = refusal(assembly_request, {**REQUEST, "settings": settings}, "modelId", "m")

    assert code == BAD_REQUEST
    assert "settings.chat_completion_source" in message


def test_a_task_that_is_required_must_hold_text() -> None:
    required = {**REQUEST, "requiredAgentPromptComponents": ["agentSystemPrompt", "agentTask"]}

    for blank in (GONE, None, " "):
        assert refusal(assembly_request, required, "agentTaskPrompt", blank)[0] == "agent.task_prompt_required"
    assert assembly_request({**required, "agentTaskPrompt": "Do."}).task_prompt == "Do."


def test_a_request_is_read_with_its_defaults() -> None:
    made = assembly_request({**REQUEST, "agentContextPolicy": {}, "agentTaskPrompt": " ", "modelId": None})

    assert made.policy == {"initialChatHistoryMessages": -1, "includeActivatedWorldInfo": True}
    assert (made.task_prompt, made.model_id, made.required, made.json_schema) == (None, None, (), None)


@pytest.mark.parametrize("mode", ["currentPromptSnapshot", "none"])
def test_a_profile_without_a_preset_of_its_own_has_none(mode: str) -> None:
    assert preset_ref(resolved({"preset.mode": mode})) is None


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"model": {"mode": "requiresConfiguration"}}, "agent.profile_model_requires_configuration"),
        ({**REF, "model": {"mode": "requiresConfiguration"}}, "agent.profile_model_requires_configuration"),
        ({"preset": {"mode": "ref", "ref": {"apiId": "novel", "name": "n"}}}, "prompt_assembly.openai_preset_required"),
        ({"preset": {"mode": "ref", "ref": {"apiId": "other", "name": "n"}}}, "prompt_assembly.preset_api_invalid"),
    ],
)
def test_a_profile_whose_prompt_cannot_be_made_is_refused(changes: dict[str, object], code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        preset_ref(resolved(changes))

    assert caught.value.error_code == code


@pytest.mark.parametrize(
    ("preset", "code"),
    [(None, "preset_not_found"), ([], "preset_data_invalid"), ("x", "preset_data_invalid"), (3, "preset_data_invalid")],
)
def test_a_preset_is_an_object_that_is_there(preset: Json, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        preset_object(preset, PresetRef.model_validate({"apiId": "openai", "name": "Slow burn"}))

    assert caught.value.error_code == f"prompt_assembly.{code}"
    assert "'Slow burn'" in caught.value.message


def test_the_answer_is_a_request_with_fingerprints_that_can_be_sent_back() -> None:
    profile = resolved(REF)
    ref = preset_ref(profile)
    assert ref is not None
    preset: dict[str, Json] = {"temperature": 1, "openai_model": "m"}

    made = answer(
        Question("normal", FROZEN), profile, ref, preset=preset, settings=deepcopy(preset), system_prompt="Write."
    )

    marks = {"presetSha256": fingerprint(preset), "frozenRunInputSnapshotSha256": fingerprint(FROZEN)}
    told = {"apiId": "openai", "name": "Slow burn"}
    assert made == {
        "mode": "frontendPromptAssembly",
        "request": {
            "schemaVersion": 1, "kind": "tauritavern.agentPromptAssemblyRequest", "profileId": "default-writer",
            "generationType": "normal", "frozenRunInputSnapshot": FROZEN, "settings": preset, "presetRef": told,
            "agentContextPolicy": {"initialChatHistoryMessages": -1, "includeActivatedWorldInfo": True},
            "agentSystemPrompt": "Write.", "requiredAgentPromptComponents": ["agentSystemPrompt"],
            "fingerprint": marks,
        },
        "assembly": {
            "schemaVersion": 1, "engine": "frontend-prompt-assembly-broker", "profileId": "default-writer",
            "presetRef": told, "fingerprint": marks,
        },
    }  # fmt: skip
    assert assembly_request(loads(dumps(made["request"]))).system_prompt == "Write."


FIELDS: st.SearchStrategy[Json] = (
    st.none()
    | st.integers()
    | st.text(max_size=3)
    | st.just(dict[str, Json]())
    | st.lists(st.text(max_size=2), max_size=2)
)


@given(st.dictionaries(st.sampled_from([*REQUEST, "modelId", "agentTaskPrompt", "jsonSchema", "macroContext"]), FIELDS))
def test_whatever_is_asked_is_read_or_refused(changes: dict[str, Json]) -> None:
    for read, base in ((question, INPUT), (assembly_request, REQUEST)):
        try:
            read({**base, **changes})
        except InvalidInput as refused:
            assert refused.message
