"""Fragments as the turns of a Claude request: user and assistant, results before words, native turns left alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...graph.errors import ModelFailed
from ...graph.messages import Role
from ..outgoing import Fragment
from ..wire import spliced
from .blocks import IMAGE, PLACEHOLDER

_OPENED = {role: b'{"role":"%b","content":' % role.value.encode() for role in (Role.USER, Role.ASSISTANT)}

_TOOL_TURN = (Role.ASSISTANT, Role.TOOL)

Place = tuple[int, int]
"""A block: the number of its turn, and its number in it."""


@dataclass(slots=True)
class Turn:
    role: Role
    blocks: list[bytes]
    native: bool = False
    """The one block is a whole content array, as it was received."""
    results: int = 0
    """How many tool results stand before everything else."""

    def pieces(self) -> list[bytes]:
        opened = _OPENED[self.role]
        if self.native:
            return [opened, *self.blocks, b"}"]
        return spliced(opened + b"[", self.blocks, b"]}")


def leading_system(fragments: Sequence[Fragment]) -> int:
    """How many system messages the transcript opens with."""
    return next((place for place, held in enumerate(fragments) if held.role is not Role.SYSTEM), len(fragments))


def system_blocks(fragments: Sequence[Fragment]) -> list[bytes]:
    """The text blocks of system messages; raises ModelFailed for an image, which has no place among them."""
    blocks = [block for fragment in fragments for block in fragment.items]
    if any(block.startswith(IMAGE) for block in blocks):
        raise ModelFailed(
            "a system message at the start holds an image; Claude takes images from a user message only",
            code="model.request_build_failed",
        )
    return blocks


def turns(fragments: Sequence[Fragment], cursor: int = 0) -> tuple[list[Turn], Place | None]:
    """The turns, and the last block that we wrote of the first `cursor` fragments.

    The first turn is the user's, and the last too unless it is native: a native turn at the end is to be gone on with.
    """
    joined = _Joined()
    seen: Place | None = None
    for count, fragment in enumerate(fragments, start=1):
        joined.add(fragment)
        if count == cursor:
            seen = joined.last_block()
    return joined.finished(), seen


def in_foreign_tool_turn(fragments: Sequence[Fragment]) -> bool:
    """Whether calls of the tool turn at the end were made elsewhere, so that no thinking stands before them."""
    for fragment in reversed(fragments):
        if fragment.calls and not fragment.native:
            return True
        if fragment.role not in _TOOL_TURN:
            return False
    return False


class _Joined:
    def __init__(self) -> None:
        self._turns: list[Turn] = []
        self._images: list[bytes] = []
        """Of assistant messages, which may hold none: they wait for the next words of the user."""
        self._echoed: frozenset[str] = frozenset()

    def add(self, fragment: Fragment) -> None:
        if fragment.role is Role.TOOL:
            turn = self._user()
            turn.blocks.insert(turn.results, fragment.items[-1 if fragment.answers in self._echoed else 0])
            turn.results += 1
        elif fragment.role is Role.ASSISTANT:
            self._echoed = fragment.echoed
            if fragment.native:
                self._add_native(fragment)
            else:
                self._add_assistant(fragment)
        else:
            self._user().blocks += fragment.items

    def last_block(self) -> Place | None:
        if not self._turns or self._turns[-1].native or not self._turns[-1].blocks:
            return None
        return len(self._turns) - 1, len(self._turns[-1].blocks) - 1

    def finished(self) -> list[Turn]:
        if self._images or not self._turns or (self._turns[-1].role is Role.ASSISTANT and not self._turns[-1].native):
            self._user()
        for turn in self._turns:
            if not turn.blocks:
                turn.blocks.append(PLACEHOLDER)
        return self._turns

    def _add_native(self, fragment: Fragment) -> None:
        if not fragment.items:
            return
        if not self._turns:
            self._user()
        self._turns.append(Turn(Role.ASSISTANT, list(fragment.items), native=True))

    def _add_assistant(self, fragment: Fragment) -> None:
        said = [item for item in fragment.items if not item.startswith(IMAGE)]
        if said:
            if not self._turns:
                self._user()
            self._assistant().blocks += said
        self._images += [item for item in fragment.items if item.startswith(IMAGE)]

    def _assistant(self) -> Turn:
        if self._turns[-1].role is not Role.ASSISTANT or self._turns[-1].native:
            self._turns.append(Turn(Role.ASSISTANT, []))
        return self._turns[-1]

    def _user(self) -> Turn:
        last = self._turns[-1] if self._turns else None
        if last is None or last.role is not Role.USER:
            last = Turn(Role.USER, [])
            self._turns.append(last)
        if self._images:
            last.blocks += self._images
            self._images.clear()
        return last
