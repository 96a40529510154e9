"""What is asked before a prompt is made of frozen inputs, and the answer: a request with all that it is made of."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.canonical import fingerprint
from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, is_object
from ...graph.profiles.checks import PRESET_APIS
from ...graph.profiles.resolved import ResolvedProfile
from ...graph.profiles.schema import PresetRef
from ..frozen_input import frozen_input
from .request import KIND, SYSTEM_PROMPT, closed, generation_type_in, schema_in, text_in

BROKER = "frontend-prompt-assembly-broker"
"""The name of this exchange, kept with what comes of it."""

_INVALID = "agent.prompt_assembly_input_invalid"
_KEYS = frozenset({"profileId", "profile", "generationType", "frozenRunInputSnapshot", "jsonSchema"})


@dataclass(frozen=True, slots=True)
class Question:
    """The input of `prepare`."""

    generation_type: str
    frozen: dict[str, Json]
    profile_id: str | None = None
    profile: Json = None
    """A profile document; it goes before `profile_id`."""
    json_schema: Json = None


def question(given: Json) -> Question:
    """Raises InvalidInput `agent.prompt_assembly_input_invalid`, `agent.invalid_generation_type`, or as
    `frozen_input` does."""
    fields = closed(given, "the input of prepare", _KEYS, _INVALID)
    generation_type = generation_type_in(fields)
    return Question(
        generation_type,
        frozen_input(fields.get("frozenRunInputSnapshot"), generation_type),
        text_in(fields, "profileId", _INVALID),
        fields.get("profile"),
        schema_in(fields, _INVALID),
    )


def preset_ref(profile: ResolvedProfile) -> PresetRef | None:
    """The preset that the profile's prompts are made with; None where they are taken as they come.

    Raises InvalidInput `agent.profile_model_requires_configuration`, and `prompt_assembly.preset_api_invalid` or
    `prompt_assembly.openai_preset_required` for a preset that no prompt can be made with.
    """
    if profile.definition.model.mode == "requiresConfiguration":
        raise InvalidInput(
            f"the profile {profile.id} has no model yet; set its model.mode",
            code="agent.profile_model_requires_configuration",
        )
    preset = profile.definition.preset
    if preset.mode != "ref" or preset.ref is None:
        return None
    api = preset.ref.api_id
    if api not in PRESET_APIS:
        raise InvalidInput(f"preset.ref.apiId {api!r} is not known", code="prompt_assembly.preset_api_invalid")
    if api != "openai":
        raise InvalidInput(
            f"preset.ref.apiId is {api!r}, but only presets of openai can be assembled; choose one of those",
            code="prompt_assembly.openai_preset_required",
        )
    return preset.ref


def preset_object(preset: Json, ref: PresetRef) -> dict[str, Json]:
    """Raises InvalidInput `prompt_assembly.preset_not_found`, `prompt_assembly.preset_data_invalid`."""
    if preset is None:
        raise InvalidInput(
            f"there is no preset {ref.name!r} of {ref.api_id}; save one under that name, or change preset.ref.name",
            code="prompt_assembly.preset_not_found",
        )
    if not is_object(preset):
        raise InvalidInput(
            f"the preset {ref.name!r} of {ref.api_id} must be an object", code="prompt_assembly.preset_data_invalid"
        )
    return preset


def answer(
    asked: Question,
    profile: ResolvedProfile,
    ref: PresetRef,
    *,
    preset: dict[str, Json],
    settings: dict[str, Json],
    system_prompt: str,
) -> dict[str, Json]:
    """`{mode, request, assembly}` for a profile with a preset; `settings` are the preset's with the profile's model."""
    told: dict[str, Json] = {"apiId": ref.api_id, "name": ref.name}
    marks = {"presetSha256": fingerprint(preset), "frozenRunInputSnapshotSha256": fingerprint(asked.frozen)}
    request: dict[str, Json] = {
        "schemaVersion": 1,
        "kind": KIND,
        "profileId": profile.id,
        "generationType": asked.generation_type,
        "frozenRunInputSnapshot": asked.frozen,
        "settings": settings,
        "modelId": profile.definition.model.model_id,
        "presetRef": told,
        "agentContextPolicy": profile.context_policy,
        "agentSystemPrompt": system_prompt,
        "requiredAgentPromptComponents": [SYSTEM_PROMPT],
        "jsonSchema": asked.json_schema,
        "fingerprint": marks,
    }
    assembly = {
        "schemaVersion": 1, "engine": BROKER, "profileId": profile.id, "presetRef": dict(told),
        "fingerprint": dict(marks),
    }  # fmt: skip
    present = {key: value for key, value in request.items() if value is not None}
    return {"mode": "frontendPromptAssembly", "request": present, "assembly": assembly}
