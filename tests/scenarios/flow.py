"""What a person reads of a run: its events and its edges, one a line, ids renamed in the order they appear."""

from __future__ import annotations

import re

from treadle.graph.events import Event
from treadle.graph.jsontext import Json, is_object
from treadle.graph.table import Edge

from .stage import Played

_SHOWN = (
    "status", "presentation", "source", "round", "attempt", "nextAttempt", "intervalMs", "maxAttempts", "callId", "name",
    "commitId", "commitCount", "mode", "path", "messageId", "checkpointId", "reason", "toolCallCount", "messageCount",
    "changeCount", "stateId", "updateId", "isError", "errorCode", "retryable", "userRetryable", "willRetry",
    "preservedCommitCount", "editedArgumentsRef", "fromRunId", "fromSeq", "atSeq", "epoch", "code", "message",
)  # fmt: skip
_RENAMED = re.compile(r"\b(call(?=_\w{8}\b)|commit|persist_update)_[0-9a-f]+\b")


def flow(played: Played) -> str:
    """The events, the edges, the chat's messages and the workspace's files."""
    text = "\n".join(
        [
            *_renamed([_line(event) for event in played.events]),
            "",
            *(edge_line(edge) for edge in played.edges),
            "",
            *(f"chat: {message['name']}: {message['mes']}" for message in played.messages),
            *(f"file: {path}: {text!r}" for path, text in played.files.items()),
        ]
    )
    return text.replace(played.root, "ROOT") if played.root else text


def edge_line(edge: Edge) -> str:
    return f"{edge.step} --{edge.outcome}--> {edge.next}"


def _line(event: Event) -> str:
    payload: dict[str, Json] = event.payload if is_object(event.payload) else {}
    payload = {**payload, **payload.get("request", {})} if event.type == "context_assembled" else payload
    told = " ".join(f"{key}={_value(payload[key])}" for key in _SHOWN if _is_told(payload.get(key)))
    return f"{event.seq:>3} {event.level[0].upper()} {event.type} {told}".rstrip()


def _is_told(value: Json) -> bool:
    return value is not None and value is not False


def _value(value: Json) -> str:
    text = str(value)
    return text if " " not in text else f"'{text}'"


def _renamed(lines: list[str]) -> list[str]:
    names: dict[str, str] = {}
    counts: dict[str, int] = {}

    def name(match: re.Match[str]) -> str:
        if match[0] not in names:
            counts[match[1]] = counts.get(match[1], 0) + 1
            names[match[0]] = f"{match[1]}#{counts[match[1]]}"
        return names[match[0]]

    return [_RENAMED.sub(name, line) for line in lines]
