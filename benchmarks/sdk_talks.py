"""The providers' own libraries: an answer's content, output or message goes back into the history as they return it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from talks import DESCRIPTION, KEY, NAME, PROMPT, SCHEMA, Library


class Anthropic:
    def __init__(self, url: str) -> None:
        self._client: Any = import_module("anthropic").Anthropic(base_url=url, api_key=KEY, max_retries=0)

    def opening(self) -> list[Any]:
        return [{"role": "user", "content": PROMPT}]

    def ask(self, history: list[Any]) -> Any:
        tools = [{"name": NAME, "description": DESCRIPTION, "input_schema": SCHEMA}]
        return self._client.messages.create(
            model="claude-sonnet-4-5", max_tokens=4000, messages=history, tools=tools,
            thinking={"type": "enabled", "budget_tokens": 2000},
        )  # fmt: skip

    def turn(self, answer: Any, result: str) -> list[Any]:
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": result}
            for block in answer.content
            if block.type == "tool_use"
        ]
        said = {"role": "assistant", "content": answer.content}
        return [said, {"role": "user", "content": results}] if results else [said]


class Google:
    def __init__(self, url: str) -> None:
        genai: Any = import_module("google.genai")
        self._types: Any = import_module("google.genai.types")
        self._client = genai.Client(api_key=KEY, http_options=self._types.HttpOptions(base_url=url))
        declared = self._types.FunctionDeclaration(name=NAME, description=DESCRIPTION, parameters_json_schema=SCHEMA)
        self._config = self._types.GenerateContentConfig(
            tools=[self._types.Tool(function_declarations=[declared])],
            automatic_function_calling=self._types.AutomaticFunctionCallingConfig(disable=True),
        )

    def opening(self) -> list[Any]:
        return [self._types.Content(role="user", parts=[self._types.Part(text=PROMPT)])]

    def ask(self, history: list[Any]) -> Any:
        return self._client.models.generate_content(model="gemini-3-pro-preview", contents=history, config=self._config)

    def turn(self, answer: Any, result: str) -> list[Any]:
        results = [
            self._types.Part(
                function_response=self._types.FunctionResponse(id=call.id, name=call.name, response={"result": result})
            )
            for call in _each(answer.function_calls)
        ]
        said = answer.candidates[0].content
        return [said, self._types.Content(role="user", parts=results)] if results else [said]


class Responses:
    def __init__(self, url: str) -> None:
        self._client: Any = import_module("openai").OpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0)

    def opening(self) -> list[Any]:
        return [{"role": "user", "content": PROMPT}]

    def ask(self, history: list[Any]) -> Any:
        tools = [{"type": "function", "name": NAME, "description": DESCRIPTION, "parameters": SCHEMA, "strict": False}]
        return self._client.responses.create(
            model="gpt-5.2", input=history, tools=tools, store=False, include=["reasoning.encrypted_content"]
        )

    def turn(self, answer: Any, result: str) -> list[Any]:
        results = [
            {"type": "function_call_output", "call_id": item.call_id, "output": result}
            for item in answer.output
            if item.type == "function_call"
        ]
        return [*answer.output, *results]


class Chat:
    def __init__(self, url: str) -> None:
        self._client: Any = import_module("openai").OpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0)

    def opening(self) -> list[Any]:
        return [{"role": "user", "content": PROMPT}]

    def ask(self, history: list[Any]) -> Any:
        function = {"name": NAME, "description": DESCRIPTION, "parameters": SCHEMA}
        return self._client.chat.completions.create(
            model="gpt-5.2", messages=history, tools=[{"type": "function", "function": function}]
        )

    def turn(self, answer: Any, result: str) -> list[Any]:
        said = answer.choices[0].message
        results = [{"role": "tool", "tool_call_id": call.id, "content": result} for call in _each(said.tool_calls)]
        return [said, *results]


def _each(calls: Any) -> list[Any]:
    return calls or []


SDKS = (
    Library("anthropic", ("anthropic",), {"claude_messages": Anthropic}),
    Library("google-genai", ("google-genai",), {"gemini": Google}),
    Library("openai", ("openai",), {"openai_responses": Responses, "openai_compatible": Chat, "openrouter": Chat}),
)
