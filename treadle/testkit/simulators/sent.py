"""What a server remembers of its own answers, block by block, so that it can tell whether they come back as they were."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Ledger:
    """Every answer that a server has sent: its blocks exactly as written, found by the ids and signatures in it."""

    def __init__(self) -> None:
        self._answers: dict[str, tuple[str, ...]] = {}
        self._blocks: set[str] = set()
        self._paused: set[tuple[str, ...]] = set()

    def record(self, marks: Iterable[str], blocks: Sequence[bytes], *, paused: bool = False) -> None:
        """`marks`: ids and signatures by which the answer is known again."""
        answer = tuple(block.decode("utf-8", "surrogatepass") for block in blocks)
        self._answers.update(dict.fromkeys(marks, answer))
        self._blocks.update(answer)
        if paused:
            self._paused.add(answer)

    def answer(self, mark: str | None) -> tuple[str, ...] | None:
        """The blocks of the answer that holds this id or signature."""
        return None if mark is None else self._answers.get(mark)

    def holds(self, block: str) -> bool:
        """Whether this very block was sent."""
        return block in self._blocks

    def was_paused(self, blocks: Sequence[str]) -> bool:
        """Whether these blocks end in an answer that was to be gone on with."""
        return any(tuple(blocks[-len(answer) :]) == answer for answer in self._paused)


def stands_in(answer: Sequence[str], blocks: Sequence[str]) -> bool:
    """Whether the answer's blocks stand in a message, all of them and side by side."""
    held, size = tuple(blocks), len(answer)
    return any(held[at : at + size] == tuple(answer) for at in range(len(held) - size + 1))
