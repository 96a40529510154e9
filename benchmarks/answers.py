"""Answers as the five providers write them: text, signed reasoning and tool calls, of any size."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from treadle.graph.jsontext import Json

_SENTENCE = "The lamp burned low — “who is there?” — and nobody in the house spoke of the letter. "


@dataclass(frozen=True, slots=True)
class Call:
    id: str
    path: str
    content: str

    @property
    def arguments(self) -> dict[str, Json]:
        return {"path": self.path, "content": self.content}


@dataclass(frozen=True, slots=True)
class Answer:
    """What one answer says, before it is written in a provider's words."""

    number: int
    text: str
    thought: str
    signature: str
    calls: tuple[Call, ...]


def answer(number: int, *, text: int, thought: int = 300, signature: int = 1500, calls: Sequence[int] = ()) -> Answer:
    """An answer whose text, thought, signature and each call's content have so many characters."""
    held = tuple(Call(f"call_{number}_{at}", f"output/part-{at}.md", prose(size)) for at, size in enumerate(calls))
    seed = number.to_bytes(4, "big")
    signed = base64.b64encode(seed * (signature // 5 + 1)).decode()[:signature]
    return Answer(number, prose(text), prose(thought), signed, held)


def prose(size: int) -> str:
    return (_SENTENCE * (size // len(_SENTENCE) + 1))[:size]


def written(provider_format: str, said: Answer) -> bytes:
    """The reply's body."""
    return _dumps(WRITERS[provider_format](said))


def _claude(said: Answer) -> Json:
    content: list[Json] = [
        {"type": "thinking", "thinking": said.thought, "signature": said.signature},
        {"type": "text", "text": said.text},
    ]
    content += [
        {"type": "tool_use", "id": call.id, "name": "workspace_write_file", "input": call.arguments}
        for call in said.calls
    ]
    usage = {"input_tokens": 1000, "output_tokens": 500}
    stop = "tool_use" if said.calls else "end_turn"
    named = {"id": f"msg_{said.number}", "type": "message", "role": "assistant", "model": "measured"}
    return {**named, "content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage}


def _gemini(said: Answer) -> Json:
    parts: list[Json] = [{"text": said.thought, "thought": True}]
    parts.append({"text": said.text, "thoughtSignature": said.signature})
    for call in said.calls:
        parts.append({"functionCall": {"id": call.id, "name": "workspace_write_file", "args": call.arguments}})
    candidate = {"content": {"parts": parts, "role": "model"}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1000, "candidatesTokenCount": 500, "totalTokenCount": 1500}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "measured", "responseId": "r"}


def _interactions(said: Answer) -> Json:
    summary = [{"type": "text", "text": said.thought}]
    steps: list[Json] = [
        {"type": "thought", "signature": said.signature, "summary": summary},
        {"type": "model_output", "content": [{"type": "text", "text": said.text}]},
    ]
    for call in said.calls:
        steps.append(
            {"type": "function_call", "id": call.id, "name": "workspace_write_file", "arguments": call.arguments}
        )
    status = "requires_action" if said.calls else "completed"
    return {"id": f"v1_{said.number}", "model": "measured", "status": status, "steps": steps, "usage": {}}


def _chat(said: Answer) -> Json:
    details = [{"type": "reasoning.encrypted", "data": said.signature, "id": f"rs_{said.number}", "index": 0}]
    message: dict[str, Json] = {
        "role": "assistant", "content": said.text, "reasoning": said.thought, "reasoning_details": details,
    }  # fmt: skip
    if said.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": "workspace_write_file", "arguments": _dumps(call.arguments).decode()},
            }
            for call in said.calls
        ]
    finish = "tool_calls" if said.calls else "stop"
    choice = {"index": 0, "finish_reason": finish, "message": message}
    named = {"id": f"chatcmpl-{said.number}", "object": "chat.completion", "created": 1, "model": "measured"}
    usage = {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}
    return {**named, "choices": [choice], "usage": usage}


def _responses(said: Answer) -> Json:
    summary = [{"type": "summary_text", "text": said.thought}]
    spoken: dict[str, Json] = {"type": "output_text", "text": said.text, "annotations": []}
    output: list[Json] = [
        {"id": f"rs_{said.number}", "type": "reasoning", "summary": summary, "encrypted_content": said.signature},
        {
            "id": f"msg_{said.number}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [spoken],
        },
    ]
    for call in said.calls:
        output.append(
            {
                "id": f"fc_{call.id}",
                "type": "function_call",
                "status": "completed",
                "call_id": call.id,
                "name": "workspace_write_file",
                "arguments": _dumps(call.arguments).decode(),
            }
        )
    named = {"id": f"resp_{said.number}", "object": "response", "created_at": 1, "model": "measured"}
    return {**named, "status": "completed", "error": None, "output": output, "usage": {"input_tokens": 1000}}


def _dumps(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


WRITERS: dict[str, Callable[[Answer], Json]] = {
    "claude_messages": _claude,
    "gemini": _gemini,
    "gemini_interactions": _interactions,
    "openai_compatible": _chat,
    "openai_responses": _responses,
}
