"""One lock a folder, for what its users share: between threads, and between processes where the system can."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl

LOCK_FILE = "persist.lock"
"""Of a chat's folder; other folders name theirs."""

_THREADS: dict[Path, threading.Lock] = {}


@contextmanager
def folder_lock(folder: Path, name: str = LOCK_FILE) -> Generator[None]:
    """Hold the folder's lock; waits for whoever has it. The folder is made if missing. Raises OSError.

    Windows has no such lock on files: there it holds between the threads of one process only.
    """
    with _THREADS.setdefault(folder.resolve() / name, threading.Lock()):
        descriptor = _held(folder, name)
        try:
            yield
        finally:
            os.close(descriptor)  # which lets the lock go


def _held(folder: Path, name: str) -> int:
    """The lock file, locked: who held it before may have removed the folder, and then the lock is that of a new one."""
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except FileNotFoundError:  # the folder went just now
            continue
        try:
            if sys.platform != "win32":
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _stands(descriptor, folder / name):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _stands(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
