"""The transcript as it goes to the model: every message encoded once, and kept as bytes.

Encoding round n then costs copying: old turns are fragments that are joined, never printed anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..gateway.connection import Connection
from ..gateway.gateway import ModelGateway
from ..graph.messages import Message, ModelResponse, Role, TextPart, ToolResult, ToolResultPart


@dataclass(frozen=True, slots=True)
class Turn:
    """An answer, and the digests of its native blocks as they were taken when it came."""

    answer: ModelResponse
    born: tuple[str, ...]


class Conversation:
    """Messages of the opening, then of every round that is closed (answered in full)."""

    def __init__(self, gateway: ModelGateway, connection: Connection, opening: Sequence[Message]) -> None:
        self._gateway = gateway
        self._connection = connection
        self._fragments: list[bytes] = []
        self.closed_rounds = 0
        """Rounds whose answer and results stand in the transcript."""
        self.turn: Turn | None = None
        """The answer of the round under way."""
        self.results: dict[str, ToolResult] = {}
        """Results of the round under way, by call id."""
        for message in opening:
            self._add(message)

    @property
    def fragments(self) -> Sequence[bytes]:
        return self._fragments

    @property
    def message_count(self) -> int:
        return len(self._fragments)

    def close_round(self, turn: Turn, results: Iterable[ToolResult], reminder: str | None = None) -> None:
        """Append the answer unchanged, then one tool message a result in call order, then a reminder if there is one.

        Raises NativeMetadataLost where a native block is not as it was received.
        """
        self._add(turn.answer.message, turn.born)
        for result in results:
            self._add(Message(Role.TOOL, (ToolResultPart(result),)))
        if reminder is not None:
            self._add(Message(Role.USER, (TextPart(reminder),)))
        self.closed_rounds += 1
        self.turn = None
        self.results = {}

    def _add(self, message: Message, born: tuple[str, ...] | None = None) -> None:
        self._fragments.append(self._gateway.encode_turn(self._connection, message, born))
