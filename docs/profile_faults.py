"""Every rule of a profile, found by breaking it: its code, the path that is told, and what must be so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json
from treadle.graph.profiles.resolved import SEED_TOOLS, default_writer, parse_profile

ROOM = Path(__file__).resolve().parent.parent / "graph" / "profiles"
RULES = ("parse.py", "faults.py", "checks.py", "tool_checks.py")
TOOLS = (*SEED_TOOLS, "agent.list", "agent.delegate", "agent.await", "agent.handoff", "task.return")

GONE = object()
FEW = ["workspace.write_file", "workspace.finish"]
MAIN = {"id": "main", "path": "output/main.md", "kind": "markdown", "target": "messageBody"}
ALONE: dict[str, object] = {"run.directRunnable": False, "run.presentation": "background"}
WORDS = "tools.toolDescriptions"

BROKEN: dict[str, list[dict[str, object]]] = {
    "shape": [{"preset": GONE}, {"tools.maxRound": 3}, {"context.initialChatHistoryMessages": "all"},
              {WORDS: {"skill.read": {"properties": []}}}],
    "header": [{"schemaVersion": 3}, {"kind": "profile"}, {"id": " "}, {"id": "x" * 129}, {"id": "My Writer"},
               {"displayName": " "}],
    "preset": [{"preset": {"mode": "ref"}}, {"preset": {"mode": "ref", "ref": {"apiId": "mine", "name": "Tea"}}},
               {"preset": {"mode": "ref", "ref": {"apiId": "openai", "name": " "}}},
               {"preset": {"mode": "ref", "ref": {"apiId": "openai", "name": "Tea"}, "required": True}}],
    "model": [{"model.modelId": "m"}, {"model": {"mode": "requiresConfiguration", "modelId": "m"}},
              {"model": {"mode": "connectionRef", "modelId": "m"}},
              {"model": {"mode": "connectionRef", "connectionRef": "work"}}],
    "instructions": [{"instructions.agentSystemPrompt": " "}],
    "plan": [{"plan.mode": "free"}, {"plan.nodes": [{"id": "a", "title": "A"}]}],
    "tools": [{"tools.maxRounds": 0}, {"tools.maxCallsPerRun": 0}, {"tools.allow": []}, {"tools.deny": ["web"]},
              {"tools.deny": ["workspace.write_file"]}, {WORDS: {"agent.list": {}}},
              {WORDS: {"skill.read": {"description": " "}}}, {WORDS: {"skill.read": {"properties": {"nome": "x"}}}},
              {WORDS: {"skill.read": {"properties": {"name": " "}}}}, {"tools.maxCallsPerTool": {"agent.list": 3}},
              {"tools.maxCallsPerTool": {"skill.read": 0}}],
    "delegation": [{"delegation": {"maxConcurrentInvocations": 0}}, {"delegation": {"maxInvocationsPerRun": 0}},
                   {"delegation": {"resultBudgetTokens": 0}}, {"delegation": {"maxHandoffDepth": 0}},
                   {"delegation": {"allowedCallers": []}}, {"delegation": {"descriptionForAgents": " "}},
                   {"delegation": {"allowAsSubagent": True}}, {"delegation": {"callable": True}},
                   {"tools.allow": [*SEED_TOOLS, "agent.list"]}, {"tools.allow": [*SEED_TOOLS, "agent.delegate"]},
                   {"tools.allow": [*SEED_TOOLS, "agent.handoff"]}, {"tools.allow": [*SEED_TOOLS, "task.return"]}],
    "run": [{"run.modelRetry.maxRetries": -1}, {"run.directRunnable": False}, ALONE,
            {"tools.deny": ["workspace.finish"]}, {"tools.allow": FEW}],
    "skills": [{"skills.visible": []}, {"skills.deny": ["A skill"]}, {"skills.maxReadCharsPerRun": 0}],
    "workspace": [{"workspace.visibleRoots": []}, {"workspace.writableRoots": ["input"]}],
    "output": [{"output.artifacts": []}, {"output.artifacts": [{**MAIN, "id": "A"}]},
               {"output.artifacts": [MAIN, {**MAIN, "path": "output/b.md"}]},
               {"output.artifacts": [{**MAIN, "kind": " "}]}, {"output.artifacts": [MAIN, {**MAIN, "id": "b"}]},
               {"output.artifacts": [{**MAIN, "path": "input/a.md"}]},
               {"output.artifacts": [MAIN, {**MAIN, "id": "b", "path": "output/b.md"}]},
               {"output.artifacts": [{**MAIN, "target": "aside"}]}],
}  # fmt: skip
"""By group, in the order in which they are checked."""


class Rule(NamedTuple):
    group: str
    code: str
    path: str
    must: str


def rules() -> list[Rule]:
    """Raises SystemExit for a code that no document here brings out, and for a document that is refused by no rule."""
    found = [_rule(group, changes) for group, documents in BROKEN.items() for changes in documents]
    untold = set(_codes()) - {rule.code for rule in found}
    if untold:
        raise SystemExit(f"docs/profile_faults.py breaks no rule of: {', '.join(sorted(untold))}")
    return found


def _rule(group: str, changes: dict[str, object]) -> Rule:
    try:
        parse_profile(
            _changed(changes),
            known_tools=TOOLS,
            properties={"skill.read": ("name", "path")},
            preset_exists=lambda api_id, name: False,
        )
    except InvalidInput as refused:
        path = str(refused.details["path"])
        return Rule(group, refused.error_code, path, refused.message.partition(f"{path} ")[2])
    raise SystemExit(f"docs/profile_faults.py: {changes} breaks no rule")


def _changed(changes: dict[str, object]) -> Json:
    made: Json = default_writer().to_json()
    for path, value in changes.items():
        *above, last = path.split(".")
        block = made
        for key in above:
            block = block[key]
        if value is GONE:
            del block[last]
        else:
            block[last] = value
    return made


def _codes() -> Iterator[str]:
    for name in RULES:
        for code in re.findall(r'"(agent\.[a-z_]+)"', (ROOM / name).read_text("utf-8")):
            if code not in TOOLS:
                yield code
