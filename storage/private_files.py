"""Files that only their owner may read: written whole under another name, then put in place."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from ..graph.errors import PermissionDenied

_OTHERS = 0o077


def write_private(path: Path, data: bytes) -> None:
    """The whole file at once, mode 0600 whatever it was before; parents are made. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_private(path: Path) -> bytes | None:
    """The file's bytes, or None where there is none; raises OSError, and PermissionDenied for one that others may read.

    Windows has no such modes: there it is read as it is.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if os.name != "nt" and stat.S_IMODE(mode) & _OTHERS:
                raise PermissionDenied(
                    f"{path} can be read or changed by others (mode {stat.S_IMODE(mode):04o}); run: chmod 600 {path}",
                    code="secret.file_not_private",
                )
            return file.read()
    except FileNotFoundError:
        return None
