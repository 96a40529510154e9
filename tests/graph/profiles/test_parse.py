"""A profile document is refused with the code of the first rule that it breaks, and the field's path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json
from treadle.graph.profiles.parse import checked_id
from treadle.graph.profiles.resolved import SEED_TOOLS, Profile, default_writer, parse_profile

from .documents import DELEGATION_TOOLS, GONE, TARGET, allowed, document, refusal

FINISHING = ["workspace.write_file", "workspace.finish"]
DESCRIBED = "tools.toolDescriptions"
ARTIFACT = {"id": "main", "path": "output/main.md", "kind": "markdown", "target": "messageBody"}


def artifacts(*changes: dict[str, object]) -> list[dict[str, object]]:
    return [{**ARTIFACT, **change} for change in changes]


SHAPES: list[tuple[str, object, str]] = [
    ("schemaVersion", GONE, "agent.profile_schema_unsupported"),
    ("schemaVersion", 3, "agent.profile_schema_unsupported"),
    ("schemaVersion", True, "agent.profile_schema_unsupported"),
    ("schemaVersion", "1", "agent.profile_schema_unsupported"),
    ("kind", GONE, "agent.profile_kind_invalid"),
    ("kind", "tauritavern.agentprofile", "agent.profile_kind_invalid"),
    ("id", GONE, "agent.profile_id_invalid"),
    ("id", 5, "agent.profile_id_invalid"),
    ("id", "  ", "agent.profile_id_empty"),
    ("id", "x" * 129, "agent.profile_id_too_long"),
    ("id", "Writer", "agent.profile_id_invalid"),
    ("id", "a/b", "agent.profile_id_invalid"),
    ("displayName", GONE, "agent.profile_display_name_required"),
    ("displayName", None, "agent.profile_display_name_required"),
    ("displayName", " ", "agent.profile_display_name_required"),
    ("description", 3, "agent.invalid_profile"),
    ("preset", GONE, "agent.invalid_profile"),
    ("preset.mode", "other", "agent.invalid_profile"),
    ("preset.required", "no", "agent.invalid_profile"),
    ("preset.ref", "x", "agent.profile_preset_ref_required"),
    ("model.mode", GONE, "agent.invalid_profile"),
    ("model.connectionRef", "c", "agent.profile_model_current_snapshot_extra_fields"),
    ("model.modelId", "m", "agent.profile_model_current_snapshot_extra_fields"),
    ("model.modelId", 4, "agent.profile_model_id_required"),
    ("context.initialChatHistoryMessages", "all", "agent.profile_context_history_invalid"),
    ("context.includeActivatedWorldInfo", 1, "agent.invalid_profile"),
    ("instructions.agentSystemPrompt", " \n", "agent.profile_system_prompt_empty"),
    ("instructions.agentSystemPrompt", ["x"], "agent.invalid_profile"),
    ("plan.mode", GONE, "agent.plan_mode_unsupported"),
    ("plan.mode", "free", "agent.plan_mode_unsupported"),
    ("plan.mode", "strict", "agent.plan_mode_unsupported"),
    ("plan.mode", "hybrid", "agent.plan_mode_unsupported"),
    ("plan.mode", "loose", "agent.plan_mode_unsupported"),
    ("plan.nodes", [{"id": "a", "title": "A", "locked": False}], "agent.plan_nodes_unsupported"),
    ("plan.nodes", "none", "agent.plan_nodes_unsupported"),
    ("tools.maxRounds", GONE, "agent.profile_max_rounds_invalid"),
    ("tools.maxRounds", 0, "agent.profile_max_rounds_invalid"),
    ("tools.maxRounds", 2.5, "agent.profile_max_rounds_invalid"),
    ("tools.maxRounds", True, "agent.profile_max_rounds_invalid"),
    ("tools.maxCallsPerRun", 0, "agent.profile_max_calls_invalid"),
    ("tools.maxCallsPerRun", "80", "agent.profile_max_calls_invalid"),
    ("tools.allow", GONE, "agent.profile_tools_empty"),
    ("tools.allow", [], "agent.profile_tools_empty"),
    ("tools.allow", "workspace.finish", "agent.profile_tools_empty"),
    ("tools.approval", "all", "agent.invalid_profile"),
    ("tools.approval", 3, "agent.invalid_profile"),
    ("run.presentation", GONE, "agent.invalid_profile"),
    ("run.presentation", "hidden", "agent.invalid_profile"),
    ("run.directRunnable", "yes", "agent.invalid_profile"),
    ("run.modelRetry.maxRetries", -1, "agent.profile_model_retry_invalid"),
    ("run.modelRetry.maxRetries", "3", "agent.profile_model_retry_invalid"),
    ("run.modelRetry.intervalMs", 0, "agent.profile_model_retry_invalid"),
    ("run.modelRetry.intervalMs", 1.5, "agent.profile_model_retry_invalid"),
    ("run.modelRetry.maxWaitMs", -1, "agent.profile_model_retry_invalid"),
    ("run.driftRecovery.maxAttempts", -1, "agent.invalid_profile"),
    ("run.hydrateRounds", -1, "agent.invalid_profile"),
    ("skills.visible", GONE, "agent.profile_skill_visible_empty"),
    ("skills.visible", [], "agent.profile_skill_visible_empty"),
    ("skills.maxReadCharsPerRun", 0, "agent.profile_skill_budget_invalid"),
    ("skills.maxReadCharsPerCall", 0, "agent.profile_skill_budget_invalid"),
    ("skills.maxReadCharsPerCall", 80_001, "agent.profile_skill_budget_invalid"),
    ("workspace.visibleRoots", GONE, "agent.profile_workspace_visible_empty"),
    ("workspace.visibleRoots", [], "agent.profile_workspace_visible_empty"),
    ("workspace.writableRoots", GONE, "agent.profile_workspace_root_invalid"),
    ("workspace.writeGuard", "on", "agent.invalid_profile"),
    ("output", GONE, "agent.invalid_profile"),
    ("output.artifacts", GONE, "agent.profile_output_empty"),
    ("output.artifacts", [], "agent.profile_output_empty"),
    ("unknown", None, "agent.invalid_profile"),
    ("tools.max_rounds", 3, "agent.invalid_profile"),
    ("run.modelRetry.jitter", 3, "agent.invalid_profile"),
    ("tools", 3, "agent.invalid_profile"),
]


@pytest.mark.parametrize(("field", "value", "code"), SHAPES)
def test_a_field_is_refused_at_its_own_path(field: str, value: object, code: str) -> None:
    assert refusal({field: value}) == (code, f"$.{field}")


DEEPER: list[tuple[dict[str, object], str, str]] = [
    ({"preset": {"mode": "ref"}}, "agent.profile_preset_ref_required", "$.preset.ref"),
    (
        {"preset": {"mode": "ref", "ref": {"apiId": "mine", "name": "x"}}},
        "agent.profile_preset_api_invalid",
        "$.preset.ref.apiId",
    ),
    ({"preset": {"mode": "ref", "ref": {"name": "x"}}}, "agent.profile_preset_api_invalid", "$.preset.ref.apiId"),
    (
        {"preset": {"mode": "ref", "ref": {"apiId": "openai", "name": " "}}},
        "agent.profile_preset_name_required",
        "$.preset.ref.name",
    ),
    (
        {"model": {"mode": "connectionRef", "modelId": "m"}},
        "agent.profile_model_connection_ref_required",
        "$.model.connectionRef",
    ),
    ({"model": {"mode": "connectionRef", "connectionRef": "c"}}, "agent.profile_model_id_required", "$.model.modelId"),
    (
        {"model": {"mode": "requiresConfiguration", "modelId": "m"}},
        "agent.profile_model_requires_configuration_extra_fields",
        "$.model.modelId",
    ),
    ({"tools.allow": allowed("web.search")}, "agent.profile_unknown_tool", "$.tools.allow[13]"),
    ({"tools.allow": ["workspace.finish", 3]}, "agent.profile_unknown_tool", "$.tools.allow[1]"),
    ({"tools.deny": ["web.search"]}, "agent.profile_unknown_tool", "$.tools.deny[0]"),
    ({"tools.approval": ["web.search"]}, "agent.profile_unknown_tool", "$.tools.approval[0]"),
    ({"tools.approval": [3]}, "agent.invalid_profile", "$.tools.approval[0]"),
    ({"tools.deny": ["workspace.write_file"]}, "agent.profile_output_writer_required", "$.tools.allow"),
    ({"tools.allow": ["workspace.finish"]}, "agent.profile_output_writer_required", "$.tools.allow"),
    (
        {"tools.deny": ["skill.read"], DESCRIBED: {"skill.read": {"description": "x"}}},
        "agent.profile_tool_description_invisible",
        '$.tools.toolDescriptions["skill.read"]',
    ),
    (
        {DESCRIBED: {"skill.read": {"description": " "}}},
        "agent.profile_tool_description_empty",
        '$.tools.toolDescriptions["skill.read"].description',
    ),
    (
        {DESCRIBED: {"skill.read": {"properties": ["name"]}}},
        "agent.profile_tool_properties_invalid",
        '$.tools.toolDescriptions["skill.read"].properties',
    ),
    (
        {DESCRIBED: {"skill.read": {"properties": {" ": "x"}}}},
        "agent.profile_unknown_tool_property",
        '$.tools.toolDescriptions["skill.read"].properties[" "]',
    ),
    (
        {DESCRIBED: {"skill.read": {"properties": {"name": ""}}}},
        "agent.profile_tool_property_description_empty",
        '$.tools.toolDescriptions["skill.read"].properties["name"]',
    ),
    (
        {DESCRIBED: {"skill.read": {"properties": {"name": 3}}}},
        "agent.profile_tool_property_description_empty",
        '$.tools.toolDescriptions["skill.read"].properties["name"]',
    ),
    (
        {"tools.maxCallsPerTool": {"web.search": 3}},
        "agent.profile_tool_budget_invisible",
        '$.tools.maxCallsPerTool["web.search"]',
    ),
    (
        {"tools.maxCallsPerTool": {"skill.read": 0}},
        "agent.profile_tool_budget_invalid",
        '$.tools.maxCallsPerTool["skill.read"]',
    ),
    ({"tools.deny": ["workspace.finish"]}, "agent.profile_finish_required", "$.tools.allow"),
    ({"tools.allow": FINISHING}, "agent.profile_commit_required", "$.tools.allow"),
    ({"skills.visible": ["*", "A skill"]}, "agent.profile_skill_name_invalid", "$.skills.visible[1]"),
    ({"skills.deny": [""]}, "agent.profile_skill_name_invalid", "$.skills.deny[0]"),
    ({"skills.deny": ["x" * 129]}, "agent.profile_skill_name_invalid", "$.skills.deny[0]"),
    (
        {"workspace.visibleRoots": ["output", "input"]},
        "agent.profile_workspace_root_invalid",
        "$.workspace.visibleRoots[1]",
    ),
    (
        {"workspace.visibleRoots": ["output"], "workspace.writableRoots": ["output", "plan"]},
        "agent.profile_workspace_root_invalid",
        "$.workspace.writableRoots[1]",
    ),
    ({"workspace.writableRoots": []}, "agent.profile_output_path_denied", "$.output.artifacts[0].path"),
    ({"workspace.writableRoots": ["plan"]}, "agent.profile_output_path_denied", "$.output.artifacts[0].path"),
    ({"output.artifacts": artifacts({"id": "Main"})}, "agent.profile_artifact_id_invalid", "$.output.artifacts[0].id"),
    (
        {"output.artifacts": artifacts({}, {"path": "output/b.md"})},
        "agent.profile_output_duplicate_id",
        "$.output.artifacts[1].id",
    ),
    (
        {"output.artifacts": artifacts({}, {"id": "b", "path": "output//./main.md"})},
        "agent.profile_output_duplicate_path",
        "$.output.artifacts[1].path",
    ),
    (
        {"output.artifacts": artifacts({}, {"id": "b", "path": "output/b.md"})},
        "agent.profile_output_duplicate_message_body",
        "$.output.artifacts",
    ),
    (
        {"output.artifacts": artifacts({"target": "messageExtra"})},
        "agent.profile_output_message_body_missing",
        "$.output.artifacts[0].target",
    ),
    (
        {"output.artifacts": artifacts({"kind": " "})},
        "agent.profile_output_kind_required",
        "$.output.artifacts[0].kind",
    ),
    (
        {"output.artifacts": artifacts({"path": "output"})},
        "agent.profile_output_path_denied",
        "$.output.artifacts[0].path",
    ),
    (
        {"output.artifacts": artifacts({"path": "../x"})},
        "agent.profile_output_path_denied",
        "$.output.artifacts[0].path",
    ),
    ({"output.artifacts": artifacts({"path": ""})}, "agent.profile_output_path_denied", "$.output.artifacts[0].path"),
]


@pytest.mark.parametrize(("changes", "code", "path"), DEEPER)
def test_a_rule_between_fields_names_the_field_to_mend(changes: dict[str, object], code: str, path: str) -> None:
    assert refusal(changes) == (code, path)


@pytest.mark.parametrize(
    "changes",
    [
        {"tools.allow": allowed("agent.list"), "delegation": {"canHandoff": True}},
        {"tools.allow": allowed("agent.delegate", "agent.await"), "delegation": {"canDelegate": True}},
        {"run.directRunnable": False, "run.presentation": "background", "delegation": TARGET, "tools.allow": FINISHING},
        {"run.directRunnable": False, "delegation": {"callable": True, "allowAsHandoffTarget": True}},
        {"schemaVersion": 2},
        {"run.presentation": "background", "tools.allow": FINISHING},
        {"run.modelRetry": {"maxRetries": 0, "intervalMs": 0}},
        {"model": {"mode": "connectionRef", "connectionRef": "c", "modelId": "m"}},
        {"preset": {"mode": "ref", "ref": {"apiId": "koboldhorde", "name": "x"}, "required": True}},
        {"context.initialChatHistoryMessages": 0},
        {"tools.maxRounds": 10**30},
        {DESCRIBED: {"skill.read": {}}},
    ],
)
def test_a_profile_that_keeps_the_rules_is_accepted(changes: dict[str, object]) -> None:
    parse_profile(document(changes), known_tools=DELEGATION_TOOLS)


ORDER: list[tuple[dict[str, object], str]] = [
    ({"id": ""}, "agent.profile_id_empty"),
    ({"preset": {"mode": "ref"}}, "agent.profile_preset_ref_required"),
    ({"model.modelId": "m"}, "agent.profile_model_current_snapshot_extra_fields"),
    ({"instructions.agentSystemPrompt": ""}, "agent.profile_system_prompt_empty"),
    ({"plan.mode": "free"}, "agent.plan_mode_unsupported"),
    ({"tools.maxCallsPerRun": 0}, "agent.profile_max_calls_invalid"),
    ({"delegation": {"callable": True}}, "agent.profile_delegation_target_mode_required"),
    ({"run.modelRetry.maxRetries": -1}, "agent.profile_model_retry_invalid"),
    ({"skills.visible": []}, "agent.profile_skill_visible_empty"),
    ({"workspace.visibleRoots": []}, "agent.profile_workspace_visible_empty"),
    ({"output.artifacts": []}, "agent.profile_output_empty"),
]


@pytest.mark.parametrize("start", range(len(ORDER)))
def test_the_first_broken_group_is_told(start: int) -> None:
    broken = {field: value for changes, _ in ORDER[start:] for field, value in changes.items()}

    assert refusal(broken)[0] == ORDER[start][1]


OPTIONAL = {
    "description", "preset.required", "preset.ref", "model.connectionRef", "context", "context.includeActivatedWorldInfo",
    "context.initialChatHistoryMessages", "instructions", "instructions.agentSystemPrompt", "plan.beta", "plan.nodes",
    "tools.deny", "tools.approval", "tools.toolDescriptions", "tools.maxCallsPerRun", "tools.maxCallsPerTool",
    "delegation", "run.directRunnable", "run.modelRetry", "run.modelRetry.maxWaitMs", "run.driftRecovery",
    "run.hydrateRounds", "skills.deny", "skills.maxReadCharsPerCall", "workspace.writeGuard",
}  # fmt: skip


@pytest.mark.parametrize("field", sorted(OPTIONAL))
def test_null_for_an_optional_field_is_the_same_as_leaving_it_out(field: str) -> None:
    parsed = parse_profile(document({field: None}), known_tools=SEED_TOOLS)

    assert parsed.model_copy(update={"description": None}) == default_writer().model_copy(update={"description": None})


def test_a_profile_is_kept_in_its_normal_form() -> None:
    parsed = parse_profile(
        document(
            {
                "id": "  mine ",
                "context.initialChatHistoryMessages": -7,
                "output.artifacts": artifacts({"kind": " markdown ", "path": "output\\.\\main.md"}),
            }
        ),
        known_tools=SEED_TOOLS,
    )

    assert parsed.id == "mine"
    assert parsed.context.initial_chat_history_messages == -1
    assert (parsed.output.artifacts[0].kind, parsed.output.artifacts[0].path) == ("markdown", "output/main.md")


@pytest.mark.parametrize("value", [None, [], "default-writer", 3])
def test_a_document_that_is_no_object_is_refused(value: Json) -> None:
    with pytest.raises(InvalidInput, match="must be a JSON object") as caught:
        parse_profile(value, known_tools=SEED_TOOLS)

    assert caught.value.error_code == "agent.invalid_profile"


def test_an_unknown_tool_is_told_with_those_that_are_known() -> None:
    with pytest.raises(InvalidInput, match=r"'web\.search'.*workspace\.finish"):
        parse_profile(document({"tools.allow": allowed("web.search")}), known_tools=SEED_TOOLS)


VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.lists(st.text())
ALL_TEXT = st.text(st.characters(categories=["L", "N", "P", "S", "Z", "C"]))
FIELDS = [
    f"{block}.{field}" for block in ("tools", "run", "workspace", "skills", "plan") for field in document()[block]
]


@given(st.sampled_from([*document(), *FIELDS]), VALUES | ALL_TEXT | st.dictionaries(ALL_TEXT, VALUES))
def test_whatever_stands_in_a_field_the_answer_is_a_profile_or_a_refusal(field: str, value: Json) -> None:
    try:
        parsed = parse_profile(document({field: value}), known_tools=SEED_TOOLS)
    except InvalidInput as refused:
        assert refused.error_code.startswith("agent.")
        assert str(refused.details["path"]).startswith("$.")
    else:
        assert isinstance(parsed, Profile)
        assert parse_profile(parsed.to_json(), known_tools=SEED_TOOLS) == parsed


def test_a_described_argument_must_be_one_of_the_tool_where_its_arguments_are_known() -> None:
    described = document({DESCRIBED: {"skill.read": {"properties": {"nome": "x"}}}})

    parse_profile(described, known_tools=SEED_TOOLS)
    with pytest.raises(InvalidInput, match="must be for an argument of the tool: name, path") as refused:
        parse_profile(described, known_tools=SEED_TOOLS, properties={"skill.read": ("name", "path")})

    assert refused.value.error_code == "agent.profile_unknown_tool_property"


@pytest.mark.parametrize(("required", "asked"), [(True, [("openai", "Tea")]), (False, [])])
def test_a_preset_is_looked_for_where_it_is_required(required: bool, asked: list[tuple[str, str]]) -> None:
    bound = document({"preset": {"mode": "ref", "ref": {"apiId": "openai", "name": "Tea"}, "required": required}})
    found: list[tuple[str, str]] = []

    def preset_exists(api_id: str, name: str) -> bool:
        found.append((api_id, name))
        return True

    parse_profile(bound, known_tools=SEED_TOOLS, preset_exists=preset_exists)

    assert found == asked


@pytest.mark.parametrize(
    ("given", "code"),
    [("", "agent.profile_id_empty"), ("é" * 65, "agent.profile_id_too_long"), ("\ud800", "agent.profile_id_invalid")],
)
def test_an_id_by_itself_has_the_same_rule(given: str, code: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked_id(given)

    assert refused.value.error_code == code
    assert checked_id(" a_1- ") == "a_1-"
