"""What a data root keeps about models: one file a connection, and one for policy, network proxy and wire log."""

from __future__ import annotations

from pathlib import Path

from ..graph.errors import InvalidData
from ..graph.identity import segment
from ..graph.jsontext import Json, dumps, loads
from .disk import Disk, storage_failed
from .private_files import write_private

FOLDER = Path("_tauritavern") / "llm-connections"
SETTINGS = Path("_tauritavern") / "llm-settings.json"


class ConnectionFiles:
    """A `ConnectionStore`; what the documents hold is for the gateway to check. Blocking: call it in a thread."""

    def __init__(self, data_root: Path, disk: Disk) -> None:
        self.folder = data_root / FOLDER
        self.settings_path = data_root / SETTINGS
        self._disk = disk

    def get(self, connection_id: str) -> Json | None:
        """The document, or None; raises InvalidData where the file is no JSON."""
        return self._read(self._path(connection_id))

    def settings(self) -> Json | None:
        return self._read(self.settings_path)

    def ids(self) -> list[str]:
        """Of all that are stored, in order."""
        if not self.folder.is_dir():
            return []
        return sorted(path.stem for path in self.folder.glob("*.json") if not path.name.startswith("."))

    def put(self, connection_id: str, document: Json) -> None:
        """The whole file at once, for its owner alone: a header may hold a key."""
        path = self._path(connection_id)
        try:
            write_private(path, dumps(document, pretty=True) + b"\n")
        except OSError as error:
            raise storage_failed(error, f"saving {path.name}") from error

    def remove(self, connection_id: str) -> bool:
        """Whether there was one."""
        path = self._path(connection_id)
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise storage_failed(error, f"removing {path.name}") from error
        return True

    def _path(self, connection_id: str) -> Path:
        return self.folder / f"{segment(connection_id, 'connection id')}.json"

    def _read(self, path: Path) -> Json | None:
        try:
            data = self._disk.read(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise storage_failed(error, f"reading {path.name}") from error
        try:
            return loads(data)
        except ValueError:
            pass
        raise InvalidData(f"{path.parent.name}/{path.name} is not JSON; mend it or remove it")  # no cause: it quotes
