"""Where the bytes of a file of a run's past are found, by their hash. Blocking; nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..graph.paths import WorkspacePath
from ..graph.text import sha256_bytes
from .checkpoints import CheckpointStore
from .workspace import FileMissing, FolderWorkspace, IsDirectory


@dataclass(frozen=True, slots=True)
class Contents:
    kept: CheckpointStore
    places: Sequence[FolderWorkspace]
    """Where a file that was lent and never changed may still stand as it was: the run's folder, the chat's own."""

    def find(self, path: WorkspacePath, sha256: str) -> bytes | None:
        """The bytes with this hash; None where they are not kept and the file is another one everywhere.

        Raises InvalidData where a kept content is damaged, or a link is in the way.
        """
        if self.kept.keeps(sha256):
            return self.kept.content(sha256)
        for place in self.places:
            try:
                data = place.read_bytes(path)
            except (FileMissing, IsDirectory):
                continue
            if sha256_bytes(data) == sha256:
                return data
        return None
