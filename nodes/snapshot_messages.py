"""A chat payload in canonical words: its prompt as messages, the rest as the model settings of the run."""

from __future__ import annotations

from collections.abc import Iterator

from ..graph.jsontext import Json, dumps, is_list, is_object
from ..graph.messages import MediaPart, Message, NativePart, Part, Role, TextPart

MARKER_KEY = "_tauritavern_agent_prompt_marker"
MARKER = "agentSystemPrompt"
CONTENT_PART = "openai.content_part"
"""The provider name of content parts that are kept as they came."""

_RUN_OWNED = frozenset({"messages", "prompt", "tools", "tool_choice", "stream"})
_ROLES = {role.value: role for role in Role} | {"function": Role.TOOL}
_MEDIA = {"image_url": "image/*", "input_audio": "audio/*", "video_url": "video/*", "file": "application/octet-stream"}


def prompt_of(payload: dict[str, Json]) -> list[Json] | str | None:
    """The payload's `messages` (a list or a text), else its `prompt` (a text); None where there is no such prompt."""
    messages = payload.get("messages")
    if messages is None:
        prompt = payload.get("prompt")
        return prompt if isinstance(prompt, str) else None
    return messages if is_list(messages) or isinstance(messages, str) else None


def messages_of(payload: dict[str, Json], system_prompt: str) -> tuple[Message, ...]:
    """The payload's prompt as canonical messages, with the agent system prompt in its place.

    The message that bears the marker is replaced by one system message. Where no message bears it, the host has either
    put the text in already (a message holds exactly it, and nothing is added) or knows nothing of agents: then the
    system prompt comes first, so that no run goes on without it. The payload is one that passed the start checks.
    """
    instruction = Message(Role.SYSTEM, (TextPart(system_prompt),))
    prompt = prompt_of(payload)
    if isinstance(prompt, str):
        return instruction, Message(Role.USER, (TextPart(prompt),))
    entries = prompt or []
    messages = tuple(instruction if MARKER_KEY in entry else _message(entry) for entry in entries)
    placed = any(message.text == system_prompt for message in messages)
    return messages if placed else (instruction, *messages)


def settings_of(payload: dict[str, Json]) -> dict[str, Json]:
    """The payload without its prompt and tools: never streamed, source `openai` where none is named.

    A setting that is null is the same as one that is not there.
    """
    settings = {key: value for key, value in payload.items() if key not in _RUN_OWNED and value is not None}
    return {"chat_completion_source": "openai", **settings, "stream": False}


def role_of(entry: dict[str, Json]) -> Role:
    """The role, trimmed and in lower case; what is unknown or missing is the user's."""
    role = entry.get("role")
    return _ROLES.get(role.strip().lower(), Role.USER) if isinstance(role, str) else Role.USER


def _message(entry: dict[str, Json]) -> Message:
    name = entry.get("name")
    return Message(role_of(entry), tuple(_parts(entry.get("content"))), name if isinstance(name, str) else None)


def _parts(content: Json) -> Iterator[Part]:
    if isinstance(content, str):
        yield TextPart(content)
    elif is_list(content):
        yield from map(_part, content)
    elif content is not None:
        yield TextPart(dumps(content).decode())


def _part(item: Json) -> Part:
    match item:
        case str() as text:
            return TextPart(text)
        case {"type": "text", "text": str() as text}:
            return TextPart(text)
        case {"type": "image_url" | "input_audio" | "video_url" | "file" as kind}:
            return MediaPart(_mime_type(str(kind), item), item)
        case other:
            return NativePart(CONTENT_PART, dumps(other))


def _mime_type(kind: str, item: dict[str, Json]) -> str:
    """What the part itself says: a data URL's type, an audio format; else the kind's general type."""
    media = item.get(kind)
    fields = media if is_object(media) else {}
    if isinstance(fields.get("format"), str):
        return f"audio/{fields['format']}"
    source = fields.get("url") or fields.get("file_data")
    if isinstance(source, str) and source.startswith("data:"):
        return source[len("data:") :].split(",", 1)[0].split(";", 1)[0] or _MEDIA[kind]
    return _MEDIA[kind]
