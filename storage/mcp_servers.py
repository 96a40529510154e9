"""The user's own list of MCP servers in a data root: the one place that commands of servers come from."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ..graph.errors import InvalidData, PermissionDenied
from ..graph.jsontext import Json, loads
from .disk import Disk, storage_failed

FILE = Path("_tauritavern") / "mcp" / "servers.json"


class McpServersFile:
    """What it holds is for the engine to check. Blocking: call it in a thread."""

    def __init__(self, data_root: Path, disk: Disk) -> None:
        self.path = data_root / FILE
        self._disk = disk

    def read(self) -> Json | None:
        """The document, or None where there is none; raises InvalidData where it is no JSON.

        Raises PermissionDenied for a file that anybody may write: it holds commands that will be run.
        """
        try:
            data = self._disk.read(self.path)
            mode = self.path.stat().st_mode
        except FileNotFoundError:
            return None
        except OSError as error:
            raise storage_failed(error, f"reading {self.path.name}") from error
        if os.name != "nt" and mode & stat.S_IWOTH:
            raise PermissionDenied(
                f"{self.path} can be changed by anybody, and commands in it are run; run: chmod o-w {self.path}",
                code="mcp.settings_not_private",
            )
        try:
            return loads(data)
        except ValueError:
            pass
        raise InvalidData(f"{self.path} is not JSON; mend it or remove it", code="mcp.settings_invalid")  # no cause
