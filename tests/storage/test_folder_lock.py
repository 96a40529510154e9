"""The lock that runs of one chat share."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import pytest

from treadle.storage.folder_lock import folder_lock

HOLD = """
import sys
from pathlib import Path
from treadle.storage.folder_lock import folder_lock
with folder_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_thread_waits_for_another(tmp_path: Path) -> None:
    entered = threading.Event()
    waiter = threading.Thread(target=lambda: _enter(tmp_path, entered))
    with folder_lock(tmp_path):
        waiter.start()

        assert not entered.wait(0.1)
    assert entered.wait(10)
    waiter.join()


def test_one_process_waits_for_another(tmp_path: Path) -> None:
    entered = threading.Event()
    waiter = threading.Thread(target=lambda: _enter(tmp_path, entered))
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        waiter.start()

        assert not entered.wait(0.1)
        holder.kill()  # a lock does not outlive who holds it
        assert entered.wait(10)
    waiter.join()


def test_other_chats_do_not_wait_and_a_missing_folder_is_made(tmp_path: Path) -> None:
    with folder_lock(tmp_path / "one"), folder_lock(tmp_path / "two"):
        assert {path.name for path in tmp_path.iterdir()} == {"one", "two"}


@pytest.mark.skipif(sys.platform == "win32", reason="an open file can't be removed there")
def test_who_waits_for_a_folder_that_is_removed_meanwhile_gets_the_lock_of_a_new_one(tmp_path: Path) -> None:
    folder, entered, leave = tmp_path / "chat", threading.Event(), threading.Event()
    waiter = threading.Thread(target=lambda: _stay(folder, entered, leave))
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        waiter.start()
        assert not entered.wait(0.1)
        shutil.rmtree(folder)
        holder.kill()
        assert entered.wait(10)
    late = threading.Event()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        told = threading.Thread(target=_read_line, args=(other.stdout, late))
        told.start()

        assert not late.wait(0.3)
        leave.set()
        assert late.wait(10)
        other.kill()
    told.join()
    waiter.join()


def _read_line(pipe: IO[bytes], done: threading.Event) -> None:
    pipe.readline()
    done.set()


def _stay(folder: Path, entered: threading.Event, leave: threading.Event) -> None:
    with folder_lock(folder):
        entered.set()
        leave.wait(10)


def _enter(folder: Path, entered: threading.Event) -> None:
    with folder_lock(folder):
        entered.set()
