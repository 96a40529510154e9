"""Lines that a person types, read in a thread that holds up neither the event loop nor the end of the program."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from contextlib import suppress

if sys.platform != "win32":
    import termios

_CHUNK = 4096


class TypedLines:
    """Standard input, a line at a time; nothing is read before the first line is wanted."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._reading = False

    def forget(self) -> None:
        """Drop what was typed before: it answers no question that comes now."""
        while not self._lines.empty():
            self._lines.get_nowait()
        if sys.platform != "win32":
            with suppress(termios.error):
                termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)

    async def next(self) -> str | None:
        """The next line without its end; None once there are no more."""
        if not self._reading:
            self._reading = True
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._read, args=(loop, sys.stdin.fileno()), daemon=True).start()
        return await self._lines.get()

    def _read(self, loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
        rest = b""  # read from the system itself: Python's own reader is locked while it waits, and an exit needs it
        with suppress(OSError, RuntimeError):  # the terminal or the loop is gone
            while chunk := os.read(descriptor, _CHUNK):
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    loop.call_soon_threadsafe(self._lines.put_nowait, line.decode(errors="replace").rstrip("\r"))
            loop.call_soon_threadsafe(self._lines.put_nowait, None)
