"""What a profile says of tools, of other agents and of the run itself: the rules that hang on what the model may call."""

from __future__ import annotations

from collections.abc import Iterator

from ..mcp_names import is_many, is_shown, mcp_name
from .faults import Fault, Known, id_faults, keyed
from .schema import Delegation, Profile


def tools_faults(profile: Profile, known: Known) -> Iterator[Fault]:
    tools = profile.tools
    if tools.max_rounds <= 0:
        yield Fault("agent.profile_max_rounds_invalid", "tools.maxRounds", "must be 1 or more")
    if tools.max_calls_per_run <= 0:
        yield Fault("agent.profile_max_calls_invalid", "tools.maxCallsPerRun", "must be 1 or more")
    if not tools.allow:
        yield Fault("agent.profile_tools_empty", "tools.allow", "must name at least one tool")
    approval = () if tools.approval == "mutating" else tools.approval
    for listed, names in (("allow", tools.allow), ("deny", tools.deny), ("approval", approval)):
        for index, name in enumerate(names):
            if name not in known.tools and mcp_name(name) is None:
                message = (
                    f"names {name!r}, which is no tool; the tools are {', '.join(known.tools)}, mcp.<server>.<tool>"
                )
                yield Fault("agent.profile_unknown_tool", f"tools.{listed}[{index}]", message)
    if "workspace.write_file" not in profile.visible_tools:
        yield Fault("agent.profile_output_writer_required", "tools.allow", "must hold workspace.write_file, not denied")
    yield from _descriptions(profile, known)
    for name, budget in tools.max_calls_per_tool.items():
        path = keyed("tools.maxCallsPerTool", name)
        if not _shows(profile, name):
            yield Fault(
                "agent.profile_tool_budget_invisible", path, "must be for a tool that is allowed and not denied"
            )
        if budget <= 0:
            yield Fault("agent.profile_tool_budget_invalid", path, "must be 1 or more")


def _shows(profile: Profile, name: str) -> bool:
    """Of MCP tools it is known only at a run's start what `*` stands for."""
    return is_shown(name, profile.tools.allow, profile.tools.deny)


def _descriptions(profile: Profile, known: Known) -> Iterator[Fault]:
    for name, override in profile.tools.tool_descriptions.items():
        path = keyed("tools.toolDescriptions", name)
        arguments = known.properties.get(name)
        if is_many(name) or not _shows(profile, name):
            message = "must be for a tool that is allowed and not denied"
            yield Fault("agent.profile_tool_description_invisible", path, message)
        if override.description is not None and not override.description.strip():
            message = "must hold text; leave it out for the tool's own"
            yield Fault("agent.profile_tool_description_empty", f"{path}.description", message)
        for key, text in override.properties.items():
            where = keyed(f"{path}.properties", key)
            if not key.strip() or (arguments is not None and key not in arguments):
                message = f"must be for an argument of the tool: {', '.join(arguments or ()) or 'it has none'}"
                yield Fault("agent.profile_unknown_tool_property", where, message)
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


def delegation_faults(profile: Profile, known: Known) -> Iterator[Fault]:
    rules = profile.delegation or Delegation()
    for field, name, code in _DELEGATION_COUNTS:
        if getattr(rules, field) <= 0:
            yield Fault(code, f"delegation.{name}", "must be 1 or more")
    if not rules.allowed_callers:
        message = 'must name a profile, or "*"'
        yield Fault("agent.profile_delegation_callers_empty", "delegation.allowedCallers", message)
    for index, caller in enumerate(rules.allowed_callers):
        if caller != "*":
            yield from id_faults(caller, f"delegation.allowedCallers[{index}]")
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


def run_faults(profile: Profile, known: Known) -> Iterator[Fault]:
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


def _is_target(rules: Delegation) -> bool:
    return rules.allow_as_subagent or rules.allow_as_handoff_target
