"""The plain assembler: what stands where in the prompt that it makes."""

from __future__ import annotations

from typing import Any

import pytest

from treadle.graph.errors import InvalidInput
from treadle.graph.jsontext import Json
from treadle.graph.ports import PromptParts
from treadle.nodes.assembly.plain import PlainAssembler

MARK = "_tauritavern_agent_prompt_marker"
SETTINGS: dict[str, Json] = {"chat_completion_source": "custom", "custom_model": "m", "temperature": 0.5}


def user(text: str) -> dict[str, Json]:
    return {"role": "user", "content": text}


def system(text: str) -> dict[str, Json]:
    return {"role": "system", "content": text}


AGENT = {**system("Write."), MARK: "agentSystemPrompt"}


async def payload(inputs: dict[str, Json] | None = None, **parts: Any) -> dict[str, Json]:
    given: dict[str, Any] = {"settings": SETTINGS, **parts}
    made = await PlainAssembler().assemble(PromptParts("normal", inputs or {}, {}, system_prompt="Write.", **given))
    assert made.token_counts == {}
    return made.payload


async def messages(inputs: dict[str, Json], **parts: Any) -> list[Json]:
    made: list[Json] = (await payload(inputs, **parts))["messages"]
    return made


async def refusal(inputs: dict[str, Json]) -> tuple[str, str]:
    with pytest.raises(InvalidInput) as caught:
        await payload(inputs)
    return caught.value.error_code, caught.value.message


async def test_the_agent_prompt_comes_first_and_the_history_from_the_oldest_on() -> None:
    assert await messages({"messages": [user("new"), {"role": "assistant", "content": "old"}]}) == [
        AGENT, {"role": "assistant", "content": "old"}, user("new"),
    ]  # fmt: skip


async def test_without_anything_there_is_the_agent_prompt() -> None:
    assert await messages({}) == [AGENT]


async def test_a_marked_message_is_replaced_where_it_stands() -> None:
    marked = {"role": "user", "content": "here", MARK: "agentSystemPrompt"}

    assert await messages({"messages": [user("b"), marked, user("a")]}) == [user("a"), AGENT, user("b")]


async def test_texts_stand_before_the_task_and_the_history() -> None:
    inputs: dict[str, Json] = {
        "scenario": "A storm.", "worldInfoBefore": "Trees.", "charDescription": "A baker.", "charPersonality": " ",
        "worldInfoAfter": "Rivers.", "personaDescription": None, "messages": [user("Hi")],
    }  # fmt: skip

    assert await messages(inputs, task_prompt="Find the key.") == [
        AGENT, system("Trees."), system("A baker."), system("A storm."), system("Rivers."), user("Find the key."),
        user("Hi"),
    ]  # fmt: skip


async def test_extension_prompts_stand_at_their_depth_or_before_the_history() -> None:
    inputs: dict[str, Json] = {
        "messages": [user("3"), user("2"), user("1")],
        "extensionPrompts": {
            "note": {"value": "at 1", "position": 1, "depth": 1, "role": 1},
            "end": {"value": "at 0", "position": 1, "depth": 0, "role": 2},
            "deep": {"value": "at 99", "position": 1, "depth": 99, "role": 0},
            "usual": {"value": "at 4", "position": 1},
            "summary": {"value": "before", "position": 0, "role": 7},
            "hidden": {"value": "nowhere", "position": -1},
            "empty": {"value": " ", "position": 1, "depth": 0},
        },
    }

    assert await messages(inputs) == [
        AGENT, system("before"), system("at 4"), system("at 99"), user("1"), user("2"), user("at 1"), user("3"),
        {"role": "assistant", "content": "at 0"},
    ]  # fmt: skip


async def test_settings_stay_as_they_are_beside_the_model() -> None:
    made = await payload(settings={**SETTINGS, "prompts": [1], "openai_max_tokens": 300}, json_schema={"name": "n"})

    del made["messages"]
    assert made == {
        **SETTINGS, "prompts": [1], "openai_max_tokens": 300, "max_tokens": 300, "model": "m",
        "json_schema": {"name": "n"},
    }  # fmt: skip


async def test_the_model_that_is_asked_for_goes_before_the_presets() -> None:
    assert (await payload(model_id="other"))["model"] == "other"
    assert (await payload(settings={"openai_model": "o"}))["chat_completion_source"] == "openai"


async def test_a_preset_without_a_model_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        await payload(settings={})

    assert caught.value.error_code == "agent.model_required"


@pytest.mark.parametrize(
    ("inputs", "code", "says"),
    [
        ({"messages": None}, "agent.context_history_messages_invalid", "messages"),
        ({"messages": {}}, "agent.context_history_messages_invalid", "messages"),
        ({"messages": [user("a"), "b"]}, "agent.context_history_messages_invalid", "messages[1]"),
        ({"messages": [{"mes": "a"}]}, "agent.context_history_messages_invalid", "messages[0]"),
        ({"scenario": 3}, "agent.frozen_run_input_prompt_inputs_invalid", "promptInputs.scenario"),
        ({"extensionPrompts": []}, "agent.extension_prompts_invalid", "extensionPrompts"),
        ({"extensionPrompts": {"note": "x"}}, "agent.extension_prompt_invalid", "'note'"),
    ],
)
async def test_inputs_that_make_no_prompt_are_refused_by_their_name(
    inputs: dict[str, Json], code: str, says: str
) -> None:
    told, message = await refusal(inputs)

    assert told == code
    assert says in message
