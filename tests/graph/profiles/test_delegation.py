"""The rules of a profile's delegation block, and of the tools that need one."""

from __future__ import annotations

import pytest

from .documents import DELEGATION_TOOLS, TARGET, allowed, refusal

DELEGATION: list[tuple[dict[str, object], str, str]] = [
    (
        {"delegation": {"maxConcurrentInvocations": 0}},
        "agent.profile_delegation_concurrency_invalid",
        "$.delegation.maxConcurrentInvocations",
    ),
    (
        {"delegation": {"maxInvocationsPerRun": 0}},
        "agent.profile_delegation_run_budget_invalid",
        "$.delegation.maxInvocationsPerRun",
    ),
    (
        {"delegation": {"resultBudgetTokens": 0}},
        "agent.profile_delegation_result_budget_invalid",
        "$.delegation.resultBudgetTokens",
    ),
    ({"delegation": {"maxHandoffDepth": 0}}, "agent.profile_handoff_depth_invalid", "$.delegation.maxHandoffDepth"),
    ({"delegation": {"maxHandoffDepth": "8"}}, "agent.profile_handoff_depth_invalid", "$.delegation.maxHandoffDepth"),
    ({"delegation": {"allowedCallers": []}}, "agent.profile_delegation_callers_empty", "$.delegation.allowedCallers"),
    (
        {"delegation": {"allowedCallers": ["*", "No"]}},
        "agent.profile_id_invalid",
        "$.delegation.allowedCallers[1]",
    ),
    ({"delegation": {"allowedCallers": [" "]}}, "agent.profile_id_empty", "$.delegation.allowedCallers[0]"),
    (
        {"delegation": {"descriptionForAgents": " "}},
        "agent.profile_delegation_description_empty",
        "$.delegation.descriptionForAgents",
    ),
    (
        {"delegation": {"allowAsHandoffTarget": True}},
        "agent.profile_delegation_callable_required",
        "$.delegation.callable",
    ),
    ({"delegation": {"callable": True}}, "agent.profile_delegation_target_mode_required", "$.delegation.callable"),
    ({"tools.allow": allowed("agent.list")}, "agent.profile_agent_list_requires_delegation", "$.delegation"),
    ({"tools.allow": allowed("agent.delegate")}, "agent.profile_agent_delegate_requires_delegation", "$.delegation"),
    (
        {"tools.allow": allowed("agent.await"), "delegation": {"canHandoff": True}},
        "agent.profile_agent_delegate_requires_delegation",
        "$.delegation",
    ),
    ({"tools.allow": allowed("agent.handoff")}, "agent.profile_agent_handoff_requires_handoff", "$.delegation"),
    ({"tools.allow": allowed("task.return")}, "agent.profile_task_return_runtime_only", "$.tools.allow"),
    (
        {"run.directRunnable": False, "delegation": TARGET},
        "agent.profile_subagent_only_background_required",
        "$.run.presentation",
    ),
    (
        {"run.directRunnable": False, "run.presentation": "background"},
        "agent.profile_direct_runnable_disabled_requires_delegation_target",
        "$.run.directRunnable",
    ),
]


@pytest.mark.parametrize(("changes", "code", "path"), DELEGATION)
def test_a_delegation_rule_is_kept(changes: dict[str, object], code: str, path: str) -> None:
    assert refusal(changes, DELEGATION_TOOLS) == (code, path)
