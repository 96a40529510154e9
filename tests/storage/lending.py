"""A chat that lends its persistent files to runs and takes them back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from treadle.storage.disk import Disk, RealDisk
from treadle.storage.persist import project, promote
from treadle.storage.persist_records import PersistSnapshot, Promotion
from treadle.testkit.faults import Operation

SHA_A = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
SHA_B = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"
WRITES: tuple[Operation, ...] = ("replace", "remove", "make_folder")


class Chat:
    """A chat's folder, in which runs start, write and finish."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, run_id: str) -> Path:
        return self.folder / "runs" / run_id

    def start(self, run_id: str, disk: Disk | None = None) -> PersistSnapshot:
        return project(self.folder, self.run(run_id), disk or RealDisk())

    def finish(self, run_id: str, disk: Disk | None = None, created_at: str = "2026-01-01T00:00:00.250Z") -> Promotion:
        return promote(
            self.folder,
            self.run(run_id),
            run_id=run_id,
            workspace_id="chat_0123456789abcdef",
            stable_chat_id="int-1",
            created_at=created_at,
            disk=disk or RealDisk(),
        )

    def write(self, run_id: str, files: Mapping[str, bytes]) -> None:
        put(self.run(run_id), files)

    def kept(self) -> dict[str, bytes]:
        return tree(self.folder / "persist")


def put(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        RealDisk().replace(folder / name, data)


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
