"""Which calls wait for a person, and what a person may answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.graph.errors import InvalidInput
from treadle.graph.identity import CallId
from treadle.graph.jsontext import Json, loads
from treadle.graph.messages import ToolCall
from treadle.graph.profiles.resolved import SEED_TOOLS, parse_profile, resolve
from treadle.nodes.approval import Decision, decision_of, denial, needed
from treadle.nodes.registry import TOOLS

from ..scenarios.people import asking

CALL = ToolCall(CallId("c"), "workspace.write_file", {}, "workspace_write_file")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("rule", "waiting"),
    [
        ([], []),
        (["workspace.read_file", "workspace.finish"], ["workspace.read_file", "workspace.finish"]),
        ("mutating", [name for name, tool in TOOLS.items() if tool.spec.annotations.mutating]),
    ],
)
def test_the_profile_says_which_tools_wait(rule: Json, waiting: list[str]) -> None:
    profile = resolve(parse_profile(asking(rule), known_tools=SEED_TOOLS))

    assert [name for name, tool in TOOLS.items() if needed(profile, tool.spec)] == waiting


def test_a_blank_reason_is_none() -> None:
    assert decision_of({"approved": False, "reason": "  "}) == Decision(approved=False)
    assert decision_of({"approved": True, "reason": " go on "}) == Decision(approved=True, reason="go on")


@given(st.booleans(), st.none() | st.text(), st.none() | st.dictionaries(st.text(), JSON, max_size=3))
def test_an_answer_survives_being_written_down(
    approved: bool, reason: str | None, edited: dict[str, Json] | None
) -> None:
    answer = {"approved": approved, "reason": reason, "editedArguments": edited if approved else None}
    decision = decision_of(answer)

    assert decision_of(decision.to_json()) == decision
    assert decision.edited == answer["editedArguments"]


def test_changed_arguments_must_be_such_as_the_tool_takes() -> None:
    answer = {"approved": True, "editedArguments": {"path": "output/main.md", "content": 3}}
    with pytest.raises(InvalidInput, match="editedArguments: content must be a string"):
        decision_of(answer, TOOLS["workspace.write_file"])


@given(JSON)
def test_what_is_no_answer_is_refused_in_one_way(answer: Json) -> None:
    with pytest.raises(InvalidInput) as refused:
        decision_of(answer)

    assert refused.value.error_code == "agent.tool_approval_resolve_invalid"


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"approve": True}, "approve is not known; the fields are approved, reason, editedArguments"),
        ({"approved": 1}, "approved must be true or false, not 1"),
        ({"approved": True, "reason": ["x"]}, "reason must be a string, not ['x']"),
        ({"approved": False, "editedArguments": {}}, "editedArguments goes only with approved: true"),
        ({"approved": True, "editedArguments": "{}"}, "editedArguments must be an object, not '{}'"),
        ({"approved": True, "editedArguments": {"n": float("inf")}}, "editedArguments is not JSON: inf is not JSON"),
        ({"approved": True, "editedArguments": {"n": (1,)}}, "editedArguments holds something that JSON can't"),
        ({"approved": True, "editedArguments": {1: 2}}, "editedArguments holds something that JSON can't"),
    ],
)
def test_the_field_that_is_wrong_is_named(answer: Json, fault: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        decision_of(answer)

    assert refused.value.message == fault


def test_arguments_that_json_holds_only_escaped_are_kept_as_they_are() -> None:
    odd = loads(b'{"half": "\\ud83d", "big": 18446744073709551616}')

    assert decision_of({"approved": True, "editedArguments": odd}).edited == odd


def test_the_model_is_told_why_where_there_is_a_reason() -> None:
    with_reason, without = denial(CALL, {"reason": "too wet"}), denial(CALL, {})

    assert with_reason.code == without.code == "agent.tool_denied"
    assert with_reason.message.endswith("this call of workspace_write_file. Their reason: too wet")
    assert without.message.endswith("They gave no reason.")
