"""Chats in the shape SillyTavern writes, and commits into them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from treadle.graph.jsontext import Json, dumps
from treadle.graph.ports import ChatHead, CommitRequest
from treadle.graph.text import sha256_bytes, sha256_text
from treadle.storage.chats.file import Message

STABLE_ID = "int-0001"
HEADER: Message = {
    "user_name": "Ada",
    "character_name": "Wren",
    "create_date": "2025-11-23@09h00m00s000ms",
    "chat_metadata": {"integrity": STABLE_ID, "note_prompt": ""},
}
DATE = "2025-11-23T09:00:00.000Z"
GREETING: Message = {
    "name": "Wren",
    "is_user": False,
    "is_system": False,
    "send_date": DATE,
    "mes": "The kettle sings.",
    "extra": {},
}
QUESTION: Message = {
    "name": "Ada",
    "is_user": True,
    "is_system": False,
    "send_date": DATE,
    "mes": "Who is at the door?",
    "extra": {},
}


def chat_bytes(*messages: Message, header: Message = HEADER) -> bytes:
    return b"".join(dumps(value) + b"\n" for value in (header, *messages))


def write_chat(folder: Path, *messages: Message, header: Message = HEADER) -> Path:
    """`<folder>/Wren/tea.jsonl`, which CHAT_REF names."""
    path = folder / "Wren" / "tea.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(chat_bytes(*messages, header=header))
    return path


CHAT_REF: dict[str, Json] = {"kind": "character", "characterId": "Wren", "fileName": "tea"}


def head_of(*messages: Message) -> ChatHead:
    return ChatHead(len(messages), sha256_bytes(dumps(messages[-1])) if messages else None)


def commit_request(
    text: str,
    head: ChatHead,
    *,
    seq: int = 1,
    message_id: str | None = None,
    mode: Literal["replace", "append"] = "replace",
    generation_type: str = "normal",
    run: str = "run_a",
    **payload: Json,
) -> CommitRequest:
    return CommitRequest(
        {
            "commitId": f"commit_{run}_{seq}",
            "callId": f"call-{seq}",
            "runId": run,
            "workspaceId": "chat_0123456789abcdef",
            "stableChatId": STABLE_ID,
            "chatRef": CHAT_REF,
            "generationType": generation_type,
            "profileId": "default-writer",
            "persistBaseStateId": None,
            "reason": None,
            "path": "output/main.md",
            "mode": mode,
            "sha256": sha256_text(text),
            "chars": len(text),
            "words": len(text.split()),
            "checkpointId": f"cp_{seq:06d}",
            **payload,
        },
        text,
        seq,
        head,
        message_id,
    )
