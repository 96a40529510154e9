"""What a profile's values must be, group by group; the first fault found is the one that is told.

Each group is a generator of faults in a fixed order; a group may rely on those before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from .errors import ToolRefused
from .paths import ROOTS, WorkspacePath, is_writable, parse
from .profile_schema import KIND, Delegation, Profile

SCHEMA_VERSIONS = (1, 2)
ID_BYTES = 128
PRESET_APIS = (
    "kobold", "koboldhorde", "novel", "openai", "textgenerationwebui", "instruct", "context", "sysprompt", "reasoning",
)  # fmt: skip

_ID = re.compile(r"[a-z0-9_-]+")


class Fault(NamedTuple):
    code: str
    path: str
    """Where in the document, as a JSON path without the leading `$.`."""
    message: str
    """What must be so: it reads on after the path."""


Group = Callable[[Profile, Collection[str]], Iterator[Fault]]


def first_fault(profile: Profile, known_tools: Collection[str]) -> Fault | None:
    return next((fault for group in GROUPS for fault in group(profile, known_tools)), None)


def _header(profile: Profile, known_tools: Collection[str]) -> Iterator[Fault]:
    if profile.schema_version not in SCHEMA_VERSIONS:
        yield Fault("agent.profile_schema_unsupported", "schemaVersion", "must be 1 or 2")
    if profile.kind != KIND:
        yield Fault("agent.profile_kind_invalid", "kind", f'must be "{KIND}"')
    yield from _id_faults(profile.id, "id")
    if not profile.display_name.strip():
        yield Fault("agent.profile_display_name_required", "displayName", "must not be blank")


def _preset(profile: Profile, known_tools: Collection[str]) -> Iterator[Fault]:
    preset = profile.preset
    if preset.mode == "ref" and preset.ref is None:
        yield Fault("agent.profile_preset_ref_required", "preset.ref", 'must be given when preset.mode is "ref"')
    if preset.ref is None:
        return
    if preset.ref.api_id not in PRESET_APIS:
        yield Fault("agent.profile_preset_api_invalid", "preset.ref.apiId", f"must be one of {', '.join(PRESET_APIS)}")
    if not preset.ref.name.strip():
        yield Fault("agent.profile_preset_name_required", "preset.ref.name", "must not be blank")


_EXTRA_MODEL_FIELDS = {
    "currentPromptSnapshot": "agent.profile_model_current_snapshot_extra_fields",
    "requiresConfiguration": "agent.profile_model_requires_configuration_extra_fields",
}


def _model(profile: Profile, known_tools: Collection[str]) -> Iterator[Fault]:
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


def _instructions(profile: Profile, known_tools: Collection[str]) -> Iterator[Fault]:
    prompt = profile.instructions.agent_system_prompt
    if prompt is not None and not prompt.strip():
        yield Fault(
            "agent.profile_system_prompt_empty",
            "instructions.agentSystemPrompt",
            "must hold text; leave it out for the default prompt",
        )


def _plan(profile: Profile, known_tools: Collection[str]) -> Iterator[Fault]:
    if profile.plan.mode != "none":
        yield Fault("agent.plan_mode_unsupported", "plan.mode", 'must be "none"; plans are not supported yet')
    if profile.plan.nodes:
        yield Fault("agent.plan_nodes_unsupported", "plan.nodes", "must be empty; plans are not supported yet")


def _tools(profile: Profile, known_tools: Collection[str]) -> Iterator[Fault]:
    tools = profile.tools
    if tools.max_rounds <= 0:
        yield Fault("agent.profile_max_rounds_invalid", "tools.maxRounds", "must be 1 or more")
    if tools.max_calls_per_run <= 0:
        yield Fault("agent.profile_max_calls_invalid", "tools.maxCallsPerRun", "must be 1 or more")
    if not tools.allow:
        yield Fault("agent.profile_tools_empty", "tools.allow", "must name at least one tool")
    approval = () if tools.approval == "mutating" else tools.approval
    for field, names in (("allow", tools.allow), ("deny", tools.deny), ("approval", approval)):
        for index, name in enumerate(names):
            if name not in known_tools:
                message = f"names {name!r}, which is no tool; the tools are {', '.join(known_tools)}"
                yield Fault("agent.profile_unknown_tool", f"tools.{field}[{index}]", message)
    if "workspace.write_file" not in profile.visible_tools:
        yield Fault("agent.profile_output_writer_required", "tools.allow", "must hold workspace.write_file, not denied")
    yield from _descriptions(profile)
    for name, budget in tools.max_calls_per_tool.items():
        path = f'tools.maxCallsPerTool["{name}"]'
        if name not in profile.visible_tools:
            yield Fault(
                "agent.profile_tool_budget_invisible", path, "must be for a tool that is allowed and not denied"
            )
        if budget <= 0:
            yield Fault("agent.profile_tool_budget_invalid", path, "must be 1 or more")


def _descriptions(profile: Profile) -> Iterator[Fault]:
    for name, override in profile.tools.tool_descriptions.items():
        path = f'tools.toolDescriptions["{name}"]'
        if name not in profile.visible_tools:
            message = "must be for a tool that is allowed and not denied"
            yield Fault("agent.profile_tool_description_invisible", path, message)
        if override.description is not None and not override.description.strip():
            message = "must hold text; leave it out for the tool's own"
            yield Fault("agent.profile_tool_description_empty", f"{path}.description", message)
        for key, text in override.properties.items():
            where = f'{path}.properties["{key}"]'
            if not key.strip():
                yield Fault("agent.profile_unknown_tool_property", where, "must be for a named property")
            if not text.strip():
                yield Fault("agent.profile_tool_property_description_empty", where, "must hold text")


_DELEGATION_COUNTS = (
    ("max_concurrent_invocations", "maxConcurrentInvocations", "agent.profile_delegation_concurrency_invalid"),
    ("max_invocations_per_run", "maxInvocationsPerRun", "agent.profile_delegation_run_budget_invalid"),
    ("result_budget_tokens", "resultBudgetTokens", "agent.profile_delegation_result_budget_invalid"),
    ("max_handoff_depth", "maxHandoffDepth", "agent.profile_handoff_depth_invalid"),
)
_TOOL_NEEDS = (
    ("agent.list", ("canDelegate", "canHandoff"), "agent.profile_agent_list_requires_delegation"),
    ("agent.delegate", ("canDelegate",), "agent.profile_agent_delegate_requires_delegation"),
    ("agent.await", ("canDelegate",), "agent.profile_agent_delegate_requires_delegation"),
    ("agent.handoff", ("canHandoff",), "agent.profile_agent_handoff_requires_handoff"),
)


def _delegation(profile: Profile, known_tools: Collection[str]) -> Iterator[Fault]:
    rules = profile.delegation or Delegation()
    for field, name, code in _DELEGATION_COUNTS:
        if getattr(rules, field) <= 0:
            yield Fault(code, f"delegation.{name}", "must be 1 or more")
    if not rules.allowed_callers:
        message = 'must name a profile, or "*"'
        yield Fault("agent.profile_delegation_callers_empty", "delegation.allowedCallers", message)
    for index, caller in enumerate(rules.allowed_callers):
        if caller != "*":
            yield from _id_faults(caller.strip(), f"delegation.allowedCallers[{index}]")
    if rules.description_for_agents is not None and not rules.description_for_agents.strip():
        path = "delegation.descriptionForAgents"
        yield Fault("agent.profile_delegation_description_empty", path, "must hold text, or be left out")
    if _is_target(rules) and not rules.callable:
        message = "must be true for a profile that others may call"
        yield Fault("agent.profile_delegation_callable_required", "delegation.callable", message)
    if rules.callable and not _is_target(rules):
        message = "needs allowAsSubagent or allowAsHandoffTarget beside it"
        yield Fault("agent.profile_delegation_target_mode_required", "delegation.callable", message)
    granted = {"canDelegate": rules.can_delegate, "canHandoff": rules.can_handoff}
    for tool, needs, code in _TOOL_NEEDS:
        if tool in profile.visible_tools and not any(granted[need] for need in needs):
            yield Fault(code, "delegation", f"must set {' or '.join(needs)} where {tool} is allowed")
    if "task.return" in profile.tools.allow:
        message = "must not hold task.return, which the runtime gives by itself"
        yield Fault("agent.profile_task_return_runtime_only", "tools.allow", message)


def _run(profile: Profile, known_tools: Collection[str]) -> Iterator[Fault]:
    run, retry = profile.run, profile.run.model_retry
    counts = (
        ("run.modelRetry.maxRetries", retry.max_retries, 0, "agent.profile_model_retry_invalid"),
        (
            "run.modelRetry.intervalMs",
            retry.interval_ms,
            min(retry.max_retries, 1),
            "agent.profile_model_retry_invalid",
        ),
        ("run.modelRetry.maxWaitMs", retry.max_wait_ms, 0, "agent.profile_model_retry_invalid"),
        ("run.driftRecovery.maxAttempts", run.drift_recovery.max_attempts, 0, "agent.invalid_profile"),
        ("run.hydrateRounds", run.hydrate_rounds, 0, "agent.invalid_profile"),
    )
    for path, value, least, code in counts:
        if value < least:
            yield Fault(code, path, f"must be {least} or more")
    if not run.direct_runnable:
        yield from _not_runnable_by_itself(profile)
        return
    if "workspace.finish" not in profile.visible_tools:
        yield Fault("agent.profile_finish_required", "tools.allow", "must hold workspace.finish, not denied")
    if run.presentation == "foreground" and "workspace.commit" not in profile.visible_tools:
        message = 'must hold workspace.commit, not denied, where run.presentation is "foreground"'
        yield Fault("agent.profile_commit_required", "tools.allow", message)


def _not_runnable_by_itself(profile: Profile) -> Iterator[Fault]:
    rules = profile.delegation or Delegation()
    if not rules.allow_as_handoff_target and profile.run.presentation != "background":
        message = 'must be "background" where run.directRunnable is false'
        yield Fault("agent.profile_subagent_only_background_required", "run.presentation", message)
    if not (rules.callable and _is_target(rules)):
        code = "agent.profile_direct_runnable_disabled_requires_delegation_target"
        yield Fault(code, "run.directRunnable", "may be false only for a profile that others may call")


def _skills(profile: Profile, known_tools: Collection[str]) -> Iterator[Fault]:
    skills = profile.skills
    if not skills.visible:
        yield Fault("agent.profile_skill_visible_empty", "skills.visible", 'must name a skill, or "*"')
    for field, names in (("visible", skills.visible), ("deny", skills.deny)):
        for index, name in enumerate(names):
            if name != "*" and (not _ID.fullmatch(name) or len(name) > ID_BYTES):
                message = 'must be a skill\'s name (1 to 128 of a-z 0-9 _ -) or "*"'
                yield Fault("agent.profile_skill_name_invalid", f"skills.{field}[{index}]", message)
    per_call, per_run = skills.max_read_chars_per_call, skills.max_read_chars_per_run
    if per_run <= 0:
        yield Fault("agent.profile_skill_budget_invalid", "skills.maxReadCharsPerRun", "must be 1 or more")
    if not 0 < per_call <= per_run:
        message = "must be 1 or more, and no more than maxReadCharsPerRun"
        yield Fault("agent.profile_skill_budget_invalid", "skills.maxReadCharsPerCall", message)


def _workspace(profile: Profile, known_tools: Collection[str]) -> Iterator[Fault]:
    visible, writable = profile.workspace.visible_roots, profile.workspace.writable_roots
    if not visible:
        message = f"must name at least one of {', '.join(ROOTS)}"
        yield Fault("agent.profile_workspace_visible_empty", "workspace.visibleRoots", message)
    for field, names, among in (("visibleRoots", visible, ROOTS), ("writableRoots", writable, visible)):
        for index, name in enumerate(names):
            if name not in among or name not in ROOTS:
                message = f"must be one of {', '.join(among)}"
                yield Fault("agent.profile_workspace_root_invalid", f"workspace.{field}[{index}]", message)


def _output(profile: Profile, known_tools: Collection[str]) -> Iterator[Fault]:
    artifacts = profile.output.artifacts
    if not artifacts:
        yield Fault("agent.profile_output_empty", "output.artifacts", "must hold one artifact")
    ids: set[str] = set()
    paths: set[str] = set()
    for index, artifact in enumerate(artifacts):
        where = f"output.artifacts[{index}]"
        if not _ID.fullmatch(artifact.id) or len(artifact.id) > ID_BYTES:
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


def _is_target(rules: Delegation) -> bool:
    return rules.allow_as_subagent or rules.allow_as_handoff_target


def _id_faults(value: str, path: str) -> Iterator[Fault]:
    if not value:
        yield Fault("agent.profile_id_empty", path, "must not be blank")
    if len(value.encode()) > ID_BYTES:
        yield Fault("agent.profile_id_too_long", path, f"must be at most {ID_BYTES} bytes")
    if not _ID.fullmatch(value):
        yield Fault("agent.profile_id_invalid", path, "must be made of a-z 0-9 _ -")


GROUPS: tuple[Group, ...] = (
    _header, _preset, _model, _instructions, _plan, _tools, _delegation, _run, _skills, _workspace, _output,
)  # fmt: skip
