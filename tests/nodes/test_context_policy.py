"""The context policy: what it may say, and what is left of a prompt's inputs under it."""

from __future__ import annotations

from copy import deepcopy

import pytest

from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json
from treadle.nodes.context_policy import context_policy, extension_prompts, under_policy

ALL: dict[str, Json] = {"initialChatHistoryMessages": -1, "includeActivatedWorldInfo": True}
INPUTS: dict[str, Json] = {
    "messages": ["newest", "middle", "oldest"],
    "charDescription": "A baker.",
    "worldInfoString": "lore",
    "worldInfoBefore": "lore",
    "worldInfoAfter": "lore",
    "worldInfoExamples": [{"content": "lore"}],
    "worldInfoDepth": [{"depth": 4, "entries": ["lore"]}],
    "anBefore": ["lore"],
    "anAfter": ["lore"],
    "outletEntries": {"here": ["lore"]},
    "extensionPrompts": {
        "customDepthWI_4_0": {"value": "lore", "depth": 4, "role": 0},
        "customWIOutlet_here": {"value": "lore"},
        "2_floating_prompt": {"value": "A note.", "depth": 4},
    },
}


def refusal(value: Json) -> str:
    with pytest.raises(InvalidInput) as caught:
        context_policy(value, "here")
    assert caught.value.error_code == "agent.invalid_context_policy_snapshot"
    return caught.value.message


@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_a_policy_is_an_object(value: Json) -> None:
    assert refusal(value) == "here must be an object"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("initialChatHistoryMessages", True),
        ("initialChatHistoryMessages", 1.0),
        ("initialChatHistoryMessages", "1"),
        ("initialChatHistoryMessages", []),
        ("includeActivatedWorldInfo", 0),
        ("includeActivatedWorldInfo", "true"),
        ("includeActivatedWorldInfo", {}),
        ("initial_chat_history_messages", 1),
        ("more", 1),
    ],
)
def test_a_field_that_does_not_fit_is_named(key: str, value: Json) -> None:
    assert refusal({key: value}).startswith(f"here.{key} ")


@pytest.mark.parametrize(
    ("value", "policy"),
    [
        ({}, ALL),
        ({"initialChatHistoryMessages": None, "includeActivatedWorldInfo": None}, ALL),
        ({"initialChatHistoryMessages": -7}, ALL),
        ({"initialChatHistoryMessages": 0}, {**ALL, "initialChatHistoryMessages": 0}),
        ({"includeActivatedWorldInfo": False}, {**ALL, "includeActivatedWorldInfo": False}),
    ],
)
def test_a_policy_is_completed(value: Json, policy: Json) -> None:
    assert context_policy(value, "here") == policy


@pytest.mark.parametrize(
    ("count", "left"),
    [
        (-1, ["newest", "middle", "oldest"]),
        (0, []),
        (1, ["newest"]),
        (2, ["newest", "middle"]),
        (9, INPUTS["messages"]),
    ],
)
def test_the_latest_messages_are_kept(count: int, left: list[str]) -> None:
    assert under_policy(INPUTS, {**ALL, "initialChatHistoryMessages": count})["messages"] == left


def test_lore_is_kept_where_the_policy_includes_it() -> None:
    assert under_policy(INPUTS, ALL) == INPUTS


def test_lore_is_blanked_in_its_own_shape_where_the_policy_does_not_include_it() -> None:
    blanked = under_policy(INPUTS, {**ALL, "includeActivatedWorldInfo": False})

    assert "lore" not in str(blanked)
    assert blanked == {
        **INPUTS, "worldInfoString": "", "worldInfoBefore": "", "worldInfoAfter": "", "worldInfoExamples": [],
        "worldInfoDepth": [], "anBefore": [], "anAfter": [], "outletEntries": {},
        "extensionPrompts": {
            "customDepthWI_4_0": {"value": "", "depth": 4, "role": 0}, "customWIOutlet_here": {"value": ""},
            "2_floating_prompt": {"value": "A note.", "depth": 4},
        },
    }  # fmt: skip


def test_the_frozen_inputs_stay_as_they_were() -> None:
    before = deepcopy(INPUTS)

    made = under_policy(INPUTS, {"initialChatHistoryMessages": 1, "includeActivatedWorldInfo": False})
    made["extensionPrompts"]["2_floating_prompt"]["value"] = "changed"

    assert before == INPUTS


@pytest.mark.parametrize("messages", [None, {}, "x", 3])
def test_messages_that_are_no_list_are_refused(messages: Json) -> None:
    with pytest.raises(InvalidInput) as caught:
        under_policy({"messages": messages}, ALL)

    assert caught.value.error_code == "agent.context_history_messages_invalid"


@pytest.mark.parametrize(
    ("prompts", "code"),
    [
        ([], "agent.extension_prompts_invalid"),
        ("x", "agent.extension_prompts_invalid"),
        ({"a": 1}, "agent.extension_prompt_invalid"),
        ({"a": None}, "agent.extension_prompt_invalid"),
        ({"a": {"value": None}}, "agent.extension_prompt_invalid"),
        ({"a": {"value": 1}}, "agent.extension_prompt_invalid"),
    ],
)
def test_extension_prompts_that_do_not_fit_are_refused(prompts: Json, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        extension_prompts({"extensionPrompts": prompts})

    assert caught.value.error_code == code
