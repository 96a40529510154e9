"""Whether a start request may become a run: the rows of the start table, in their order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.profiles.documents import resolved
from tests.nodes.test_frozen_input import FROZEN
from treadle.graph.errors import InvalidInput
from treadle.graph.identity import ChatRef
from treadle.graph.jsontext import Json
from treadle.graph.profiles.resolved import ResolvedProfile
from treadle.nodes.snapshot import check_snapshot, check_start, payload_of
from treadle.nodes.start_request import StartRequest

MARK = "_tauritavern_agent_prompt_marker"
POLICY = {"initialChatHistoryMessages": -1, "includeActivatedWorldInfo": True}


def snapshot(payload: Json = None, **changes: Json) -> dict[str, Json]:
    given = {"messages": [{"role": "user", "content": "Hi"}]} if payload is None else payload
    return {"contextPolicy": POLICY, "chatCompletionPayload": given, **changes}


def chat(*messages: Json, **settings: Json) -> dict[str, Json]:
    return {"prompt_snapshot": snapshot({"messages": list(messages), **settings})}


def request(**fields: Any) -> StartRequest:
    given: dict[str, Any] = {"prompt_snapshot": snapshot(), **fields}
    return StartRequest(ChatRef("group", chat_id="7"), **given)


def refusal(profile: ResolvedProfile | None = None, **fields: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        check_start(request(**fields), profile or resolved())
    assert caught.value.message
    return caught.value.error_code


def frozen(**changes: Json) -> dict[str, Json]:
    return {"frozen_run_input_snapshot": {**FROZEN, **changes}}


USER = {"role": "user", "content": "Hi"}

EARLY: list[tuple[int, dict[str, Any], str]] = [
    (1, {"options": {"stream": True}}, "agent.phase2b_stream_unsupported"),
    (2, {"prompt_snapshot": None}, "agent.prompt_snapshot_required"),
    (3, {"prompt_snapshot": []}, "agent.invalid_prompt_snapshot"),
    (3, {"prompt_snapshot": {"contextPolicy": POLICY}}, "agent.invalid_prompt_snapshot"),
    (3, {"prompt_snapshot": {"chatCompletionPayload": [USER]}}, "agent.invalid_prompt_snapshot"),
    (4, {"prompt_snapshot": snapshot({"model": "m"})}, "agent.invalid_prompt_snapshot"),
    (5, chat(USER, tools=[{}]), "agent.external_tools_unsupported_phase2b"),
    (6, chat(USER, tool_choice="auto"), "agent.external_tool_choice_unsupported_phase2b"),
    (6, chat(USER, tool_choice=None), "agent.external_tool_choice_unsupported_phase2b"),
    (7, chat(USER, {"role": "tool"}), "agent.external_tool_turns_unsupported_phase2b"),
    (7, chat(USER, {"role": " Tool "}), "agent.external_tool_turns_unsupported_phase2b"),
    (
        7,
        chat({"role": "assistant", "tool_calls": [{"id": "1"}]}),
        "agent.external_tool_turns_unsupported_phase2b",
    ),
    (8, {"generation_type": "  "}, "agent.invalid_generation_type"),
]
LATE: list[tuple[int, dict[str, Any], str]] = [
    (10, {"prompt_snapshot": {"messages": [USER]}}, "agent.context_policy_required"),
    (11, {"prompt_snapshot": snapshot(contextPolicy=None)}, "agent.invalid_context_policy_snapshot"),
    (11, {"prompt_snapshot": snapshot(contextPolicy=[])}, "agent.invalid_context_policy_snapshot"),
    (11, {"prompt_snapshot": snapshot(contextPolicy={"other": 1})}, "agent.invalid_context_policy_snapshot"),
    (
        11,
        {"prompt_snapshot": snapshot(contextPolicy={"initialChatHistoryMessages": True})},
        "agent.invalid_context_policy_snapshot",
    ),
    (
        11,
        {"prompt_snapshot": snapshot(contextPolicy={"includeActivatedWorldInfo": 1})},
        "agent.invalid_context_policy_snapshot",
    ),
    (
        12,
        {"prompt_snapshot": snapshot(contextPolicy={"initialChatHistoryMessages": 3})},
        "agent.context_policy_mismatch",
    ),
    (13, {"frozen_run_input_snapshot": []}, "agent.frozen_run_input_snapshot_invalid"),
    (13, frozen(schemaVersion=None), "agent.frozen_run_input_snapshot_schema_required"),
    (13, frozen(schemaVersion=2), "agent.frozen_run_input_snapshot_schema_unsupported"),
    (13, frozen(schemaVersion=True), "agent.frozen_run_input_snapshot_schema_unsupported"),
    (13, frozen(kind="x"), "agent.frozen_run_input_snapshot_kind_invalid"),
    (13, frozen(generationType=" "), "agent.frozen_run_input_generation_type_empty"),
    (13, frozen(promptInputs=None), "agent.frozen_run_input_prompt_inputs_required"),
    (13, frozen(promptInputs=[]), "agent.frozen_run_input_prompt_inputs_invalid"),
    (13, frozen(worldInfoActivation=None), "agent.frozen_run_input_world_info_activation_required"),
    (13, frozen(worldInfoActivation="x"), "agent.frozen_run_input_world_info_activation_invalid"),
    (13, frozen(macroContext=None), "agent.frozen_run_input_macro_context_required"),
    (13, frozen(macroContext=3), "agent.frozen_run_input_macro_context_invalid"),
    (13, frozen(generationType="swipe"), "prompt_assembly.generation_type_mismatch"),
    (13, frozen(schema_version=1), "agent.frozen_run_input_snapshot_invalid"),
    (13, {"prompt_snapshot": snapshot(frozenRunInputSnapshot=3)}, "agent.frozen_run_input_snapshot_invalid"),
    (
        13,
        {**frozen(), "prompt_snapshot": snapshot(frozenRunInputSnapshot={**FROZEN, "macroContext": {"names": {}}})},
        "agent.frozen_run_input_snapshot_invalid",
    ),
    (15, {"stable_chat_id": " "}, "agent.stable_chat_id_required"),
    (15, {"stable_chat_id": "x" * 513}, "agent.invalid_stable_chat_id"),
    (15, {"persist_base_state_id": " "}, "agent.persist_base_state_id_empty"),
    (16, {"prompt_snapshot": snapshot({"messages": {}})}, "agent.tool_loop_requires_messages"),
    (16, {"prompt_snapshot": snapshot({"messages": None})}, "agent.tool_loop_requires_messages"),
    (16, {"prompt_snapshot": snapshot({"prompt": ["x"]})}, "agent.tool_loop_requires_messages"),
    (17, chat(USER, "Hi"), "agent.invalid_prompt_snapshot"),
    (18, chat({**USER, MARK: 1}), "agent.invalid_prompt_marker"),
    (18, chat({**USER, MARK: None}), "agent.invalid_prompt_marker"),
    (19, chat({**USER, MARK: "agentResults"}), "agent.unknown_prompt_marker"),
    (
        19,
        chat({**USER, MARK: "agentSystemPrompt"}, {**USER, MARK: "agentSystemPrompt"}),
        "agent.system_prompt_marker_duplicate",
    ),
    (20, chat({"role": "function", "content": "x"}), "agent.invalid_model_message"),
    (21, {"prompt_snapshot": snapshot(worldInfoActivation=[])}, "agent.invalid_worldinfo_activation_snapshot"),
    (
        21,
        {"prompt_snapshot": snapshot(worldInfoActivation={"entries": [{"content": None}]})},
        "agent.invalid_worldinfo_activation_snapshot",
    ),
]


@pytest.mark.parametrize(("row", "fields", "code"), [*EARLY, *LATE])
def test_each_row_refuses_with_its_code(row: int, fields: dict[str, Any], code: str) -> None:
    assert refusal(**fields) == code


@pytest.mark.parametrize(("row", "fields", "code"), EARLY)
def test_the_first_eight_rows_need_no_profile(row: int, fields: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_snapshot(request(**fields))

    assert caught.value.error_code == code


@pytest.mark.parametrize(("row", "fields", "code"), LATE)
def test_the_later_rows_wait_for_the_profile(row: int, fields: dict[str, Any], code: str) -> None:
    check_snapshot(request(**fields))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"run.directRunnable": False}, "agent.profile_not_direct_runnable"),
        ({"model.mode": "requiresConfiguration"}, "agent.profile_model_requires_configuration"),
    ],
)
def test_a_profile_that_cannot_run_is_refused(changes: dict[str, object], code: str) -> None:
    assert refusal(resolved(changes)) == code
    assert refusal(resolved(changes), prompt_snapshot={"messages": []}) == code


def test_the_foreground_needs_a_visible_commit() -> None:
    hidden: dict[str, object] = {"tools.deny": ["workspace.commit"]}
    background = resolved({**hidden, "run.presentation": "background"})

    assert refusal(resolved(hidden)) == "agent.foreground_commit_unavailable"
    assert refusal(background, presentation="foreground") == "agent.foreground_commit_unavailable"
    check_start(request(), background)


@pytest.mark.parametrize("first", range(len(EARLY) - 1))
def test_of_two_broken_rows_the_earlier_is_told(first: int) -> None:
    """Pairs that can stand in one request: a field of the request beside one of the payload."""
    row, fields, code = EARLY[first]
    for later, more, _ in [*EARLY, *LATE]:
        if later > row and not fields.keys() & more.keys():
            assert refusal(**{**more, **fields}) == code


def test_payload_rows_are_told_in_their_order() -> None:
    everything = {"tools": [1], "tool_choice": 1, "messages": [{"role": "tool", MARK: 1}, "x"]}
    codes: list[str] = []
    for mended in ("tools", "tool_choice", None):
        codes.append(refusal(prompt_snapshot={"chatCompletionPayload": everything}))
        everything.pop(mended or "", None)

    assert codes == [
        "agent.external_tools_unsupported_phase2b",
        "agent.external_tool_choice_unsupported_phase2b",
        "agent.external_tool_turns_unsupported_phase2b",
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"prompt_snapshot": snapshot({"messages": "Hi"})},
        {"prompt_snapshot": snapshot({"prompt": "Hi"})},
        {"prompt_snapshot": snapshot({"messages": None, "prompt": "Hi"})},
        {"prompt_snapshot": {"contextPolicy": POLICY, "messages": [USER]}},
        {"prompt_snapshot": snapshot(contextPolicy={})},
        {"prompt_snapshot": snapshot(contextPolicy={"initialChatHistoryMessages": -9})},
        {"prompt_snapshot": snapshot(contextPolicy={"initialChatHistoryMessages": None})},
        chat(USER, tools=[]),
        chat(USER, tools=None, stream=None, temperature=None, custom_include_headers=None),
        chat(USER, tools={"a": 1}),
        chat(USER, stream=True),
        chat({"role": "assistant", "content": "x", "tool_calls": []}),
        chat({"role": "assistant", "content": None, "tool_calls": None}),
        chat({**USER, MARK: "agentSystemPrompt"}),
        chat({"content": "no role"}, {"role": "narrator", "content": 3}, extra="kept"),
        {"options": {"stream": False, "other": 1}},
        {"options": {"stream": None}},
        {"generation_type": "quiet"},
        {"stable_chat_id": "x" * 512},
        frozen(more=1),
        frozen(generationType=" normal "),
        {"prompt_snapshot": snapshot(frozenRunInputSnapshot=FROZEN)},
        {**frozen(), "prompt_snapshot": snapshot(frozenRunInputSnapshot=FROZEN)},
        {"prompt_snapshot": snapshot(worldInfoActivation=None)},
        {"prompt_snapshot": snapshot(worldInfoActivation={"entries": [{"content": "", "position": "new"}]})},
    ],
)
def test_what_breaks_no_row_is_accepted(fields: dict[str, Any]) -> None:
    check_start(request(**fields), resolved())


def test_a_malformed_activation_is_told_by_its_place() -> None:
    with pytest.raises(InvalidInput) as caught:
        check_start(request(prompt_snapshot=snapshot(worldInfoActivation={"entries": [{"uid": 1}]})), resolved())

    assert "promptSnapshot.worldInfoActivation.entries[0].content" in caught.value.message


def test_the_policy_is_compared_with_the_profiles() -> None:
    profile = resolved({"context": {"initialChatHistoryMessages": 5, "includeActivatedWorldInfo": False}})
    same = {"initialChatHistoryMessages": 5, "includeActivatedWorldInfo": False}

    check_start(request(prompt_snapshot=snapshot(contextPolicy=same)), profile)
    assert refusal(profile) == "agent.context_policy_mismatch"


def test_the_first_payload_key_that_holds_an_object_counts() -> None:
    first, second = {"messages": "1"}, {"messages": "2"}

    assert payload_of({"generate_data": first, "messages": "3"}) is first
    assert payload_of({"chat_completion_payload": second, "generateData": first}) is second
    assert payload_of({"chatCompletionPayload": None, "generateData": first}) is first
    assert payload_of({"prompt": "p"}) == {"prompt": "p"}


@pytest.mark.parametrize("value", [None, 3, "x", [], {}, {"chatCompletionPayload": "x"}])
def test_a_snapshot_without_a_payload_is_refused(value: Json) -> None:
    with pytest.raises(InvalidInput) as caught:
        payload_of(value)

    assert caught.value.error_code == "agent.invalid_prompt_snapshot"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["role", "content", "tool_calls", MARK, "messages", "prompt", "tools"]), inner
        )
    ),
    max_leaves=10,
)


@given(JSON_VALUES, JSON_VALUES)
def test_whatever_the_snapshot_is_the_answer_is_yes_or_a_refusal(messages: Json, policy: Json) -> None:
    payload = {"contextPolicy": policy, "chatCompletionPayload": {"messages": messages}}
    try:
        check_start(request(prompt_snapshot=payload), resolved())
    except InvalidInput as refused:
        assert refused.error_code.startswith("agent.")
