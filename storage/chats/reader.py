"""A chat file as the run's tools read it: messages by their indexes, and the best ones for the words of a query."""

from __future__ import annotations

import threading
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import nlargest
from itertools import compress, repeat
from operator import contains

from ...graph.errors import NotFound
from ...graph.jsontext import Json
from ...graph.ports import ChatHit, ChatMessage, ChatRole
from .blocks import ChatBlocks, Stretch, text_in
from .file import ChatFile, ChatLine, Message, OpenChat
from .messages import role_of


class FileChatReader:
    """Implements `ChatReader`. What it has read it keeps in memory: the texts that were searched, in lower case.

    The file is held open for the length of a call, no longer, and is never changed.
    """

    def __init__(self, file: ChatFile) -> None:
        self._file = file
        self._blocks = ChatBlocks()
        self._lock = threading.Lock()

    @property
    def parsed(self) -> int:
        """How many lines were parsed as messages so far, by all calls together."""
        return self._blocks.parsed

    def count(self) -> int:
        with self._opened():
            return self._blocks.count

    def read(self, indexes: Collection[int]) -> Mapping[int, ChatMessage]:
        with self._opened() as chat:
            there = [index for index in sorted(set(indexes)) if 0 <= index < self._blocks.count]
            return {index: _shown(chat, *self._blocks.message(chat, index)) for index in there}

    def search(
        self, words: Mapping[str, int], within: range, *, role: ChatRole | None = None, limit: int
    ) -> Sequence[ChatHit]:
        whole = sum(words.values())
        heaviest_first = dict(sorted(words.items(), key=lambda word: -word[1]))
        best: list[tuple[int, int]] = []  # (weight, index), best first
        least = 0  # what a message must weigh more than to be among them, being older
        with self._opened() as chat:
            for stretch in self._blocks.newest_first(chat, within if words else range(0)):
                found = _heavier(stretch, heaviest_first, whole, least)
                if role is not None:
                    found = (each for each in found if stretch.roles[each[1] - stretch.first] == role)
                best = nlargest(limit, [*best, *found])
                if len(best) == limit:
                    least = best[-1][0]
                if least == whole:
                    break
        return [ChatHit(index, weight) for weight, index in best]

    @contextmanager
    def _opened(self) -> Generator[OpenChat]:
        with self._lock:
            try:
                with self._file.opened() as chat:
                    self._blocks.refresh(chat)
                    try:
                        yield chat
                    finally:
                        if not self._blocks.is_still(chat):
                            self._blocks.forget()
            except NotFound as error:
                self._blocks.forget()
                raise NotFound(error.message, code="chat.not_found") from error


def _heavier(stretch: Stretch, words: Mapping[str, int], whole: int, least: int) -> Iterator[tuple[int, int]]:
    """(weight, index) of the messages that weigh more than `least`; `words` are those of the most weight first."""
    weights = [0] * len(stretch.texts)
    places: Sequence[int] = range(len(weights))
    texts = stretch.texts
    left = whole
    for word, weight in words.items():
        for place in compress(places, map(contains, texts, repeat(word))):
            weights[place] += weight
        left -= weight
        if left <= least:  # what holds too little by now can't get past `least`: it needs no further look
            places = [place for place in places if weights[place] + left > least]
            texts = [stretch.texts[place] for place in places]
    return ((weights[place], stretch.first + place) for place in places if weights[place] > least)


def _shown(chat: OpenChat, line: ChatLine, message: Message) -> ChatMessage:
    return ChatMessage(
        index=line.index,
        role=role_of(message),
        text=text_in(chat, line, message),
        name=_name(message.get("name")),
        send_date=_name(message.get("send_date")),
    )


def _name(value: Json) -> str | None:
    """A string as it is, and a whole number as its digits: old chats have dates in milliseconds. None else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None
