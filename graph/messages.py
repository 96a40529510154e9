"""The canonical words between the run and any provider: messages, their parts, calls, results, requests, answers.

Provider blocks that only the provider understands are `NativePart`s: the exact bytes of the reply, never parsed for
sending back. Everything here is frozen; JSON keys on disk are camelCase.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from .identity import CallId
from .jsontext import Json, dumps, is_object
from .mcp_names import alias_of
from .text import sha256_bytes


class Role(StrEnum):
    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Finish(StrEnum):
    """Why the model stopped, in one vocabulary."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    PAUSE = "pause"
    ERROR = "error"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call as the model asked for it.

    `arguments` is the parsed JSON value, or the raw text where `arguments_invalid`.
    """

    id: CallId
    name: str
    """Canonical (`workspace.read_file`) where the alias is known, else as received."""
    arguments: Json
    model_name: str
    arguments_invalid: bool = False
    signature: str | None = None
    raw: bytes = b"null"
    """The call as received, an exact slice of the reply."""

    @property
    def metadata(self) -> dict[str, Json]:
        return {"modelName": self.model_name, "signature": self.signature}

    def to_json(self) -> dict[str, Json]:
        """The stored form; the raw call stays where it came from, in the stored body."""
        return {"id": self.id, "name": self.name, "arguments": self.arguments, "providerMetadata": self.metadata}


@dataclass(frozen=True, slots=True)
class ToolResult:
    call_id: CallId
    name: str
    content: str
    structured: Json = None
    is_error: bool = False
    error_code: str | None = None
    resource_refs: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """The stored form (`tool-results/*.json`); `errorCode` is left out when there is none."""
        stored: dict[str, Json] = {
            "callId": self.call_id, "name": self.name, "content": self.content, "structured": self.structured,
            "isError": self.is_error,
        }  # fmt: skip
        if self.error_code is not None:
            stored["errorCode"] = self.error_code
        stored["resourceRefs"] = list(self.resource_refs)
        return stored

    def envelope(self) -> Json:
        """The five keys that the model sees."""
        return {
            "ok": not self.is_error, "content": self.content, "structured": self.structured,
            "errorCode": self.error_code, "resourceRefs": list(self.resource_refs),
        }  # fmt: skip


def tool_result(stored: Json) -> ToolResult:
    """A result read back from its stored form."""
    return ToolResult(
        call_id=CallId(stored["callId"]), name=stored["name"], content=stored["content"], structured=stored["structured"],
        is_error=stored["isError"], error_code=stored.get("errorCode"), resource_refs=tuple(stored["resourceRefs"]),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """Reasoning for people to read; it is never sent back from here."""

    text: str
    source: str


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    result: ToolResult


@dataclass(frozen=True, slots=True)
class MediaPart:
    """User media as an OpenAI-style content part."""

    mime_type: str
    value: Json


@dataclass(frozen=True, slots=True)
class NativePart:
    """A provider's own block: `value` is an exact slice of bytes, spliced back unchanged and only to `provider`."""

    provider: str
    value: bytes
    origin: str = ""
    """The connection that it came from; it goes back to no other. Blank: not known, so taken for this one."""


Part = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | MediaPart | NativePart


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    parts: tuple[Part, ...] = ()
    name: str | None = None

    @property
    def text(self) -> str:
        """The visible text, joined as given."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


def part_json(part: Part) -> Json:
    """A part as it stands in a stored model response; of a native block only the digest, as the body holds it."""
    match part:
        case TextPart(text):
            return {"type": "text", "text": text}
        case ReasoningPart(text, source):
            return {"type": "reasoning", "text": text, "providerMetadata": {"source": source}}
        case ToolCallPart(call):
            return {"type": "toolCall", "call": call.to_json()}
        case ToolResultPart(result):
            return {"type": "toolResult", "result": result.to_json()}
        case MediaPart(mime_type, value):
            return {"type": "media", "mimeType": mime_type, "value": value}
        case NativePart(provider, value, origin):
            digest = sha256_bytes(value)
            return {"type": "native", "provider": provider, "origin": origin, "sha256": digest, "bytes": len(value)}


@dataclass(frozen=True, slots=True)
class Annotations:
    read_only: bool = False
    mutating: bool = False
    control: bool = False
    idempotent: bool = False
    """A second call with the same arguments changes nothing more."""
    source_kind: str | None = None

    def to_json(self) -> dict[str, Json]:
        shown: dict[str, Json] = {}
        if self.read_only:
            shown["readOnly"] = True
        if self.control:
            shown["control"] = True
        if self.mutating:
            shown["mutating"] = True
        if self.idempotent:
            shown["idempotent"] = True
        if self.source_kind is not None:
            shown["sourceKind"] = self.source_kind
        return shown


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model and the profile see it; `input_schema` is canonical JSON Schema and is never mutated."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Json]
    annotations: Annotations = field(default_factory=Annotations)
    source: str = "builtin"

    @property
    def model_name(self) -> str:
        """The provider-safe alias."""
        return alias_of(self.name)

    def to_json(self) -> dict[str, Json]:
        return {
            "name": self.name, "modelName": self.model_name, "title": self.title, "description": self.description,
            "inputSchema": self.input_schema, "annotations": self.annotations.to_json(), "source": self.source,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request in canonical words; the transcript is whole in every round."""

    payload: dict[str, Json]
    """Model settings of the run (source, model, sampling, endpoint); never prompt messages."""
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Json = None
    """None means "auto" when there are tools."""


@dataclass(frozen=True, slots=True)
class ModelResponse:
    message: Message
    """Role assistant; appended unchanged to the next request."""
    finish: Finish = Finish.STOP
    finish_reason: str | None = None
    """The provider's own word."""
    id: str | None = None
    model: str | None = None
    usage: Json = None
    source: str | None = None
    format: str | None = None

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(part.call for part in self.message.parts if isinstance(part, ToolCallPart))

    @property
    def text(self) -> str:
        return self.message.text

    @property
    def reasoning(self) -> tuple[ReasoningPart, ...]:
        return tuple(part for part in self.message.parts if isinstance(part, ReasoningPart) and part.text.strip())

    def metadata_json(self) -> dict[str, Json]:
        return {
            "id": self.id, "model": self.model, "usage": self.usage, "chatCompletionSource": self.source,
            "providerFormat": self.format, "finishReason": str(self.finish), "rawFinishReason": self.finish_reason,
        }  # fmt: skip


def arguments_text(call: ToolCall) -> str:
    """The call's arguments as JSON text that holds an object, whatever the model sent.

    Servers refuse argument text that is no object, so text that does not parse travels inside one.
    """
    if is_object(call.arguments) and not call.arguments_invalid:
        return dumps(call.arguments).decode()
    return dumps({"_invalid_arguments": call.arguments}).decode()
