"""Presets on disk: one file each, `<apiId>/<name>.json`, as a front end saves them."""

from __future__ import annotations

from pathlib import Path

from ..graph.errors import InvalidData
from ..graph.jsontext import Json, loads
from .disk import Disk, storage_failed

FOLDER = Path("_tauritavern") / "presets"

_NO_NAME = frozenset('/\\:*?"<>|')
"""What can't stand in a file name everywhere; a name is never changed to fit."""


class PresetFiles:
    """A `PresetStore`. Blocking: call it in a thread."""

    def __init__(self, data_root: Path, disk: Disk) -> None:
        self.folder = data_root / FOLDER
        self._disk = disk

    def get(self, api_id: str, name: str) -> Json | None:
        """The preset, or None; raises InvalidData `prompt_assembly.preset_data_invalid` where the file is no JSON."""
        if not (_is_name(api_id) and _is_name(name)):
            return None
        try:
            data = self._disk.read_plain(self.folder / api_id / f"{name}.json")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise storage_failed(error, f"reading the preset {name!r} of {api_id}") from error
        try:
            return loads(data)
        except ValueError as error:
            raise InvalidData(
                f"the preset {name!r} of {api_id} is not JSON: {error}", code="prompt_assembly.preset_data_invalid"
            ) from error


def _is_name(text: str) -> bool:
    """Whether a file may be called so: nothing that leads elsewhere, is hidden, or is no text on disk."""
    if not text.strip() or text.startswith(".") or not text.isprintable():
        return False
    return _NO_NAME.isdisjoint(text) and len(f"{text}.json".encode()) <= 255
