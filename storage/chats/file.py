"""SillyTavern chat files (JSONL), read line by line and saved so that no line changes but the one meant.

Line 1 is the header with `chat_metadata`; each further line is a message; blank lines count for nothing. A line ends
at a line feed and nowhere else: U+2028 and its like are data. The file's own ways (byte order mark, CRLF, blank
lines, no newline at the end) are kept.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ...graph.errors import HostFailed, InvalidData, NotFound
from ...graph.jsontext import Json, dumps, is_object, loads
from ..disk import Disk, RealDisk, is_temporary, storage_failed

if sys.platform != "win32":
    import fcntl

Message = dict[str, Json]

_BOM = b"\xef\xbb\xbf"
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class ChatCursor:
    """Where a change begins, in bytes, and the file's signature when that was read."""

    offset: int
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class ChatSignature:
    """Which file it was, and what the system told of its last change: with another one, its bytes may be others."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int


@dataclass(frozen=True, slots=True)
class ChatLine:
    """A message's line as it lies in the file: `data` is without its line end."""

    index: int
    """Zero-based; the header and blank lines are not counted. The header's own is -1."""
    offset: int
    data: bytes


class ChatFile:
    """One chat's file. Everything here blocks: call it in a thread."""

    def __init__(self, path: Path, disk: Disk | None = None) -> None:
        self.path = path
        self._disk = disk or RealDisk()

    @contextmanager
    def opened(self, *, to_save: bool = False) -> Generator[OpenChat]:
        """The chat, held still against other Treadle hosts, in this process and in others, while the block runs.

        The lock is on the chat file itself, so nothing is left beside it; readers share it and who comes `to_save`
        is alone (on Windows only the cursor guards). Raises NotFound and StorageFailed.
        """
        path = self.path.resolve()
        try:
            with _locked(path, exclusive=to_save) as handle:
                yield OpenChat(self.path, path, handle, self._disk)
        except FileNotFoundError as error:
            raise NotFound(f"There is no chat file {self.path}.") from error
        except OSError as error:
            raise storage_failed(error, f"The chat file {self.path} could not be opened") from error


class OpenChat:
    """A chat as it stood when it was opened. It is saved at most once; every save checks the signature first."""

    def __init__(self, path: Path, target: Path, handle: BinaryIO, disk: Disk) -> None:
        self._path = path
        self._target = target
        self._handle = handle
        self._disk = disk
        status = os.fstat(handle.fileno())
        self._size = status.st_size
        self._modified_ns = status.st_mtime_ns

    def signature(self) -> ChatSignature:
        """Of the open file as it is now."""
        status = os.fstat(self._handle.fileno())
        return ChatSignature(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)

    def cursor(self, line: ChatLine | None = None) -> ChatCursor:
        """The place of `line`, or of the file's end."""
        return ChatCursor(self._size if line is None else line.offset, self._size, self._modified_ns)

    def header(self) -> Message:
        """The first line's object; raises InvalidData if it is damaged or not a chat's header."""
        line = next(self._lines(), None)
        if line is None:
            raise InvalidData(f"The chat file {self._path} is empty: line 1 must be the chat's header.")
        value = self.message(line)
        metadata = value.get("chat_metadata")
        known = "user_name" in value or "character_name" in value
        if "mes" in value or not (isinstance(metadata, dict) or (metadata is None and known)):
            where = f"Line {self._number(line.offset)} of the chat file {self._path}"
            raise InvalidData(f"{where} is not a chat header: it has no chat_metadata object.")
        return value

    def lines(self, first: int = 0, stop: int | None = None) -> Iterator[ChatLine]:
        """The messages from `first` to before `stop`, unparsed; one line is in memory at a time."""
        for line in self._lines():
            if stop is not None and line.index >= stop:
                return
            if line.index >= first:
                yield line

    def newest_first(self) -> Iterator[Message]:
        """The messages from the last to the first, read backwards from the file's tail."""
        start = next((line.offset + len(line.data) for line in self._lines()), self._size)
        for offset, data in _backwards(self._handle, start, self._size):
            if data.strip():
                yield self.message(ChatLine(0, offset, data))

    def message(self, line: ChatLine) -> Message:
        """The line's object; raises InvalidData naming the line and the file."""
        data = line.data.removeprefix(_BOM) if line.offset == 0 else line.data
        try:
            value = loads(data)
        except (ValueError, RecursionError) as error:
            raise self.damaged(line, f"is not JSON ({error})") from error
        if not is_object(value):
            raise self.damaged(line, "is not a JSON object")
        return value

    def damaged(self, line: ChatLine, fault: str) -> InvalidData:
        """The error that names the line, the file, and what is wrong: `line 7 <fault>`."""
        number = self._number(line.offset)
        code = "agent.chat_message_invalid_json" if line.index >= 0 else "agent.chat_header_invalid"
        return InvalidData(
            f"The chat file {self._path} is damaged: line {number} {fault}. "
            "Mend or remove that line, then try again; the file was not changed.",
            code=code,
            details={"line": number},
        )

    def raw_lines(self, offset: int = 0) -> Iterator[bytes]:
        """The lines from a byte offset on as they lie in the file: blank ones too, each with its line end."""
        self._handle.seek(offset)
        while raw := self._handle.readline():
            yield raw

    def read_range(self, offset: int, size: int) -> bytes:
        """At most `size` bytes from an offset."""
        self._handle.seek(offset)
        return self._handle.read(size)

    def append(self, cursor: ChatCursor, message: Message) -> None:
        """One more line after the last. Raises HostFailed `commit.cursor_integrity` or `commit.save_failed`.

        Here too the file is replaced whole: half a line at its end would be a damaged chat, and nobody's to mend.
        """
        data = dumps(message)
        newline = self._newline()
        whole = self._whole()
        self._save(cursor, whole + (data + newline if whole.endswith(b"\n") else newline + data))

    def rewrite(self, cursor: ChatCursor, message: Message) -> None:
        """Another message in the line at the cursor; the bytes before and after it stay. Raises as `append`."""
        whole = self._whole()
        end = whole.find(b"\n", cursor.offset)
        old = whole[cursor.offset :] if end < 0 else whole[cursor.offset : end]
        after = cursor.offset + len(old.removesuffix(b"\r"))
        self._save(cursor, whole[: cursor.offset] + dumps(message) + whole[after:])

    def remove_last(self, cursor: ChatCursor) -> None:
        """The message in the line at the cursor goes, with the line end that `append` gave it. Raises as `rewrite`.

        Lines after it must be blank: they stay.
        """
        whole = self._whole()
        end = whole.find(b"\n", cursor.offset) + 1
        if end:
            kept = whole[: cursor.offset] + whole[end:]
        else:
            kept = whole[: cursor.offset].removesuffix(b"\n").removesuffix(b"\r")
        self._save(cursor, kept)

    def _whole(self) -> bytes:
        self._handle.seek(0)
        return self._handle.read()

    def _save(self, cursor: ChatCursor, whole: bytes) -> None:
        """Put a new file in the chat's place, so that a crash leaves the old chat or the new one."""
        self._check(cursor)
        try:
            self._sweep()
            self._disk.replace(self._target, whole, durable=True)
        except OSError as error:
            reason = error.strerror or str(error)
            raise HostFailed(
                f"The chat file {self._path} could not be saved ({reason}); the chat is as it was.",
                code="commit.save_failed",
            ) from error

    def _lines(self) -> Iterator[ChatLine]:
        offset = 0
        index = -1
        for raw in self.raw_lines():
            if raw.strip():
                yield ChatLine(index, offset, raw.removesuffix(b"\n").removesuffix(b"\r"))
                index += 1
            offset += len(raw)

    def _newline(self) -> bytes:
        """How this file ends its lines: as the first one does."""
        self._handle.seek(0)
        return b"\r\n" if self._handle.readline().endswith(b"\r\n") else b"\n"

    def _check(self, cursor: ChatCursor) -> None:
        status = self._target.stat()
        if (cursor.size, cursor.modified_ns) != (status.st_size, status.st_mtime_ns):
            raise HostFailed(
                f"The chat file {self._path} was changed by another program while it was being saved; "
                "nothing was written.",
                code="commit.cursor_integrity",
            )

    def _sweep(self) -> None:
        """Remove what a save that was killed half-way left beside the chat."""
        for path in self._target.parent.iterdir():
            if path.name.startswith(f"{self._target.name}.") and is_temporary(path.name):
                self._disk.remove(path)

    def _number(self, offset: int) -> int:
        """The one-based number of the line at a byte offset."""
        self._handle.seek(0)
        number = 1
        while offset > 0 and (block := self._handle.read(min(offset, _BLOCK))):
            number += block.count(b"\n")
            offset -= len(block)
        return number


@contextmanager
def _locked(path: Path, *, exclusive: bool) -> Generator[BinaryIO]:
    """The file, locked under the name it has now: a save may have put another in its place while we waited."""
    while True:
        with path.open("r+b" if exclusive else "rb") as handle:
            if sys.platform != "win32":
                fcntl.flock(handle, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
            if os.path.samestat(os.fstat(handle.fileno()), path.stat()):
                yield handle
                return


def _backwards(handle: BinaryIO, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """(offset, bytes without line end) of each line between two offsets, last first."""
    held: list[bytes] = []  # the blocks of a line whose beginning is not found yet, last first
    while end > start:
        size = min(_BLOCK, end - start)
        end -= size
        handle.seek(end)
        *rest, last = handle.read(size).split(b"\n")
        if not rest:
            held.append(last)
            continue
        tail = b"".join([last, *reversed(held)])
        offset = end + size - len(last)
        yield offset, tail.removesuffix(b"\r")
        for part in reversed(rest[1:]):
            offset -= len(part) + 1
            yield offset, part.removesuffix(b"\r")
        held = [rest[0]]
    if held:
        yield start, b"".join(reversed(held)).removesuffix(b"\r")
