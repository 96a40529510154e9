"""Skills and archives for tests, also such as no program would write."""

from __future__ import annotations

import base64
import io
import stat
import warnings
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

from treadle.graph.jsontext import Json
from treadle.storage.disk import Disk, RealDisk
from treadle.storage.skills.imports import SkillImport, imported
from treadle.storage.skills.store import SkillStore

from ..doubles import StillClock

Change = Callable[[zipfile.ZipInfo], None]


def skill_md(name: str = "demo", description: str = "Demo.", body: str = "Body\n") -> bytes:
    return f"---\nname: {name}\ndescription: {description}\n---\n{body}".encode()


FILES = {"SKILL.md": skill_md(), "references/a.md": b"a\n", "scripts/run.sh": b"#!/bin/sh\n", "pic.png": b"\x89PNG\xff"}


def store_below(root: Path, disk: Disk | None = None) -> SkillStore:
    return SkillStore(root, disk or RealDisk(), StillClock())


def inline(files: dict[str, bytes], source: Json = None) -> dict[str, Json]:
    given: list[Json] = [
        {"path": path, "encoding": "base64", "content": base64.b64encode(data).decode()} for path, data in files.items()
    ]
    return {"kind": "inlineFiles", "files": given, "source": source}


def an_import(name: str = "demo", source: Json = None, **more: bytes) -> SkillImport:
    """The import of a skill of that name; `more` are its files by stem."""
    files = {"SKILL.md": skill_md(name), **{f"{stem}.md": data for stem, data in more.items()}}
    return imported(inline(files, source), RealDisk())


def zipped(
    entries: Iterable[tuple[str, bytes]], *, method: int = zipfile.ZIP_DEFLATED, change: dict[str, Change] | None = None
) -> bytes:
    """A zip of the entries as they are named; `change` alters the record of one by name before it is written."""
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as archive:
        warnings.simplefilter("ignore")  # of a name that stands twice
        for name, data in entries:
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr, info.compress_type = 3, (stat.S_IFREG | 0o644) << 16, method
            (change or {}).get(name, _as_it_is)(info)
            archive.writestr(info, data)
    return out.getvalue()


def linked(info: zipfile.ZipInfo) -> None:
    info.external_attr = (stat.S_IFLNK | 0o777) << 16


def lying(data: bytes, name: bytes, size: int) -> bytes:
    """The zip with another size of that entry's content, in its directory and in the entry's own header."""
    altered = bytearray(data)
    for signature, at_size, at_name in ((b"PK\x01\x02", 24, 46), (b"PK\x03\x04", 22, 30)):
        place = data.find(signature)
        while place >= 0 and data[place + at_name : place + at_name + len(name)] != name:
            place = data.find(signature, place + 1)
        altered[place + at_size : place + at_size + 4] = size.to_bytes(4, "little")
    return bytes(altered)


def below(folder: Path) -> dict[str, bytes]:
    """Every file by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def _as_it_is(info: zipfile.ZipInfo) -> None:
    """Nothing is changed."""
