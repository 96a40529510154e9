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
    folder.mkdir(parents=True, exist_ok=True)
    with _THREADS.setdefault(folder.resolve() / name, threading.Lock()):
        descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if sys.platform != "win32":
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)  # which lets the lock go
