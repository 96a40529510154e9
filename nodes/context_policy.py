"""How much of the chat and of its lore a prompt holds: the context policy, and the inputs of a prompt under it."""

from __future__ import annotations

from copy import deepcopy

from ..graph.errors import InvalidInput
from ..graph.jsontext import Json, is_list, is_object

HISTORY = "initialChatHistoryMessages"
LORE = "includeActivatedWorldInfo"

_DEFAULTS: dict[str, Json] = {HISTORY: -1, LORE: True}
_LORE_KEYS = frozenset({"anBefore", "anAfter", "outletEntries"})
"""Of prompt inputs, beside those that begin with `worldInfo`: lore around the author's note, and in outlets."""
_LORE_PROMPTS = ("customDepthWI", "customWIOutlet")
"""How the extension prompts begin that hold lore, by their keys."""


def context_policy(value: Json, where: str) -> dict[str, Json]:
    """The policy with its defaults, a negative count being -1 (all).

    Raises InvalidInput `agent.invalid_context_policy_snapshot` naming the field below `where`.
    """
    if not is_object(value):
        raise _malformed(f"{where} must be an object")
    policy = _DEFAULTS | {key: item for key, item in value.items() if item is not None}
    for key, item in policy.items():
        if key not in _DEFAULTS:
            raise _malformed(f"{where}.{key} is not known; there are {HISTORY} and {LORE}")
        if type(item) is not type(_DEFAULTS[key]):
            raise _malformed(f"{where}.{key} must be {'a whole number' if key == HISTORY else 'true or false'}")
    policy[HISTORY] = max(policy[HISTORY], -1)
    return policy


def under_policy(prompt_inputs: dict[str, Json], policy: dict[str, Json]) -> dict[str, Json]:
    """A copy of the prompt inputs with no more history and lore than the policy allows.

    `messages` are the latest first: a count of n keeps the first n. Raises InvalidInput
    `agent.context_history_messages_invalid` where they are no list, `agent.extension_prompts_invalid` likewise.
    """
    inputs = deepcopy(prompt_inputs)
    messages = inputs.get("messages", [])
    if not is_list(messages):
        raise InvalidInput(
            "promptInputs.messages must be a list, the latest message first",
            code="agent.context_history_messages_invalid",
        )
    if policy[HISTORY] >= 0:
        inputs["messages"] = messages[: policy[HISTORY]]
    return inputs if policy[LORE] else _without_lore(inputs)


def _without_lore(inputs: dict[str, Json]) -> dict[str, Json]:
    for key, value in inputs.items():
        if key.startswith("worldInfo") or key in _LORE_KEYS:
            inputs[key] = _emptied(value)
    prompts = extension_prompts(inputs)
    for key, prompt in prompts.items():
        if key.startswith(_LORE_PROMPTS):
            prompt["value"] = ""
    return inputs


def extension_prompts(inputs: dict[str, Json]) -> dict[str, dict[str, Json]]:
    """The prompt inputs' `extensionPrompts`, each an object with a text `value`; none where they are absent or null.

    Raises InvalidInput `agent.extension_prompts_invalid`, and `agent.extension_prompt_invalid` naming the prompt.
    """
    prompts = inputs.get("extensionPrompts")
    if prompts is None:
        return {}
    if not is_object(prompts):
        raise InvalidInput("promptInputs.extensionPrompts must be an object", code="agent.extension_prompts_invalid")
    for key, prompt in prompts.items():
        if not is_object(prompt) or not isinstance(prompt.get("value", ""), str):
            raise InvalidInput(
                f"promptInputs.extensionPrompts[{key!r}] must be an object whose value is a string",
                code="agent.extension_prompt_invalid",
            )
    return prompts


def _malformed(message: str) -> InvalidInput:
    return InvalidInput(message, code="agent.invalid_context_policy_snapshot")


def _emptied(value: Json) -> Json:
    """Nothing, in the shape that it had."""
    match value:
        case str():
            return ""
        case list():
            return []
        case dict():
            return {}
        case _:
            return None
