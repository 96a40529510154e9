"""pydantic-ai's direct requests: its `ModelResponse` goes back into the history as it was returned."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from talks import DESCRIPTION, KEY, NAME, PROMPT, SCHEMA, Library


class Direct:
    def __init__(self, model: Any, settings: dict[str, Any] | None = None) -> None:
        self._direct: Any = import_module("pydantic_ai.direct")
        self._messages: Any = import_module("pydantic_ai.messages")
        self._model, self._settings = model, settings
        tool = import_module("pydantic_ai.tools").ToolDefinition(
            name=NAME, description=DESCRIPTION, parameters_json_schema=SCHEMA
        )
        self._parameters = import_module("pydantic_ai.models").ModelRequestParameters(function_tools=[tool])

    def opening(self) -> list[Any]:
        return [self._messages.ModelRequest(parts=[self._messages.UserPromptPart(PROMPT)])]

    def ask(self, history: list[Any]) -> Any:
        return self._direct.model_request_sync(
            self._model, history, model_settings=self._settings, model_request_parameters=self._parameters
        )

    def turn(self, answer: Any, result: str) -> list[Any]:
        results = [
            self._messages.ToolReturnPart(tool_name=part.tool_name, content=result, tool_call_id=part.tool_call_id)
            for part in answer.parts
            if isinstance(part, self._messages.ToolCallPart)
        ]
        return [answer, self._messages.ModelRequest(parts=results)] if results else [answer]


def _claude(url: str) -> Direct:
    client = import_module("anthropic").AsyncAnthropic(base_url=url, api_key=KEY, max_retries=0)
    provider = import_module("pydantic_ai.providers.anthropic").AnthropicProvider(anthropic_client=client)
    model = import_module("pydantic_ai.models.anthropic").AnthropicModel("claude-sonnet-4-5", provider=provider)
    return Direct(model, {"max_tokens": 4000, "anthropic_thinking": {"type": "enabled", "budget_tokens": 2000}})


def _gemini(url: str) -> Direct:
    provider = import_module("pydantic_ai.providers.google").GoogleProvider(api_key=KEY, base_url=url)
    return Direct(import_module("pydantic_ai.models.google").GoogleModel("gemini-3-pro-preview", provider=provider))


def _responses(url: str) -> Direct:
    model = import_module("pydantic_ai.models.openai").OpenAIResponsesModel("gpt-5.2", provider=_openai(url))
    return Direct(model, {"openai_store": False, "openai_include_encrypted_reasoning": True})


def _chat(url: str) -> Direct:
    return Direct(import_module("pydantic_ai.models.openai").OpenAIChatModel("gpt-5.2", provider=_openai(url)))


def _openrouter(url: str) -> Direct:
    client = import_module("openai").AsyncOpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0)
    provider = import_module("pydantic_ai.providers.openrouter").OpenRouterProvider(openai_client=client)
    return Direct(import_module("pydantic_ai.models.openrouter").OpenRouterModel("openai/gpt-5.2", provider=provider))


def _openai(url: str) -> Any:
    client = import_module("openai").AsyncOpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0)
    return import_module("pydantic_ai.providers.openai").OpenAIProvider(openai_client=client)


PYDANTIC_AI = Library(
    "pydantic-ai",
    ("pydantic-ai-slim",),
    {
        "claude_messages": _claude, "gemini": _gemini, "openai_responses": _responses, "openai_compatible": _chat,
        "openrouter": _openrouter,
    },
)  # fmt: skip
