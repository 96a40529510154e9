"""Processes that are forked from this one: those that play and may be killed, and the one that serves the model.

A fork has all modules imported already, so that a playing costs a fraction of a second. Windows has no fork.
"""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Final, Literal

from ...graph.errors import InvalidInput

LIMIT_S: Final = 120
"""A process that has not ended by then hangs."""
TROUBLE: Final = "trouble.txt"
"""What a process says that ended by a fault, or that hung: below the play's folder."""

Ended = Literal["killed", "done", "failed"]

_RUNTIME = ("treadle.graph.build", "treadle.nodes.steps", "treadle.storage.saver")
_FAILED: Final = 3


def warm() -> None:
    """Import what every playing needs; raises InvalidInput where this process can't be forked."""
    if not hasattr(os, "fork"):
        raise InvalidInput("the crash harness forks the processes that it kills, and this system has no fork")
    if threading.active_count() > 1:
        raise InvalidInput(
            "the crash harness forks, and this process has other threads; give it a process of its own: "
            "python -m treadle.testkit.crashes MODULE:PLAY"
        )
    for module in _RUNTIME:
        import_module(module)
    gc.collect()
    gc.freeze()  # a fork then shares what is here, instead of copying it at its first collection


def run_forked(work: Callable[[], None], folder: Path) -> Ended:
    """Do the work in a process of its own, and wait for its end."""
    pid = _forked(work, folder)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return "killed" if os.WTERMSIG(status) == signal.SIGKILL else "failed"
    return "done" if os.WEXITSTATUS(status) == 0 else "failed"


@contextmanager
def serving(server: Callable[[], AbstractAsyncContextManager[str]], folder: Path) -> Generator[str]:
    """The address of a server in a process of its own, which lives as long as the block runs."""
    reading, writing = os.pipe()
    pid = _forked(lambda: asyncio.run(_serve(server, writing)), folder, limit_s=None)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as told:
            address = told.readline().decode().strip()
        if not address:
            raise InvalidInput(f"the play's provider did not start: {trouble(folder)}")
        yield address
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def trouble(folder: Path) -> str:
    """What the folder's processes said of their faults."""
    path = folder / TROUBLE
    return path.read_text("utf-8").strip() if path.exists() else ""


async def _serve(server: Callable[[], AbstractAsyncContextManager[str]], told: int) -> None:
    parent = os.getppid()
    async with server() as address:
        os.write(told, address.encode() + b"\n")
        while os.getppid() == parent:  # a parent that was killed can't end this process
            await asyncio.sleep(1)


def _forked(work: Callable[[], None], folder: Path, limit_s: float | None = LIMIT_S) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = _FAILED
    try:
        with (folder / TROUBLE).open("a", encoding="utf-8") as told:
            if limit_s is not None:
                faulthandler.dump_traceback_later(limit_s, exit=True, file=told)
            try:
                work()
                code = 0
            except BaseException:  # noqa: BLE001 - nothing may come out of here: above stands the parent's own code
                traceback.print_exc(file=told)
                told.flush()
    finally:
        sys.stdout.flush()
        os._exit(code)
