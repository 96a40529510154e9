"""A chat in blocks of messages, kept from one opening to the next: where each line begins, and what was read of it.

A block is kept only as long as its bytes are the same, by their SHA-256: messages added to a chat, a changed last
message or another header cost the last block, not the chat.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...graph.ports import ChatRole
from .file import ChatLine, ChatSignature, Message, OpenChat
from .messages import role_of

MESSAGES = 1024
"""In every block but the last."""


@dataclass(slots=True)
class Block:
    first: int
    """The index of its first message."""
    start: int
    """Where it lies in the file, in bytes."""
    size: int = 0
    offsets: array[int] = field(default_factory=lambda: array("Q"))
    """Where each message's line begins, from `start`."""
    sha256: bytes | None = None
    """Of its bytes, line ends and blank lines among them; None as long as lines may still be added to it."""
    texts: list[str] = field(default_factory=list[str])
    """In lower case, of its first messages: as far as they were asked for."""
    roles: list[ChatRole] = field(default_factory=list[ChatRole])
    """Beside the texts."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Messages of one block: `texts` and `roles` of the indexes from `first` on."""

    first: int
    texts: list[str]
    roles: list[ChatRole]


class ChatBlocks:
    """Every method but `forget` takes the chat as it is open now; `refresh` comes first."""

    def __init__(self) -> None:
        self.parsed = 0
        """How many lines were parsed as messages so far: what an index saves."""
        self._blocks: list[Block] = []
        self._signature: ChatSignature | None = None

    @property
    def count(self) -> int:
        """How many messages the chat has."""
        return self._blocks[-1].first + len(self._blocks[-1].offsets) if self._blocks else 0

    def refresh(self, chat: OpenChat) -> None:
        """Find the lines that are not known; raises InvalidData where the header is damaged."""
        signature = chat.signature()
        if signature == self._signature:
            return
        self._signature = None
        chat.header()
        self._find_lines(chat, self._keep_what_is_the_same(chat, _end_of_header(chat)))
        self._signature = signature

    def forget(self) -> None:
        self._blocks.clear()
        self._signature = None

    def is_still(self, chat: OpenChat) -> bool:
        """The file was not changed since `refresh`, so that what was read since belongs together."""
        return chat.signature() == self._signature

    def message(self, chat: OpenChat, index: int) -> tuple[ChatLine, Message]:
        """The line of a message that exists, parsed; raises InvalidData naming it where it is damaged."""
        block = self._blocks[index // MESSAGES]
        offset = block.start + block.offsets[index % MESSAGES]
        raw = next(chat.raw_lines(offset), b"")
        return self._parsed(chat, ChatLine(index, offset, raw.removesuffix(b"\n").removesuffix(b"\r")))

    def newest_first(self, chat: OpenChat, within: range) -> Iterator[Stretch]:
        """The texts of a range of indexes, the last block first; a block is parsed when it is come to.

        Raises InvalidData naming a line that is damaged or has no text.
        """
        for block in reversed(self._blocks):
            first = max(within.start - block.first, 0)
            stop = min(within.stop - block.first, len(block.offsets))
            if first < stop:
                self._parse(chat, block, stop)
                yield Stretch(block.first + first, block.texts[first:stop], block.roles[first:stop])

    def _keep_what_is_the_same(self, chat: OpenChat, start: int) -> int:
        """Drop the blocks from the first that is not the same; gives the end of those kept, in bytes."""
        for place, block in enumerate(self._blocks):
            if block.sha256 is None or block.sha256 != _sha256(chat.read_range(start, block.size)):
                del self._blocks[place:]
                break
            block.start = start
            start += block.size
        return start

    def _find_lines(self, chat: OpenChat, offset: int) -> None:
        block: Block | None = None
        digest = hashlib.sha256()
        for raw in chat.raw_lines(offset):
            if block is None:
                block, digest = Block(self.count, offset), hashlib.sha256()
                self._blocks.append(block)
            if not raw.isspace():
                block.offsets.append(offset - block.start)
            digest.update(raw)
            block.size += len(raw)
            offset += len(raw)
            if len(block.offsets) == MESSAGES and raw.endswith(b"\n"):  # else the line could still grow
                block.sha256, block = digest.digest(), None

    def _parse(self, chat: OpenChat, block: Block, stop: int) -> None:
        """See to the texts of the block's messages up to `stop`."""
        known = len(block.texts)
        if known >= stop:
            return
        begin = block.offsets[known]
        lines = chat.read_range(block.start + begin, block.size - begin).split(b"\n")
        filled = (line.removesuffix(b"\r") for line in lines if line and not line.isspace())
        for place, data in zip(range(known, stop), filled, strict=False):
            line = ChatLine(block.first + place, block.start + block.offsets[place], data)
            line, message = self._parsed(chat, line)
            block.texts.append(text_in(chat, line, message).lower())
            block.roles.append(role_of(message))

    def _parsed(self, chat: OpenChat, line: ChatLine) -> tuple[ChatLine, Message]:
        self.parsed += 1
        return line, chat.message(line)


def text_in(chat: OpenChat, line: ChatLine, message: Message) -> str:
    """The message's `mes`; raises InvalidData naming the line where it is no string."""
    text = message.get("mes")
    if not isinstance(text, str):
        raise chat.damaged(line, "has no text: its mes is not a string")
    return text


def _end_of_header(chat: OpenChat) -> int:
    end = 0
    for raw in chat.raw_lines():
        end += len(raw)
        if not raw.isspace():
            break
    return end


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
