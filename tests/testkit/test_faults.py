"""The disk that fails when told to."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from treadle.storage.disk import RealDisk
from treadle.testkit.faults import FaultyDisk, Touch


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk(RealDisk())


def test_without_rules_everything_passes_and_is_logged(disk: FaultyDisk, tmp_path: Path) -> None:
    file = tmp_path / "a" / "f"
    disk.replace(file, b"abc")
    disk.append(file, b"def")
    disk.truncate(file, 5)
    disk.copy(file, tmp_path / "g")
    disk.move(tmp_path / "g", tmp_path / "h")
    disk.make_folder(tmp_path / "b")

    assert disk.read(file) == disk.read_plain(tmp_path / "h") == b"abcde"
    assert disk.read_range(file, 1, 2) == b"bc"
    disk.remove(tmp_path / "a")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "h"]
    assert [touch.operation for touch in disk.log] == [
        "replace", "append", "truncate", "copy", "move", "make_folder", "read", "read_plain", "read_range", "remove",
    ]  # fmt: skip
    assert disk.log[0] == Touch("replace", file, 3)


def test_a_failing_append_leaves_the_bytes_it_was_told_to(disk: FaultyDisk, tmp_path: Path) -> None:
    disk.fail("append", error=errno.ENOSPC, after_bytes=2)

    with pytest.raises(OSError, match="No space left") as caught:
        disk.append(tmp_path / "f", b"abcdef")
    assert caught.value.errno == errno.ENOSPC
    assert (tmp_path / "f").read_bytes() == b"ab"
    assert disk.log[-1].failed


def test_a_failing_replace_leaves_the_old_file(disk: FaultyDisk, tmp_path: Path) -> None:
    disk.replace(tmp_path / "f", b"old")
    disk.fail("replace", error=errno.EIO, after_bytes=2)

    with pytest.raises(OSError, match="Input/output"):
        disk.replace(tmp_path / "f", b"new")
    assert disk.read(tmp_path / "f") == b"old"


def test_rules_choose_by_path_data_and_count(disk: FaultyDisk, tmp_path: Path) -> None:
    disk.fail("append", when="*.jsonl", containing=b"bad", skip=1, times=1)
    outcomes: list[bool] = []
    for name, data in [("x", b"bad"), ("a.jsonl", b"good"), *[("a.jsonl", b"a bad one")] * 3]:
        try:
            disk.append(tmp_path / name, data)
        except OSError:
            outcomes.append(False)
        else:
            outcomes.append(True)

    assert outcomes == [True, True, True, False, True]


def test_a_rule_may_be_a_test_of_the_path_and_healing_forgets_it(disk: FaultyDisk, tmp_path: Path) -> None:
    disk.fail("remove", when=lambda path: path.name == "f")

    with pytest.raises(OSError):
        disk.remove(tmp_path / "f")
    disk.remove(tmp_path / "g")
    disk.heal()
    disk.remove(tmp_path / "f")
