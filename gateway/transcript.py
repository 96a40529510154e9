"""The order that every provider asks of a transcript: each call answered exactly once, before anything else is said."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph.errors import ModelFailed
from ..graph.messages import Role
from .outgoing import Fragment


def check(fragments: Sequence[Fragment]) -> None:
    """Raises ModelFailed `chat_completion.invalid_tool_transcript` for a call without its one answer, or an orphan."""
    waiting: set[str] = set()
    for place, fragment in enumerate(fragments):
        if fragment.role is Role.TOOL:
            if fragment.answers not in waiting:
                raise _invalid(f"message {place + 1} answers no call of the turn before it", fragment.answers)
            waiting.discard(fragment.answers)
            continue
        if waiting:
            raise _invalid(f"message {place + 1} comes before every call is answered", min(waiting))
        waiting = set(fragment.calls)
        if len(waiting) != len(fragment.calls):
            raise _invalid(f"message {place + 1} asks for two calls under one id", fragment.calls[0])
    if waiting:
        raise _invalid("the last calls are not all answered", min(waiting))


def _invalid(what: str, call_id: str | None) -> ModelFailed:
    return ModelFailed(
        f"the transcript can't be sent: {what}",
        code="chat_completion.invalid_tool_transcript",
        details={"callId": call_id},
    )
