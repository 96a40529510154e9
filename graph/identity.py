"""Who a run, its workspace and its calls are: ids, and names made from them.

Names used as identity are hashed, never cleaned: two chats whose names differ by one dot stay two.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Literal, NewType

from .errors import InvalidData, InvalidInput
from .jsontext import Json, dumps, is_object

RunId = NewType("RunId", str)
WorkspaceId = NewType("WorkspaceId", str)
CallId = NewType("CallId", str)  # a provider's own id: never made, cut or cleaned by us

ChatKind = Literal["character", "group"]

_SEGMENT = re.compile(r"[A-Za-z0-9_-]{1,128}")
STABLE_CHAT_ID_BYTES = 512
_SNAKE_NAMES = {"character_id": "characterId", "file_name": "fileName", "chat_id": "chatId"}


@dataclass(frozen=True, slots=True)
class ChatRef:
    """Where a chat is: a locator and a commit guard, not an identity."""

    kind: ChatKind
    character_id: str | None = None
    file_name: str | None = None
    chat_id: str | None = None

    def to_json(self) -> dict[str, str]:
        if self.kind == "group":
            return {"kind": "group", "chatId": self.chat_id or ""}
        return {"kind": "character", "characterId": self.character_id or "", "fileName": self.file_name or ""}


def chat_ref(value: Json) -> ChatRef:
    """A chatRef from its JSON; raises InvalidInput `agent.invalid_chat_ref` naming the field."""
    if not is_object(value):
        raise InvalidInput(
            "chatRef must be an object {kind, characterId, fileName} or {kind, chatId}", code="agent.invalid_chat_ref"
        )
    for snake, camel in _SNAKE_NAMES.items():
        if snake in value:
            raise InvalidInput(f"chatRef.{snake} must be written {camel}", code="agent.invalid_chat_ref")
    match value.get("kind"):
        case "character":
            return ChatRef("character", character_id=_name(value, "characterId"), file_name=_name(value, "fileName"))
        case "group":
            return ChatRef("group", chat_id=_name(value, "chatId"))
        case other:
            raise InvalidInput(
                f'chatRef.kind must be "character" or "group", not {other!r}', code="agent.invalid_chat_ref"
            )


def workspace_id(kind: ChatKind, stable_chat_id: str) -> WorkspaceId:
    """`chat_` and 16 hex digits of SHA-256 over `{"kind":…,"stableChatId":…}`."""
    digest = hashlib.sha256(dumps({"kind": kind, "stableChatId": stable_chat_id})).hexdigest()
    return WorkspaceId(f"chat_{digest[:16]}")


def stable_chat_id(value: str) -> str:
    """The id trimmed, 1 to 512 bytes; raises InvalidInput."""
    trimmed = value.strip()
    if not trimmed:
        raise InvalidInput("stableChatId is blank", code="agent.stable_chat_id_required")
    if len(trimmed.encode("utf-8", "surrogatepass")) > STABLE_CHAT_ID_BYTES:
        raise InvalidInput(
            f"stableChatId is longer than {STABLE_CHAT_ID_BYTES} bytes", code="agent.invalid_stable_chat_id"
        )
    return trimmed


def segment(value: str, what: str = "id") -> str:
    """`value`, if it may name a folder; raises InvalidData."""
    if not _SEGMENT.fullmatch(value):
        raise InvalidData(f"{what} {value!r} must be 1 to 128 of A-Z a-z 0-9 _ -")
    return value


def call_file_stem(call_id: str) -> str:
    """`call_` and 16 hex digits: the audit file of a call."""
    return "call_" + hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def round_file_stem(round_number: int) -> str:
    return f"round-{round_number:03d}"


def _name(value: dict[str, Json], key: str) -> str:
    name = value.get(key)
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"chatRef.{key} must be a non-blank string", code="agent.invalid_chat_ref")
    return name
