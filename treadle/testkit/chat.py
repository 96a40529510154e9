"""A chat in memory: what a tool's test reads and searches instead of a chat file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..graph.errors import NotFound
from ..graph.ports import ChatHit, ChatMessage, ChatRole


class MemoryChat:
    """A chat that is gone with the process, for tests. It is searched in the plainest way there is."""

    def __init__(self, *messages: ChatMessage) -> None:
        self.messages: list[ChatMessage] | None = list(messages)
        """Set it to None, and there is no such chat."""

    def count(self) -> int:
        return len(self._there())

    def read(self, indexes: Collection[int]) -> Mapping[int, ChatMessage]:
        return {index: message for index, message in enumerate(self._there()) if index in set(indexes)}

    def search(
        self, words: Mapping[str, int], within: range, *, role: ChatRole | None = None, limit: int
    ) -> Sequence[ChatHit]:
        hits: list[ChatHit] = []
        for index, message in enumerate(self._there()):
            text = message.text.lower()
            weight = sum(weight for word, weight in words.items() if word in text)
            if weight and index in within and role in (None, message.role):
                hits.append(ChatHit(index, weight))
        return sorted(hits, key=lambda hit: (hit.weight, hit.index), reverse=True)[:limit]

    def _there(self) -> list[ChatMessage]:
        if self.messages is None:
            raise NotFound("There is no such chat.", code="chat.not_found")
        return self.messages
