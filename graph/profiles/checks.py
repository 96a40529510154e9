"""What a profile's values must be, group by group; the first fault found is the one that is told.

Each group is a generator of faults in a fixed order; a group may rely on those before it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import ToolRefused
from ..paths import ROOTS, WorkspacePath, is_writable, parse
from .faults import Fault, Group, Known, id_faults, is_name
from .schema import KIND, Profile
from .tool_checks import delegation_faults, run_faults, tools_faults

SCHEMA_VERSIONS = (1, 2)
PRESET_APIS = (
    "kobold", "koboldhorde", "novel", "openai", "textgenerationwebui", "instruct", "context", "sysprompt", "reasoning",
)  # fmt: skip


def first_fault(profile: Profile, known: Known) -> Fault | None:
    return next((fault for group in GROUPS for fault in group(profile, known)), None)


def _header(profile: Profile, known: Known) -> Iterator[Fault]:
    if profile.schema_version not in SCHEMA_VERSIONS:
        yield Fault("agent.profile_schema_unsupported", "schemaVersion", "must be 1 or 2")
    if profile.kind != KIND:
        yield Fault("agent.profile_kind_invalid", "kind", f'must be "{KIND}"')
    yield from id_faults(profile.id, "id")
    if not profile.display_name.strip():
        yield Fault("agent.profile_display_name_required", "displayName", "must not be blank")


def _preset(profile: Profile, known: Known) -> Iterator[Fault]:
    preset = profile.preset
    if preset.mode == "ref" and preset.ref is None:
        yield Fault("agent.profile_preset_ref_required", "preset.ref", 'must be given when preset.mode is "ref"')
    if preset.ref is None:
        return
    if preset.ref.api_id not in PRESET_APIS:
        yield Fault("agent.profile_preset_api_invalid", "preset.ref.apiId", f"must be one of {', '.join(PRESET_APIS)}")
    if not preset.ref.name.strip():
        yield Fault("agent.profile_preset_name_required", "preset.ref.name", "must not be blank")
    wanted = preset.mode == "ref" and preset.required
    if wanted and known.preset_exists is not None and not known.preset_exists(preset.ref.api_id, preset.ref.name):
        message = f"names the preset {preset.ref.name!r} of {preset.ref.api_id}, which does not exist; choose another"
        yield Fault("agent.profile_preset_missing", "preset.ref.name", message)


_EXTRA_MODEL_FIELDS = {
    "currentPromptSnapshot": "agent.profile_model_current_snapshot_extra_fields",
    "requiresConfiguration": "agent.profile_model_requires_configuration_extra_fields",
}


def _model(profile: Profile, known: Known) -> Iterator[Fault]:
    fields = (
        ("connectionRef", profile.model.connection_ref, "agent.profile_model_connection_ref_required"),
        ("modelId", profile.model.model_id, "agent.profile_model_id_required"),
    )
    extra = _EXTRA_MODEL_FIELDS.get(profile.model.mode)
    for name, value, required in fields:
        given = bool(value and value.strip())
        if extra and given:
            yield Fault(extra, f"model.{name}", f'must be left out when model.mode is "{profile.model.mode}"')
        if not extra and not given:
            yield Fault(required, f"model.{name}", 'must be given when model.mode is "connectionRef"')


def _instructions(profile: Profile, known: Known) -> Iterator[Fault]:
    prompt = profile.instructions.agent_system_prompt
    if prompt is not None and not prompt.strip():
        yield Fault(
            "agent.profile_system_prompt_empty",
            "instructions.agentSystemPrompt",
            "must hold text; leave it out for the default prompt",
        )


def _plan(profile: Profile, known: Known) -> Iterator[Fault]:
    if profile.plan.mode != "none":
        yield Fault("agent.plan_mode_unsupported", "plan.mode", 'must be "none"; plans are not supported yet')
    if profile.plan.nodes:
        yield Fault("agent.plan_nodes_unsupported", "plan.nodes", "must be empty; plans are not supported yet")


def _skills(profile: Profile, known: Known) -> Iterator[Fault]:
    skills = profile.skills
    if not skills.visible:
        yield Fault("agent.profile_skill_visible_empty", "skills.visible", 'must name a skill, or "*"')
    for field, names in (("visible", skills.visible), ("deny", skills.deny)):
        for index, name in enumerate(names):
            if name != "*" and not is_name(name):
                message = 'must be a skill\'s name (1 to 128 of a-z 0-9 _ -) or "*"'
                yield Fault("agent.profile_skill_name_invalid", f"skills.{field}[{index}]", message)
    per_call, per_run = skills.max_read_chars_per_call, skills.max_read_chars_per_run
    if per_run <= 0:
        yield Fault("agent.profile_skill_budget_invalid", "skills.maxReadCharsPerRun", "must be 1 or more")
    if not 0 < per_call <= per_run:
        message = "must be 1 or more, and no more than maxReadCharsPerRun"
        yield Fault("agent.profile_skill_budget_invalid", "skills.maxReadCharsPerCall", message)


def _workspace(profile: Profile, known: Known) -> Iterator[Fault]:
    visible, writable = profile.workspace.visible_roots, profile.workspace.writable_roots
    if not visible:
        message = f"must name at least one of {', '.join(ROOTS)}"
        yield Fault("agent.profile_workspace_visible_empty", "workspace.visibleRoots", message)
    for field, names, among in (("visibleRoots", visible, ROOTS), ("writableRoots", writable, visible)):
        for index, name in enumerate(names):
            if name not in among or name not in ROOTS:
                message = f"must be one of {', '.join(among)}"
                yield Fault("agent.profile_workspace_root_invalid", f"workspace.{field}[{index}]", message)


def _output(profile: Profile, known: Known) -> Iterator[Fault]:
    artifacts = profile.output.artifacts
    if not artifacts:
        yield Fault("agent.profile_output_empty", "output.artifacts", "must hold one artifact")
    ids: set[str] = set()
    paths: set[str] = set()
    for index, artifact in enumerate(artifacts):
        where = f"output.artifacts[{index}]"
        if not is_name(artifact.id):
            yield Fault("agent.profile_artifact_id_invalid", f"{where}.id", "must be 1 to 128 of a-z 0-9 _ -")
        if artifact.id in ids:
            yield Fault("agent.profile_output_duplicate_id", f"{where}.id", "must differ from the other ids")
        if not artifact.kind:
            yield Fault("agent.profile_output_kind_required", f"{where}.kind", 'must not be blank, such as "markdown"')
        if artifact.path in paths:
            yield Fault("agent.profile_output_duplicate_path", f"{where}.path", "must differ from the other paths")
        reason = _path_fault(artifact.path, profile)
        if reason:
            yield Fault("agent.profile_output_path_denied", f"{where}.path", reason)
        ids.add(artifact.id)
        paths.add(artifact.path)
    if len(artifacts) > 1:
        message = 'must hold one artifact of target "messageBody", not more'
        yield Fault("agent.profile_output_duplicate_message_body", "output.artifacts", message)


def _path_fault(path: str, profile: Profile) -> str | None:
    try:
        parse(path)
    except ToolRefused as refused:
        return f"must be a workspace path: {refused.message}"
    if not is_writable(WorkspacePath(path), profile.workspace.writable_roots):
        return "must lie under a root that is visible and writable"
    return None


GROUPS: tuple[Group, ...] = (
    _header, _preset, _model, _instructions, _plan, tools_faults, delegation_faults, run_faults, _skills, _workspace,
    _output,
)  # fmt: skip
