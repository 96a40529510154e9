"""A run whose disk refuses anywhere: how it takes it, and that the driver which looks for faults can find some."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from treadle.storage.disk import Disk
from treadle.testkit.disk_faults import MODES, Name, Scene, Whole, play_refused, play_whole
from treadle.testkit.faults import Operation

from .disk_scenes import PassingDisk, writing

Place = tuple[Operation, str, int]
"""An operation, which paths, and the how manyeth of these."""

MAIN: Place = ("replace", "output/main.md", 1)
SAMPLES: dict[Name, tuple[Place, ...]] = {
    "full once": (("replace", "runs/run_1/run.json", 1), MAIN, ("replace", "persist/notes.md", 2)),
    "full until healed": (("append", "events.jsonl", 2), ("replace", "tea.jsonl", 1), ("replace", "index/runs/*", -1)),
    "broken once": (("read_plain", "output/main.md", 1), ("replace", "tool-results/*", 4)),
    "broken until healed": (("replace", "runs/run_1/run.json", 2), ("replace", "checkpoints/content/*", 1)),
}
"""A start, a tool's file, a promotion half-way; a journal, a chat, an end; what a tool reads, what a commit gave; …"""


@pytest.mark.parametrize("name", MODES)
async def test_a_run_takes_a_refusal_as_it_always_did(name: Name, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    whole = await play_whole(writing, tmp_path / "whole")

    assert await _table(tmp_path, whole, name, [_point(whole, name, place) for place in SAMPLES[name]]) == snapshot


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", MODES)
async def test_a_run_takes_a_refusal_anywhere_as_it_always_did(
    name: Name, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    whole = await play_whole(writing, tmp_path / "whole")

    assert await _table(tmp_path, whole, name, range(len(whole.points(name)))) == snapshot


class Deaf(PassingDisk):
    """It does not tell that a file of the workspace could not be written."""

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        try:
            super().replace(path, data, durable=durable)
        except OSError:
            if path.parent.name != "output":
                raise


class Untidy(PassingDisk):
    """It leaves a part of what it could not write."""

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        try:
            super().replace(path, data, durable=durable)
        except OSError:
            path.with_name(f"{path.name}.0123456789abcdef.tmp").write_bytes(data[:10])
            raise


class Torn(PassingDisk):
    """It writes files in place, so that a refusal leaves half of the old one."""

    def replace(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        try:
            super().replace(path, data, durable=durable)
        except OSError:
            path.write_bytes(data[: len(data) // 2])
            raise


class Forgetful(PassingDisk):
    """It loses what was appended before an append that was refused."""

    def append(self, path: Path, data: bytes, *, durable: bool = False) -> None:
        try:
            super().append(path, data, durable=durable)
        except OSError:
            path.write_bytes(b"")
            raise


@pytest.mark.parametrize(
    ("planted", "place", "found"),
    [
        (Deaf, MAIN, "does not say"),
        (Untidy, MAIN, "output/main.md.0123456789abcdef.tmp was left behind"),
        (Torn, ("replace", "tea.jsonl", 2), "tea.jsonl is not as it was written"),
        (Forgetful, ("append", "events.jsonl", 9), "can't be read"),
    ],
)
async def test_a_fault_that_is_planted_is_found(
    planted: type[PassingDisk], place: Place, found: str, tmp_path: Path
) -> None:
    def setting(folder: Path, disk: Disk) -> Scene:
        return writing(folder, planted(disk))

    whole = await play_whole(writing, tmp_path / "whole")
    outcome = await play_refused(setting, tmp_path / "planted", whole, "full once", _point(whole, "full once", place))

    assert any(found in fault for fault in outcome.faults), outcome.faults


def _point(whole: Whole, name: Name, place: Place) -> int:
    operation, pattern, nth = place
    found = [
        point
        for point, done in enumerate(whole.points(name))
        if done.operation == operation and done.path.match(pattern)
    ]
    return found[nth if nth < 0 else nth - 1]


async def _table(folder: Path, whole: Whole, name: Name, points: Sequence[int]) -> str:
    """A line a point; fails with all that is wrong."""
    lines: list[str] = []
    faults: list[str] = []
    for point in points:
        place = folder / f"at-{point}"
        outcome = await play_refused(writing, place, whole, name, point)
        lines.append(outcome.line)
        faults += outcome.faults
        shutil.rmtree(place)
    if faults:
        pytest.fail("\n".join(faults), pytrace=False)
    return "\n".join(lines)
