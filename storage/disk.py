"""The disk as a port: every byte of a run goes through it, so that a test can make it full, broken or slow."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import sys
from pathlib import Path
from typing import Protocol

from ..graph.errors import StorageFailed

_NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT: int = getattr(os, "O_NONBLOCK", 0)  # opening a pipe must not hang
_TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.tmp\Z")
_NEW_MODE = 0o644
_LONGEST_STEM = 255 - len(".0123456789abcdef.tmp")  # names are at most 255 bytes


class Disk(Protocol):
    """Blocking file work; call it in a thread. Every method raises OSError as the system says it."""

    def read(self, path: Path) -> bytes: ...

    def read_range(self, path: Path, start: int, size: int) -> bytes:
        """At most `size` bytes from offset `start`."""
        ...

    def read_plain(self, path: Path) -> bytes:
        """As `read`, of a regular file only: ELOOP for a link, EISDIR for a folder, EINVAL for anything else."""
        ...

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        """The whole file at once: a sibling temporary file, renamed over the target, whose permissions it keeps.

        Parents are made.
        """
        ...

    def append(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        """`data` after the file's end; the file is made if missing, and its name waited for with it where `durable`.

        A failure may leave a part of it behind.
        """
        ...

    def truncate(self, path: Path, size: int) -> None: ...

    def make_folder(self, path: Path) -> None: ...

    def copy(self, source: Path, target: Path) -> None:
        """The file's bytes under a new name; parents are made."""
        ...

    def move(self, source: Path, target: Path) -> None:
        """Rename a file or folder over nothing, or a file over a file."""
        ...

    def remove(self, path: Path) -> None:
        """A file, or a folder with all below it; missing is fine."""
        ...


class RealDisk:
    def read(self, path: Path) -> bytes:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return _read_all(descriptor, os.fstat(descriptor).st_size)
        finally:
            os.close(descriptor)

    def read_range(self, path: Path, start: int, size: int) -> bytes:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(size)

    def read_plain(self, path: Path) -> bytes:
        if not _NO_FOLLOW and path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | _NO_FOLLOW | _NO_WAIT)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                code = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
                raise OSError(code, os.strerror(code), str(path))
            return _read_all(descriptor, status.st_size)
        finally:
            os.close(descriptor)

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        target = str(path)  # texts from here on: this is the hottest path, and a Path costs as much as a system call
        temporary = target[: -len(path.name)] + _temporary_name(path.name)
        try:
            _write_new(temporary, data, durable=durable, mode=_mode_of(path))
        except FileNotFoundError:
            made = missing_folders(path.parent)
            path.parent.mkdir(parents=True, exist_ok=True)
            if durable:
                for folder in made:
                    sync_folder(folder.parent)
            _write_new(temporary, data, durable=durable)
        try:
            os.replace(temporary, target)  # noqa: PTH105
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
        if durable:
            sync_folder(path.parent)

    def append(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _write_all(descriptor, data)
            if durable:
                os.fdatasync(descriptor) if hasattr(os, "fdatasync") else os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if durable:
            sync_folder(path.parent)  # its name too: an earlier append, which did not wait, may have made the file

    def truncate(self, path: Path, size: int) -> None:
        os.truncate(path, size)

    def make_folder(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)

    def copy(self, source: Path, target: Path) -> None:
        self.replace(target, source.read_bytes())

    def move(self, source: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        source.replace(target)

    def remove(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def storage_failed(error: OSError, what: str) -> StorageFailed:
    """The error for people: what was being done, and the system's own reason."""
    return StorageFailed(f"{what}: {error.strerror or error}", details={"errno": error.errno})


def missing_folders(folder: Path) -> list[Path]:
    """This folder and those above it that are not there yet, the deepest first."""
    return [each for each in (folder, *folder.parents) if not each.exists()]


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the platter. Windows does not open folders: there it does nothing."""
    if sys.platform != "win32":
        _sync(path, os.O_RDONLY)


def sync_file(path: Path) -> None:
    """Wait until a file's bytes are on the platter."""
    _sync(path, os.O_RDWR)


def is_temporary(name: str) -> bool:
    """The name is one that `replace` gives to a file it has not finished; a crash may leave it behind."""
    return _TEMPORARY.search(name) is not None


def _temporary_name(name: str) -> str:
    stem = name if len(name.encode("utf-8", "surrogateescape")) <= _LONGEST_STEM else ""
    return f"{stem}.{os.urandom(8).hex()}.tmp"


def _read_all(descriptor: int, expected: int) -> bytes:
    pieces: list[bytes] = []
    while piece := os.read(descriptor, expected + 1):
        pieces.append(piece)
        expected = max(expected - len(piece), 65536)
    return b"".join(pieces)


def _mode_of(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return _NEW_MODE


def _write_new(path: str, data: bytes, *, durable: bool, mode: int = _NEW_MODE) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        if mode != _NEW_MODE:
            Path(path).chmod(mode)  # what the umask took away
        _write_all(descriptor, data)
        if durable:
            os.fsync(descriptor)
    except OSError:
        Path(path).unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
