"""What the assembly of a prompt is asked with: the question of whoever prepares, and the request that answers it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..graph.canonical import fingerprint
from ..graph.errors import InvalidInput
from ..graph.jsontext import Json, is_list, is_object
from ..graph.profile import ResolvedProfile
from ..graph.profile_checks import PRESET_APIS
from ..graph.profile_schema import PresetRef
from .context_policy import context_policy
from .frozen_input import frozen_input

KIND = "tauritavern.agentPromptAssemblyRequest"
BROKER = "frontend-prompt-assembly-broker"
SYSTEM_PROMPT = "agentSystemPrompt"
TASK = "agentTask"

INPUT_INVALID = "agent.prompt_assembly_input_invalid"
REQUEST_INVALID = "agent.prompt_assembly_request_invalid"

_INPUT_KEYS = frozenset({"profileId", "profile", "generationType", "frozenRunInputSnapshot", "jsonSchema"})
_REQUEST_KEYS = frozenset(
    {
        "schemaVersion", "kind", "assemblyId", "scope", "profileId", "generationType", "frozenRunInputSnapshot",
        "settings", "modelId", "presetRef", "agentContextPolicy", "agentSystemPrompt", "agentTaskPrompt",
        "requiredAgentPromptComponents", "jsonSchema", "fingerprint",
    }
)  # fmt: skip
_DUPLICATED = {
    "promptInputs": "prompt_assembly.prompt_inputs_duplicated",
    "worldInfoActivation": "prompt_assembly.world_info_activation_duplicated",
    "macroContext": "prompt_assembly.macro_context_duplicated",
}


@dataclass(frozen=True, slots=True)
class Question:
    """The input of `prepare`."""

    generation_type: str
    frozen: dict[str, Json]
    profile_id: str | None = None
    profile: Json = None
    """A profile document; it goes before `profile_id`."""
    json_schema: Json = None


@dataclass(frozen=True, slots=True)
class AssemblyRequest:
    """The input of `build_snapshot`, checked."""

    generation_type: str
    frozen: dict[str, Json]
    settings: dict[str, Json]
    policy: dict[str, Json]
    system_prompt: str
    task_prompt: str | None
    """None where there is no task, or a blank one."""
    model_id: str | None
    required: tuple[str, ...]
    """The components that the prompt must hold."""
    json_schema: Json


def question(given: Json) -> Question:
    """Raises InvalidInput `agent.prompt_assembly_input_invalid`, `agent.invalid_generation_type`, or as
    `frozen_input` does."""
    fields = _object(given, "the input of prepare", _INPUT_KEYS, INPUT_INVALID)
    generation_type = _generation_type(fields)
    return Question(
        generation_type,
        frozen_input(fields.get("frozenRunInputSnapshot"), generation_type),
        _text(fields, "profileId", INPUT_INVALID),
        fields.get("profile"),
        _schema(fields, INPUT_INVALID),
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


def assembly_request(given: Json) -> AssemblyRequest:
    """Raises InvalidInput: `agent.prompt_assembly_request_invalid` naming the field, the codes of what is given twice,
    of the context policy, of the frozen input, and of prompts that are blank."""
    for key, code in _DUPLICATED.items():
        if is_object(given) and key in given:
            raise InvalidInput(f"{key} stands in frozenRunInputSnapshot already; take it out of the request", code=code)
    fields = _object(given, "the request", _REQUEST_KEYS, REQUEST_INVALID)
    for key, wanted in (("schemaVersion", 1), ("kind", KIND)):
        if type(fields.get(key)) is not type(wanted) or fields[key] != wanted:
            raise _invalid(f"{key} must be {wanted}")
    generation_type = _generation_type(fields)
    frozen = frozen_input(fields.get("frozenRunInputSnapshot"), generation_type)
    settings, model_id = _settings(fields)
    required = _required(fields)
    return AssemblyRequest(
        generation_type=generation_type,
        frozen=frozen,
        settings=settings,
        policy=_policy(fields),
        system_prompt=_system_prompt(fields),
        task_prompt=_task(fields, required),
        model_id=model_id,
        required=required,
        json_schema=_schema(fields, REQUEST_INVALID),
    )


def _object(given: Json, what: str, known: Collection[str], code: str) -> dict[str, Json]:
    if not is_object(given):
        raise InvalidInput(f"{what} must be an object", code=code)
    unknown = next((key for key in given if key not in known), None)
    if unknown is not None:
        raise InvalidInput(f"{what} has no field {unknown!r}; take it out", code=code)
    return given


def _generation_type(fields: dict[str, Json]) -> str:
    value = fields.get("generationType")
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput("generationType must be a text such as normal", code="agent.invalid_generation_type")
    return value.strip()


def _settings(fields: dict[str, Json]) -> tuple[dict[str, Json], str | None]:
    settings, model_id = fields.get("settings"), _text(fields, "modelId", REQUEST_INVALID)
    if not is_object(settings):
        raise _invalid("settings must be an object: the preset's")
    source = settings.get("chat_completion_source")
    if model_id is not None and not (isinstance(source, str) and source.strip()):
        raise _invalid("settings.chat_completion_source must be given beside modelId")
    return settings, model_id


def _policy(fields: dict[str, Json]) -> dict[str, Json]:
    if fields.get("agentContextPolicy") is None:
        raise InvalidInput("agentContextPolicy must be given", code="agent.context_policy_required")
    return context_policy(fields["agentContextPolicy"], "agentContextPolicy")


def _system_prompt(fields: dict[str, Json]) -> str:
    value = fields.get("agentSystemPrompt")
    if value is not None and not isinstance(value, str):
        raise _invalid("agentSystemPrompt must be a string")
    if value is None or not value.strip():
        raise InvalidInput("agentSystemPrompt must hold text", code="agent.system_prompt_required")
    return value


def _task(fields: dict[str, Json], required: tuple[str, ...]) -> str | None:
    value = fields.get("agentTaskPrompt")
    if value is not None and not isinstance(value, str):
        raise _invalid("agentTaskPrompt must be a string")
    if value is None or not value.strip():
        if TASK in required:
            raise InvalidInput("agentTaskPrompt must hold text", code="agent.task_prompt_required")
        return None
    return value


def _required(fields: dict[str, Json]) -> tuple[str, ...]:
    given = fields.get("requiredAgentPromptComponents")
    if given is None:
        return ()
    if not is_list(given) or any(name not in (SYSTEM_PROMPT, TASK) for name in given):
        raise _invalid(f"requiredAgentPromptComponents must be a list of {SYSTEM_PROMPT} and {TASK}")
    return tuple(given)


def _schema(fields: dict[str, Json], code: str) -> Json:
    value = fields.get("jsonSchema")
    if value is not None and not is_object(value):
        raise InvalidInput("jsonSchema must be an object; leave it out for none", code=code)
    return value


def _text(fields: dict[str, Json], key: str, code: str) -> str | None:
    """Trimmed; None where it is absent, null or blank."""
    value = fields.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"{key} must be a string", code=code)
    return value.strip() or None if value is not None else None


def _invalid(message: str) -> InvalidInput:
    return InvalidInput(message, code=REQUEST_INVALID)
