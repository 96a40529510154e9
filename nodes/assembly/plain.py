"""A plain prompt out of frozen inputs: agent prompt, character and lore, task, history with what is set into it.

It does not read the preset's list of prompts: a front end that has a prompt manager brings its own assembler.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, dumps, is_list, is_object
from ...graph.ports import AssembledPrompt, PromptParts
from ..context_policy import extension_prompts
from ..snapshot_messages import MARKER, MARKER_KEY
from .preset_settings import SOURCE, model_in

_TEXTS = (
    "worldInfoBefore", "personaDescription", "charDescription", "charPersonality", "scenario", "worldInfoAfter",
)  # fmt: skip
"""Of the prompt inputs, in this order: each is a system message."""
_IN_CHAT = 1
_SILENT = -1
"""Values of an extension prompt's `position`: so many messages from the end, and nowhere; else before the history."""
_ROLES = {b"1": "user", b"2": "assistant"}
"""By their number; any other is the system's."""
_DEPTH = 4


class PlainAssembler:
    """A `PromptAssembler` that puts parts one after another."""

    engine = "treadle-plain-prompt"

    async def assemble(self, parts: PromptParts) -> AssembledPrompt:
        """Raises InvalidInput: `agent.model_required`, and codes of inputs that are not what they must be."""
        payload = {SOURCE: "openai", **parts.settings}
        model = parts.model_id or model_in(payload)
        if model is None:
            raise InvalidInput("the preset names no model; set one in it, or give modelId", code="agent.model_required")
        payload["model"] = model
        if payload.get("openai_max_tokens") is not None:
            payload.setdefault("max_tokens", payload["openai_max_tokens"])
        if parts.json_schema is not None:
            payload["json_schema"] = parts.json_schema
        return AssembledPrompt({**payload, "messages": _messages(parts)})


def _messages(parts: PromptParts) -> list[dict[str, Json]]:
    history = _history(parts)
    marked = any(entry.get(MARKER_KEY) == MARKER for entry in history)
    # the mark stays, so that a run puts its own words in this place: they tell of its tools and presentation
    agent: dict[str, Json] = {"role": "system", "content": parts.system_prompt, MARKER_KEY: MARKER}
    placed = [agent if entry.get(MARKER_KEY) == MARKER else entry for entry in history]
    task = [] if parts.task_prompt is None else [{"role": "user", "content": parts.task_prompt}]
    return [*([] if marked else [agent]), *_told(parts.prompt_inputs), *task, *placed]


def _history(parts: PromptParts) -> list[dict[str, Json]]:
    """The messages, the oldest first, with the extension prompts that stand among them."""
    given = parts.prompt_inputs.get("messages", [])
    if not is_list(given):
        raise InvalidInput("promptInputs.messages must be a list", code="agent.context_history_messages_invalid")
    for index, entry in enumerate(given):
        if not is_object(entry) or not ("content" in entry or MARKER_KEY in entry):
            raise InvalidInput(
                f"promptInputs.messages[{index}] must be an object with role and content",
                code="agent.context_history_messages_invalid",
            )
    latest_first: list[dict[str, Json]] = list(given)
    set_in = [prompt for prompt in _prompts(parts.prompt_inputs) if prompt.get("position") == _IN_CHAT]
    for prompt in sorted(set_in, key=_depth, reverse=True):  # the deepest first: it moves no place of the others
        latest_first.insert(_depth(prompt), _message(prompt))
    return latest_first[::-1]


def _told(inputs: dict[str, Json]) -> Iterator[dict[str, Json]]:
    for key in _TEXTS:
        text = inputs.get(key)
        if text is not None and not isinstance(text, str):
            raise InvalidInput(
                f"promptInputs.{key} must be a string", code="agent.frozen_run_input_prompt_inputs_invalid"
            )
        if text and text.strip():
            yield {"role": "system", "content": text}
    for prompt in _prompts(inputs):
        if prompt.get("position") not in (_IN_CHAT, _SILENT):
            yield _message(prompt)


def _prompts(inputs: dict[str, Json]) -> Iterator[dict[str, Json]]:
    """The extension prompts that hold text."""
    return (prompt for prompt in extension_prompts(inputs).values() if prompt.get("value", "").strip())


def _message(prompt: dict[str, Json]) -> dict[str, Json]:
    return {"role": _ROLES.get(dumps(prompt.get("role")), "system"), "content": prompt["value"]}


def _depth(prompt: dict[str, Json]) -> int:
    depth = prompt.get("depth")
    return max(0, depth) if type(depth) is int else _DEPTH
