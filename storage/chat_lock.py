"""One lock a chat, for what runs of that chat share: between threads, and between processes where the system can."""

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

_THREADS: dict[Path, threading.Lock] = {}


@contextmanager
def chat_lock(chat_dir: Path, name: str = LOCK_FILE) -> Generator[None]:
    """Hold the chat's lock; waits for whoever has it. The folder is made if missing. Raises OSError.

    Another folder has a lock of another name.
    Windows has no such lock on files: there it holds between the threads of one process only.
    """
    chat_dir.mkdir(parents=True, exist_ok=True)
    with _THREADS.setdefault(chat_dir.resolve() / name, threading.Lock()):
        descriptor = os.open(chat_dir / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if sys.platform != "win32":
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)  # which lets the lock go
