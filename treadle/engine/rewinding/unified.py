"""Two texts as a unified diff that `patch -p1` and `git apply` take; its time is bounded whatever the texts hold. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import NamedTuple

CONTEXT = 3
"""Unchanged lines shown around a change."""
_EMPTY, _ABSENT = "e69de29", "0000000"
"""How git names the content of an empty file, and of none."""
_GAP_PAIRS = 40_000
"""Up to so many pairs of lines, a stretch in which no line is unique is compared line by line."""
_ALL_PAIRS = 1_000_000
"""The same for all such stretches of a text together."""


@dataclass(frozen=True, slots=True)
class TextDiff:
    text: str
    """Empty where there is nothing to tell."""
    coarse: bool = False
    """Somewhere a stretch of the old text is replaced whole, although lines in it may be the same."""


def text_diff(path: str, before: str | None, after: str | None) -> TextDiff:
    """How to come from one text to the other; None where there is no file. Lines end at a line feed and nowhere else."""
    if before == after:
        return TextDiff("")
    old, new = _lines(before or ""), _lines(after or "")
    matching = _Matching(old, new)
    hunks = [line for hunk in _hunks(_changes(matching.blocks())) for line in _hunk(old, new, hunk)]
    return TextDiff("".join([*_header(path, before, after, bool(hunks)), *hunks]), matching.coarse)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _header(path: str, before: str | None, after: str | None, has_hunks: bool) -> Iterator[str]:
    yield f"diff --git a/{path} b/{path}\n"
    if before is None:
        yield "new file mode 100644\n"
    if after is None:
        yield "deleted file mode 100644\n"
    if not has_hunks:  # an empty file comes or goes: patch removes it only if it is told that it is empty
        yield f"index {_ABSENT}..{_EMPTY}\n" if before is None else f"index {_EMPTY}..{_ABSENT}\n"
    else:
        end = "\t\n" if " " in path else "\n"  # a name with a space is ended by a tab, or patch cuts it short
        yield "--- /dev/null\n" if before is None else f"--- a/{path}{end}"
        yield "+++ /dev/null\n" if after is None else f"+++ b/{path}{end}"


class _Block(NamedTuple):
    """`size` lines that are the same, from `old` on and from `new` on."""

    old: int
    new: int
    size: int


class _Change(NamedTuple):
    """Lines from `old` to before `old_end` become those from `new` to before `new_end`."""

    old: int
    old_end: int
    new: int
    new_end: int


def _changes(blocks: Sequence[_Block]) -> Iterator[_Change]:
    old = new = 0
    for block in blocks:
        if (old, new) != (block.old, block.new):
            yield _Change(old, block.old, new, block.new)
        old, new = block.old + block.size, block.new + block.size


def _hunks(changes: Iterator[_Change]) -> Iterator[list[_Change]]:
    """Changes whose context would meet stand in one hunk."""
    hunk: list[_Change] = []
    for change in changes:
        if hunk and change.old - hunk[-1].old_end > 2 * CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _hunk(old: list[str], new: list[str], changes: list[_Change]) -> Iterator[str]:
    before = min(CONTEXT, changes[0].old)
    after = min(CONTEXT, len(old) - changes[-1].old_end)
    first, end = changes[0].old - before, changes[-1].old_end + after
    new_first, new_end = changes[0].new - before, changes[-1].new_end + after
    yield f"@@ -{_range(first, end)} +{_range(new_first, new_end)} @@\n"
    at = first
    for change in changes:
        yield from _marked(" ", old[at : change.old])
        yield from _marked("-", old[change.old : change.old_end])
        yield from _marked("+", new[change.new : change.new_end])
        at = change.old_end
    yield from _marked(" ", old[at:end])


def _marked(mark: str, lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"


def _range(first: int, end: int) -> str:
    """Lines are counted from 1; of no lines the one before is named."""
    count = end - first
    if count == 1:
        return str(first + 1)
    return f"{first + 1 if count else first},{count}"


@dataclass(slots=True)
class _Matching:
    """Which lines stay: first those around the change, then those unique on both sides, then what lies between these."""

    old: list[str]
    new: list[str]
    coarse: bool = False
    _pairs_left: int = _ALL_PAIRS
    _found: list[_Block] = field(default_factory=list[_Block])
    _open: list[_Change] = field(default_factory=list[_Change])

    def blocks(self) -> list[_Block]:
        """In order, none empty but the last, which stands at the end of both."""
        self._open.append(_Change(0, len(self.old), 0, len(self.new)))
        while self._open:
            stretch = self._trimmed(self._open.pop())
            if stretch.old < stretch.old_end and stretch.new < stretch.new_end:
                self._divide(stretch)
        return [*sorted(self._found), _Block(len(self.old), len(self.new), 0)]

    def _trimmed(self, stretch: _Change) -> _Change:
        old, old_end, new, new_end = stretch
        while old < old_end and new < new_end and self.old[old] == self.new[new]:
            old, new = old + 1, new + 1
        self._keep(stretch.old, stretch.new, old - stretch.old)
        while old < old_end and new < new_end and self.old[old_end - 1] == self.new[new_end - 1]:
            old_end, new_end = old_end - 1, new_end - 1
        self._keep(old_end, new_end, stretch.old_end - old_end)
        return _Change(old, old_end, new, new_end)

    def _divide(self, stretch: _Change) -> None:
        at, new_at = stretch.old, stretch.new
        anchors = self._anchors(stretch)
        for old, new in anchors:
            self._open.append(_Change(at, old, new_at, new))
            self._keep(old, new, 1)
            at, new_at = old + 1, new + 1
        rest = _Change(at, stretch.old_end, new_at, stretch.new_end)
        if anchors:
            self._open.append(rest)
        else:
            self._compare(rest)

    def _anchors(self, stretch: _Change) -> list[tuple[int, int]]:
        """The most lines that are unique in both stretches and come in the same order."""
        places = _unique(self.new, stretch.new, stretch.new_end)
        pairs = [
            (place, places[line])
            for line, place in _unique(self.old, stretch.old, stretch.old_end).items()
            if line in places
        ]
        return _ascending(pairs)

    def _compare(self, stretch: _Change) -> None:
        old, old_end, new, new_end = stretch
        pairs = (old_end - old) * (new_end - new)
        if pairs > min(_GAP_PAIRS, self._pairs_left):
            self.coarse = self.coarse or not set(self.old[old:old_end]).isdisjoint(self.new[new:new_end])
            return
        self._pairs_left -= pairs
        matcher = SequenceMatcher(None, self.old[old:old_end], self.new[new:new_end], autojunk=False)
        for match in matcher.get_matching_blocks():
            self._keep(old + match.a, new + match.b, match.size)

    def _keep(self, old: int, new: int, size: int) -> None:
        if size:
            self._found.append(_Block(old, new, size))


def _unique(lines: list[str], start: int, end: int) -> dict[str, int]:
    """Where each line stands that stands there once, in their order."""
    counts = Counter(lines[start:end])
    return {lines[place]: place for place in range(start, end) if counts[lines[place]] == 1}


def _ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest run of pairs that ascends in both, of pairs that ascend in the first (patience sorting)."""
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, place) in enumerate(pairs):
        pile = bisect_left(tops, place)
        before.append(ends[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [place]
        ends[pile : pile + 1] = [index]
    found: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]
