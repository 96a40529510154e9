"""Every field of a profile: missing, null, of the wrong type, out of range, and with an unknown field beside it."""

from __future__ import annotations

import copy
import re
from typing import NamedTuple

import pytest

from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json
from treadle.graph.profiles.fields import FieldRow, fields, published_schema
from treadle.graph.profiles.resolved import parse_profile
from treadle.graph.profiles.schema import Delegation
from treadle.graph.profiles.words import MEANINGS

from .documents import DELEGATION_TOOLS, GONE, document

SHAPE = "agent.invalid_profile"
ID = "agent.profile_id_invalid"
ROOT = "agent.profile_workspace_root_invalid"
SKILLS = "agent.profile_skill_budget_invalid"
PLANNED = "agent.plan_nodes_unsupported"
RETRY = "agent.profile_model_retry_invalid"
REF = {"mode": "ref", "required": False, "ref": {"apiId": "openai", "name": "Tea"}}
CONNECTED = {"mode": "connectionRef", "connectionRef": "work", "modelId": "m"}
DELEGATION = {
    **Delegation().model_dump(mode="json", by_alias=True),
    "callable": True, "allowAsSubagent": True, "descriptionForAgents": "Writes.",
}  # fmt: skip
DESCRIBED = {"skill.read": {"description": "Reads.", "properties": {"name": "The skill."}}}
NODES = {"mode": "none", "nodes": [{"id": "a", "title": "A", "locked": False}]}


class Rule(NamedTuple):
    """What a field that is missing, null or of the wrong type is called, and values of the right type that are refused."""

    shape: str = SHAPE
    outside: tuple[tuple[Json, str], ...] = ()


def outside(code: str, *values: Json, shape: str | None = None) -> Rule:
    """The same code for a value out of range as for one of the wrong type, unless `shape` is that one's."""
    return Rule(shape or code, tuple((value, code) for value in values))


NAMELESS = (("", "agent.profile_id_empty"), ("x" * 129, "agent.profile_id_too_long"), ("A b", ID))
RULES: dict[str, Rule] = {
    "schemaVersion": outside("agent.profile_schema_unsupported", 0, 3, 2.0, 1e30, -1),
    "kind": outside("agent.profile_kind_invalid", "", "tauritavern.llmConnection"),
    "id": Rule(ID, NAMELESS),
    "displayName": outside("agent.profile_display_name_required", "", " \n"),
    "description": Rule(),
    "preset": Rule(),
    "preset.mode": outside(SHAPE, "", "Ref", "currentpromptsnapshot"),
    "preset.ref": Rule("agent.profile_preset_ref_required"),
    "preset.ref.apiId": outside("agent.profile_preset_api_invalid", "", "OpenAI", " openai"),
    "preset.ref.name": outside("agent.profile_preset_name_required", "", " "),
    "preset.required": Rule(),
    "model": Rule(),
    "model.mode": outside(SHAPE, "", "connection"),
    "model.connectionRef": outside("agent.profile_model_connection_ref_required", "", " "),
    "model.modelId": outside("agent.profile_model_id_required", "", " "),
    "context": Rule(),
    "context.initialChatHistoryMessages": Rule("agent.profile_context_history_invalid"),
    "context.includeActivatedWorldInfo": Rule(),
    "instructions": Rule(),
    "instructions.agentSystemPrompt": outside("agent.profile_system_prompt_empty", "", "\t\n", shape=SHAPE),
    "plan": Rule(),
    "plan.mode": outside("agent.plan_mode_unsupported", "free", "strict", "hybrid", "", "None"),
    "plan.beta": Rule(),
    "plan.nodes": outside(PLANNED, [{"id": "a", "title": "A"}]),
    "plan.nodes[*].id": Rule(),
    "plan.nodes[*].title": Rule(),
    "plan.nodes[*].locked": Rule(),
    "tools": Rule(),
    "tools.allow": outside("agent.profile_tools_empty", []),
    "tools.deny": Rule(),
    "tools.approval": outside(SHAPE, "", "all", "Mutating"),
    "tools.toolDescriptions": Rule(),
    "tools.toolDescriptions[*].description": outside("agent.profile_tool_description_empty", "", " "),
    "tools.toolDescriptions[*].properties": Rule("agent.profile_tool_properties_invalid"),
    "tools.maxRounds": outside("agent.profile_max_rounds_invalid", 0, -1),
    "tools.maxCallsPerRun": outside("agent.profile_max_calls_invalid", 0, -1),
    "tools.maxCallsPerTool": Rule(),
    "delegation": Rule(),
    "delegation.canDelegate": Rule(),
    "delegation.canHandoff": Rule(),
    "delegation.callable": Rule(outside=((False, "agent.profile_delegation_callable_required"),)),
    "delegation.allowAsSubagent": Rule(),
    "delegation.allowAsHandoffTarget": Rule(),
    "delegation.allowNestedDelegation": Rule(),
    "delegation.allowedCallers": outside("agent.profile_delegation_callers_empty", [], shape=SHAPE),
    "delegation.descriptionForAgents": outside("agent.profile_delegation_description_empty", "", " ", shape=SHAPE),
    "delegation.maxConcurrentInvocations": outside("agent.profile_delegation_concurrency_invalid", 0, -1),
    "delegation.maxInvocationsPerRun": outside("agent.profile_delegation_run_budget_invalid", 0, -1),
    "delegation.resultBudgetTokens": outside("agent.profile_delegation_result_budget_invalid", 0, -1),
    "delegation.maxHandoffDepth": outside("agent.profile_handoff_depth_invalid", 0, -1),
    "run": Rule(),
    "run.presentation": outside(SHAPE, "", "Foreground"),
    "run.directRunnable": Rule(),
    "run.modelRetry": Rule(),
    "run.modelRetry.maxRetries": outside(RETRY, -1),
    "run.modelRetry.intervalMs": outside(RETRY, 0, -1),
    "run.modelRetry.maxWaitMs": outside(RETRY, -1),
    "run.driftRecovery": Rule(),
    "run.driftRecovery.maxAttempts": outside(SHAPE, -1),
    "run.hydrateRounds": outside(SHAPE, -1),
    "skills": Rule(),
    "skills.visible": outside("agent.profile_skill_visible_empty", []),
    "skills.deny": Rule(),
    "skills.maxReadCharsPerCall": outside(SKILLS, 0, -1, 80_001),
    "skills.maxReadCharsPerRun": outside(SKILLS, 0, -1),
    "workspace": Rule(),
    "workspace.visibleRoots": outside("agent.profile_workspace_visible_empty", []),
    "workspace.writableRoots": Rule(ROOT),
    "workspace.writeGuard": Rule(),
    "workspace.patchAfterPartialRead": Rule(),
    "output": Rule(),
    "output.artifacts": outside("agent.profile_output_empty", []),
    "output.artifacts[*].id": outside("agent.profile_artifact_id_invalid", "", "A", "x" * 129, " main"),
    "output.artifacts[*].path": outside(
        "agent.profile_output_path_denied", "", "/output/a.md", "../a", "input/a.md", "output", "C:\\a"
    ),
    "output.artifacts[*].kind": outside("agent.profile_output_kind_required", "", " "),
    "output.artifacts[*].target": outside("agent.profile_output_message_body_missing", "", "message_body"),
    "output.artifacts[*].required": Rule(),
    "output.artifacts[*].assemblyOrder": Rule(),
}
"""A field that is new needs a row here."""

MEMBERS: dict[str, tuple[Json, str]] = {
    "tools.allow[0]": (3, "agent.profile_unknown_tool"),
    "tools.deny[0]": (None, "agent.profile_unknown_tool"),
    "tools.approval[0]": ({}, SHAPE),
    "skills.visible[0]": (3, "agent.profile_skill_name_invalid"),
    "skills.deny[0]": ("A b", "agent.profile_skill_name_invalid"),
    "workspace.visibleRoots[0]": ("input", ROOT),
    "workspace.writableRoots[0]": (["output"], ROOT),
    "delegation.allowedCallers[0]": (3, SHAPE),
    "plan.nodes[0]": ("a", SHAPE),
    "output.artifacts[0]": (None, SHAPE),
    'tools.maxCallsPerTool["skill.read"]': ("3", "agent.profile_tool_budget_invalid"),
    'tools.toolDescriptions["skill.read"]': (None, SHAPE),
    'tools.toolDescriptions["skill.read"].properties["name"]': (1, "agent.profile_tool_property_description_empty"),
}

WRONG: dict[str, tuple[Json, ...]] = {
    "string": (3, True, ["x"], {}),
    "integer": ("3", 2.5, True, [3], {}),
    "boolean": ("true", 1, [], {}),
    "object": ("x", 3, [], True),
    "list": ("x", 3, {}, True),
    "choice": (3, True, [], {}),
    "list or choice": (3, True, {}),
}


def whole() -> dict[str, Json]:
    """A profile that holds every field and keeps every rule but that of plans."""
    made = document(
        {
            "preset": REF, "model": CONNECTED, "delegation": DELEGATION, "tools.toolDescriptions": DESCRIBED,
            "instructions.agentSystemPrompt": "Write.", "tools.deny": ["chat.search"], "tools.approval": ["skill.read"],
            "skills.deny": ["b"], "tools.maxCallsPerTool": {"skill.read": 3}, "plan.nodes": NODES["nodes"],
        }
    )  # fmt: skip
    return copy.deepcopy(made)


def told(made: Json) -> tuple[str, str] | None:
    """Code and path of the refusal; None for a profile that is accepted."""
    try:
        parse_profile(made, known_tools=DELEGATION_TOOLS)
    except InvalidInput as refused:
        assert str(refused.details["path"]) in refused.message
        return refused.error_code, str(refused.details["path"])
    return None


def steps(path: str) -> list[str | int]:
    found = re.findall(r'([A-Za-z]+)|\[(\d+)\]|\["([^"]+)"\]', path)
    return [int(index) if index else quoted or name for name, index, quoted in found]


def inside(made: Json, place: list[str | int]) -> Json:
    for key in place:
        made = made[key]
    return made


def changed(path: str, value: object) -> dict[str, Json]:
    """The whole profile with one field at a path changed, or gone where the value is `GONE`."""
    made = whole()
    if "nodes" not in path:
        made["plan"]["nodes"] = []
    *above, last = steps(path)
    block = inside(made, above)
    if value is GONE:
        del block[last]
    else:
        block[last] = value
    return made


def at(row: FieldRow) -> str:
    """The field's place in the whole profile."""
    return row.path.replace("toolDescriptions[*]", 'toolDescriptions["skill.read"]').replace("[*]", "[0]")


def kind(row: FieldRow) -> str:
    if row.type.startswith("list") and "`" in row.type:
        return "list or choice"
    return "choice" if "`" in row.type else row.type.split()[0]


ROWS = {row.path: row for row in fields()}
FIELDS = pytest.mark.parametrize("field", ROWS)


def test_every_field_has_a_row_and_a_meaning() -> None:
    assert list(RULES) == list(ROWS)
    assert MEANINGS.keys() == ROWS.keys()
    assert [path for path, meaning in MEANINGS.items() if not meaning.strip()] == []


def test_the_whole_profile_is_accepted_but_for_its_plan() -> None:
    made = whole()

    assert told(made) == (PLANNED, "$.plan.nodes")
    del made["plan"]["nodes"]
    assert told(made) is None


@FIELDS
@pytest.mark.parametrize("value", [GONE, None], ids=["missing", "null"])
def test_a_field_that_is_not_there_has_its_default_or_is_asked_for(field: str, value: object) -> None:
    row = ROWS[field]

    found = told(changed(at(row), value))

    default = (PLANNED, "$.plan.nodes") if "nodes[" in field else ASKED_FOR.get(field)
    assert found == ((RULES[field].shape, f"$.{at(row)}") if row.required else default)


ASKED_FOR = {
    "preset.ref": ("agent.profile_preset_ref_required", "$.preset.ref"),
    "model.connectionRef": ("agent.profile_model_connection_ref_required", "$.model.connectionRef"),
    "model.modelId": ("agent.profile_model_id_required", "$.model.modelId"),
    "delegation.callable": ("agent.profile_delegation_callable_required", "$.delegation.callable"),
    "delegation.allowAsSubagent": ("agent.profile_delegation_target_mode_required", "$.delegation.callable"),
}
"""Optional fields that another field of the whole profile asks for."""


@FIELDS
def test_a_field_of_the_wrong_type_is_told_at_its_path(field: str) -> None:
    row = ROWS[field]

    found = {str(value): told(changed(at(row), value)) for value in WRONG[kind(row)]}

    assert found == dict.fromkeys(found, (RULES[field].shape, f"$.{at(row)}"))


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [(field, value, code) for field, rule in RULES.items() for value, code in rule.outside],
)
def test_a_value_out_of_range_is_told_at_its_path(field: str, value: object, code: str) -> None:
    row = ROWS[field]

    assert told(changed(at(row), value)) == (code, f"$.{at(row)}")


@pytest.mark.parametrize("member", MEMBERS)
def test_a_member_of_a_list_or_a_map_is_told_at_its_own_path(member: str) -> None:
    value, code = MEMBERS[member]

    assert told(changed(member, value)) == (code, f"$.{member}")


BLOCKS = sorted({at(row).rpartition(".")[0] if "." in row.path else "" for row in ROWS.values()})
"""Every object of a profile whose fields are fixed, by its place."""


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(
    ("name", "step"),
    [("zeal", ".zeal"), ("max_rounds", ".max_rounds"), ("$schema", '["$schema"]'), ('a"b', '["a\\"b"]')],
)
def test_an_unknown_field_is_told_wherever_it_stands(block: str, name: str, step: str) -> None:
    made = whole()
    inside(made, steps(block))[name] = None

    assert told(made) == (SHAPE, f"$.{block}{step}".replace("$..", "$.").replace("$.[", "$["))


def test_the_schema_for_editors_names_every_field_with_its_meaning() -> None:
    schema = published_schema()

    assert schema["properties"]["$schema"]["type"] == "string"
    assert schema["properties"]["tools"]["description"] == MEANINGS["tools"]
    retry = schema["$defs"]["ModelRetry"]["properties"]["maxWaitMs"]
    assert retry["description"] == MEANINGS["run.modelRetry.maxWaitMs"]
    described = [block["properties"] for block in (schema, *schema["$defs"].values())]
    assert [name for block in described for name, given in block.items() if not given.get("description")] == []
