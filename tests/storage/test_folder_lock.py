"""The lock that runs of one chat share."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

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


def _enter(folder: Path, entered: threading.Event) -> None:
    with folder_lock(folder):
        entered.set()
