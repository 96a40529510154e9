"""A profile from its JSON: shape first, then values; one error names the field, its code and the remedy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from pydantic import ValidationError

from ..errors import InvalidInput
from ..jsontext import Json, is_list, is_object
from .checks import SCHEMA_VERSIONS, first_fault
from .faults import Fault, Known, PresetExists, id_faults, keyed
from .schema import KIND, Profile

_OTHER_SHAPE = "agent.invalid_profile"
_SHAPE_CODES = {
    "id": "agent.profile_id_invalid",
    "displayName": "agent.profile_display_name_required",
    "preset.ref": "agent.profile_preset_ref_required",
    "preset.ref.apiId": "agent.profile_preset_api_invalid",
    "preset.ref.name": "agent.profile_preset_name_required",
    "model.connectionRef": "agent.profile_model_connection_ref_required",
    "model.modelId": "agent.profile_model_id_required",
    "run.modelRetry.maxRetries": "agent.profile_model_retry_invalid",
    "run.modelRetry.intervalMs": "agent.profile_model_retry_invalid",
    "run.modelRetry.maxWaitMs": "agent.profile_model_retry_invalid",
    "context.initialChatHistoryMessages": "agent.profile_context_history_invalid",
    "delegation.maxConcurrentInvocations": "agent.profile_delegation_concurrency_invalid",
    "delegation.maxInvocationsPerRun": "agent.profile_delegation_run_budget_invalid",
    "delegation.resultBudgetTokens": "agent.profile_delegation_result_budget_invalid",
    "delegation.maxHandoffDepth": "agent.profile_handoff_depth_invalid",
    "plan.mode": "agent.plan_mode_unsupported",
    "plan.nodes": "agent.plan_nodes_unsupported",
    "tools.allow": "agent.profile_tools_empty",
    "tools.allow[*]": "agent.profile_unknown_tool",
    "tools.deny[*]": "agent.profile_unknown_tool",
    "tools.maxRounds": "agent.profile_max_rounds_invalid",
    "tools.maxCallsPerRun": "agent.profile_max_calls_invalid",
    "tools.maxCallsPerTool[*]": "agent.profile_tool_budget_invalid",
    "tools.toolDescriptions[*].description": "agent.profile_tool_description_empty",
    "tools.toolDescriptions[*].properties": "agent.profile_tool_properties_invalid",
    "tools.toolDescriptions[*].properties[*]": "agent.profile_tool_property_description_empty",
    "skills.visible": "agent.profile_skill_visible_empty",
    "skills.visible[*]": "agent.profile_skill_name_invalid",
    "skills.deny[*]": "agent.profile_skill_name_invalid",
    "skills.maxReadCharsPerCall": "agent.profile_skill_budget_invalid",
    "skills.maxReadCharsPerRun": "agent.profile_skill_budget_invalid",
    "workspace.visibleRoots": "agent.profile_workspace_visible_empty",
    "workspace.visibleRoots[*]": "agent.profile_workspace_root_invalid",
    "workspace.writableRoots": "agent.profile_workspace_root_invalid",
    "workspace.writableRoots[*]": "agent.profile_workspace_root_invalid",
    "output.artifacts": "agent.profile_output_empty",
    "output.artifacts[*].id": "agent.profile_artifact_id_invalid",
    "output.artifacts[*].path": "agent.profile_output_path_denied",
    "output.artifacts[*].kind": "agent.profile_output_kind_required",
    "output.artifacts[*].target": "agent.profile_output_message_body_missing",
}
"""What a missing field, or one of the wrong type, is called; `[*]` stands for any index or key."""

_REMEDIES = {
    "missing": "is missing; add it",
    "extra_forbidden": "is not a field of a profile; remove it",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
}
_UNIONS = {"tools.approval"}
_MAPPINGS = {"toolDescriptions", "properties", "maxCallsPerTool"}


def parse_profile(
    json: Json,
    *,
    known_tools: Collection[str],
    properties: Mapping[str, Collection[str]] | None = None,
    preset_exists: PresetExists | None = None,
) -> Profile:
    """The profile that a document holds, in its normal form.

    `properties` are the top-level arguments of tools, by name; without `preset_exists` no preset is looked for.
    Raises InvalidInput with the code of the first rule that it breaks; `details.path` is the field's JSON path.
    """
    profile = shaped(json)
    fault = first_fault(profile, Known(known_tools, properties or {}, preset_exists))
    if fault:
        raise refusal(fault)
    return profile


def shaped(json: Json) -> Profile:
    """The profile without a look at its values; raises InvalidInput where the shape is wrong."""
    if not is_object(json):
        raise InvalidInput("a profile must be a JSON object", code=_OTHER_SHAPE, details={"path": "$"})
    version = json.get("schemaVersion")
    if type(version) is not int or version not in SCHEMA_VERSIONS:
        raise refusal(Fault("agent.profile_schema_unsupported", "schemaVersion", "must be 1 or 2"))
    if json.get("kind") != KIND:
        raise refusal(Fault("agent.profile_kind_invalid", "kind", f'must be "{KIND}"'))
    try:
        return Profile.model_validate(json)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        path, pattern = _place_of(first["loc"], json)
        code = _SHAPE_CODES.get(pattern, _OTHER_SHAPE) if first["type"] != "extra_forbidden" else _OTHER_SHAPE
        message = _REMEDIES.get(first["type"]) or first["msg"].replace("Input should", "must", 1)
        if pattern == "tools.approval":
            message = 'must be a list of tools, or "mutating"'
        raise refusal(Fault(code, path, message)) from error


def checked_id(profile_id: str) -> str:
    """The id trimmed; raises InvalidInput `agent.profile_id_empty`, `_too_long` or `_invalid`."""
    trimmed = profile_id.strip()
    fault = next(id_faults(trimmed, "id"), None)
    if fault:
        raise InvalidInput(f"the profile id {profile_id!r} {fault.message}", code=fault.code, details={"path": "$.id"})
    return trimmed


def refusal(fault: Fault) -> InvalidInput:
    path = f"$.{fault.path}" if not fault.path.startswith("[") else f"${fault.path}"
    return InvalidInput(f"the profile's {path} {fault.message}", code=fault.code, details={"path": path})


def _place_of(location: Sequence[int | str], document: Json) -> tuple[str, str]:
    """The JSON path of a pydantic location, and the same with `[*]` for every index and key of the user's.

    The location also names members of unions, and marks a key that is itself at fault; neither is in the document.
    """
    path = pattern = ""
    value = document
    mapping = False
    for part in location:
        if isinstance(part, int):
            path, pattern = f"{path}[{part}]", f"{pattern}[*]"
            value = value[part] if is_list(value) and part < len(value) else None
        elif is_object(value) and pattern not in _UNIONS and part != "[key]":
            dot = "." if path else ""
            path = keyed(path, part) if mapping or not part.isidentifier() else f"{path}{dot}{part}"
            pattern = f"{pattern}[*]" if mapping else f"{pattern}{dot}{part}"
            value = value.get(part)
        mapping = pattern.rpartition(".")[2] in _MAPPINGS
    return path, pattern
