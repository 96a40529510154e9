"""LiteLLM: chat messages whatever the provider; the answer's message goes back into the history as it was returned."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from talks import DESCRIPTION, KEY, NAME, PROMPT, SCHEMA, Library


class Completion:
    """`litellm.completion` of one model, which names the provider."""

    def __init__(self, model: str, base: str, **options: Any) -> None:
        self._litellm: Any = _quiet_module()
        self._asked = {"model": model, "api_base": base, "api_key": KEY, "num_retries": 0, "max_retries": 0, **options}

    def opening(self) -> list[Any]:
        return [{"role": "user", "content": PROMPT}]

    def ask(self, history: list[Any]) -> Any:
        function = {"name": NAME, "description": DESCRIPTION, "parameters": SCHEMA}
        return self._litellm.completion(
            messages=history, tools=[{"type": "function", "function": function}], **self._asked
        )

    def turn(self, answer: Any, result: str) -> list[Any]:
        said = answer.choices[0].message
        results = [
            {"role": "tool", "tool_call_id": call.id, "name": call.function.name, "content": result}
            for call in _each(said.tool_calls)
        ]
        return [said, *results]


class Responses:
    """`litellm.responses`, whose output items go back as they came."""

    def __init__(self, url: str) -> None:
        self._litellm: Any = _quiet_module()
        self._url = url + "/v1"

    def opening(self) -> list[Any]:
        return [{"role": "user", "content": PROMPT}]

    def ask(self, history: list[Any]) -> Any:
        tools = [{"type": "function", "name": NAME, "description": DESCRIPTION, "parameters": SCHEMA, "strict": False}]
        return self._litellm.responses(
            model="openai/gpt-5.2", input=history, tools=tools, store=False, include=["reasoning.encrypted_content"],
            api_base=self._url, api_key=KEY,
        )  # fmt: skip

    def turn(self, answer: Any, result: str) -> list[Any]:
        results = [
            {"type": "function_call_output", "call_id": _of(item, "call_id"), "output": result}
            for item in answer.output
            if _of(item, "type") == "function_call"
        ]
        return [*answer.output, *results]


def _each(calls: Any) -> list[Any]:
    return calls or []


def _quiet_module() -> Any:
    """LiteLLM, which else prints where to ask for help beside the tables."""
    litellm: Any = import_module("litellm")
    litellm.suppress_debug_info = True
    return litellm


def _of(item: Any, name: str) -> Any:
    """Output items come as objects or as dicts."""
    return item[name] if hasattr(item, "keys") else getattr(item, name, None)


def _claude(url: str) -> Completion:
    thinking = {"type": "enabled", "budget_tokens": 2000}
    return Completion("anthropic/claude-sonnet-4-5", url, max_tokens=4000, thinking=thinking)


def _gemini(url: str) -> Completion:
    return Completion("gemini/gemini-3-pro-preview", url)


def _chat(url: str) -> Completion:
    return Completion("openai/gpt-5.2-chat-latest", url + "/v1")


def _openrouter(url: str) -> Completion:
    return Completion("openrouter/openai/gpt-5.2", url + "/v1")


LITELLM = Library(
    "litellm",
    ("litellm",),
    {
        "claude_messages": _claude, "gemini": _gemini, "openai_responses": Responses, "openai_compatible": _chat,
        "openrouter": _openrouter,
    },
)  # fmt: skip
