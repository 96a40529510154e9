"""The request that a prompt is assembled by: all that it is made of, checked before anything is made."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, is_list, is_object
from ..context_policy import context_policy
from ..frozen_input import frozen_input

KIND = "tauritavern.agentPromptAssemblyRequest"
SYSTEM_PROMPT = "agentSystemPrompt"
TASK = "agentTask"

_INVALID = "agent.prompt_assembly_request_invalid"

_KEYS = frozenset(
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


def assembly_request(given: Json) -> AssemblyRequest:
    """Raises InvalidInput: `agent.prompt_assembly_request_invalid` naming the field, the codes of what is given twice,
    of the context policy, of the frozen input, and of prompts that are blank."""
    for key, code in _DUPLICATED.items():
        if is_object(given) and key in given:
            raise InvalidInput(f"{key} stands in frozenRunInputSnapshot already; take it out of the request", code=code)
    fields = closed(given, "the request", _KEYS, _INVALID)
    for key, wanted in (("schemaVersion", 1), ("kind", KIND)):
        if type(fields.get(key)) is not type(wanted) or fields[key] != wanted:
            raise _invalid(f"{key} must be {wanted}")
    generation_type = generation_type_in(fields)
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
        json_schema=schema_in(fields, _INVALID),
    )


def closed(given: Json, what: str, known: Collection[str], code: str) -> dict[str, Json]:
    """The object, if all its keys are known; raises InvalidInput `code`."""
    if not is_object(given):
        raise InvalidInput(f"{what} must be an object", code=code)
    unknown = next((key for key in given if key not in known), None)
    if unknown is not None:
        raise InvalidInput(f"{what} has no field {unknown!r}; take it out", code=code)
    return given


def generation_type_in(fields: dict[str, Json]) -> str:
    """Raises InvalidInput `agent.invalid_generation_type`."""
    value = fields.get("generationType")
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput("generationType must be a text such as normal", code="agent.invalid_generation_type")
    return value.strip()


def schema_in(fields: dict[str, Json], code: str) -> Json:
    """`jsonSchema`, an object or None; raises InvalidInput `code`."""
    value = fields.get("jsonSchema")
    if value is not None and not is_object(value):
        raise InvalidInput("jsonSchema must be an object; leave it out for none", code=code)
    return value


def text_in(fields: dict[str, Json], key: str, code: str) -> str | None:
    """The text trimmed, None where it is absent, null or blank; raises InvalidInput `code`."""
    value = fields.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"{key} must be a string", code=code)
    return value.strip() or None if value is not None else None


def _settings(fields: dict[str, Json]) -> tuple[dict[str, Json], str | None]:
    settings, model_id = fields.get("settings"), text_in(fields, "modelId", _INVALID)
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


def _invalid(message: str) -> InvalidInput:
    return InvalidInput(message, code=_INVALID)
