"""The transcript as it goes to the model: every message encoded once, and kept as bytes.

Encoding round n then costs copying: old turns are fragments that are joined, never printed anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..gateway.connections.connection import Connection
from ..gateway.gateway import ModelGateway, native_left
from ..gateway.outgoing import Fragment
from ..graph.jsontext import Json
from ..graph.messages import Message, ModelResponse, Role, TextPart, ToolCallPart, ToolResult, ToolResultPart


@dataclass(frozen=True, slots=True)
class Turn:
    """An answer, the digests of its native blocks as they were taken when it came, and the provider's state after it."""

    answer: ModelResponse
    born: tuple[str, ...]
    provider_state: dict[str, Json]


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """What a request to one connection leaves out of what another one sent us."""

    native_blocks: int
    turns: int
    """Answers whose native blocks are left out; their text, calls and results are sent."""
    tool_calls: int
    """Calls of those answers."""


class Conversation:
    """Messages of the opening, then of every round that is closed (answered in full)."""

    def __init__(self, gateway: ModelGateway, connection: Connection, opening: Sequence[Message]) -> None:
        self._gateway = gateway
        self._connection = connection
        self._messages: list[tuple[Message, tuple[str, ...] | None]] = []
        self._fragments: list[Fragment] = []
        self.closed_rounds = 0
        """Rounds whose answer and results stand in the transcript."""
        self.turn: Turn | None = None
        """The answer of the round under way."""
        self.results: dict[str, ToolResult] = {}
        """Results of the round under way, by call id."""
        for message in opening:
            self._add(message)

    @property
    def fragments(self) -> Sequence[Fragment]:
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

    def move_to(self, connection: Connection) -> None:
        """From here on the transcript goes to this connection; where its origin is another, all is encoded anew."""
        moved = (connection.format, connection.origin) != (self._connection.format, self._connection.origin)
        self._connection = connection
        if moved:
            self._fragments = [self._gateway.encode_turn(connection, message, born) for message, born in self._messages]

    def left_behind(self) -> LeftBehind:
        """What of earlier answers this connection is not sent, as it came from another one."""
        left = [(message, native_left(message, self._connection)) for message, _ in self._messages]
        lost = [message for message, count in left if count]
        asked = sum(isinstance(part, ToolCallPart) for message in lost for part in message.parts)
        return LeftBehind(sum(count for _, count in left), len(lost), asked)

    def _add(self, message: Message, born: tuple[str, ...] | None = None) -> None:
        self._fragments.append(self._gateway.encode_turn(self._connection, message, born))
        self._messages.append((message, born))
