"""What a round leaves in files and journal, as plain values: written out by hand, so that the floor owes the nodes nothing."""

from __future__ import annotations

from treadle.gateway.gateway import Exchange
from treadle.gateway.provider_state import told
from treadle.graph.events import EventType
from treadle.graph.jsontext import Json
from treadle.graph.messages import ToolCall, ToolResult, part_json
from treadle.graph.paths import WorkspacePath
from treadle.graph.text import count_chars, count_words, sha256_bytes
from treadle.storage.journal import Entry
from treadle.storage.runs import body_path, response_path


def response(number: int, exchange: Exchange) -> Json:
    answer = exchange.response
    return {
        "round": number,
        "response": {
            "message": {"role": str(answer.message.role), "parts": [part_json(part) for part in answer.message.parts]},
            "toolCalls": [call.to_json() for call in answer.tool_calls],
            "text": answer.text,
            "providerMetadata": answer.metadata_json(),
            "providerState": exchange.provider_state,
            "rawPath": body_path(number),
            "rawSha256": sha256_bytes(exchange.body),
        },
    }


def answered(number: int, exchange: Exchange) -> list[Entry]:
    path, answer = response_path(number), exchange.response
    completed: dict[str, Json] = {
        "round": number,
        "modelResponsePath": path,
        "toolCallCount": len(answer.tool_calls),
        "hasAssistantText": bool(answer.text.strip()),
        "hasReasoning": False,
        "textChars": count_chars(answer.text),
        "textWords": count_words(answer.text),
        "assistantTextChars": count_chars(answer.text),
        "assistantTextWords": count_words(answer.text),
        "reasoningChars": 0,
        "reasoningWords": 0,
    }
    stored = {"round": number, "path": path, "responseId": answer.id, "model": answer.model}
    return [
        Entry(EventType.MODEL_RESPONSE_STORED, stored),
        Entry(EventType.PROVIDER_STATE_UPDATED, {"round": number, "providerState": told(exchange.provider_state)}),
        Entry(EventType.MODEL_COMPLETED, completed),
    ]


def result(call: ToolCall, path: WorkspacePath, text: str, sha256: str) -> ToolResult:
    chars, words = count_chars(text), count_words(text)
    structured: Json = {"path": path, "mode": "replace", "chars": chars, "words": words, "sha256": sha256}
    content = f"Wrote {path}; the file now has {chars} chars, {words} words."
    return ToolResult(call.id, call.name, content, structured, resource_refs=(path,))


def completed(result: ToolResult) -> dict[str, Json]:
    return {
        "name": result.name,
        "isError": False,
        "errorCode": None,
        "message": None,
        "elapsedMs": 0,
        "resourceRefs": list(result.resource_refs),
    }
