"""`skill_archive`: a zip of these entries, imported beside another skill."""

from __future__ import annotations

import base64
import io
import stat
import warnings
import zipfile

from treadle.graph.jsontext import Json
from treadle.storage.skills.package import MOST_FILE_BYTES

from ..faults import CaseFault, a_list, an_object, only, shown
from ..observed import Observed
from ..skilled import see_import

KEYS = frozenset({"entries"})

_CHUNK = 1024 * 1024


def run(given: dict[str, Json]) -> Observed:
    data, files = _archive(a_list(given["entries"], "entries"))
    content = base64.b64encode(data).decode("ascii")
    seen = see_import({"kind": "archiveBase64", "fileName": "given.zip", "contentBase64": content})
    if "exported" in seen.facts:
        exported: dict[str, bytes] = seen.facts["exported"]
        seen.facts["export_bytes_equal_import"] = all(
            any(given_path.endswith(path) and data == held for given_path, data in files)
            for path, held in exported.items()
        )
    return seen


def _archive(entries: list[Json]) -> tuple[bytes, list[tuple[str, bytes]]]:
    """The zip, and its files; of more zeros than a skill may have, only so many."""
    out = io.BytesIO()
    files: list[tuple[str, bytes]] = []
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # a name that stands twice is what some cases are about
        for place, given in enumerate(entries):
            entry = an_object(given, f"entries[{place}]")
            only(entry, ("name", "text", "zeros", "symlink"), f"entries[{place}]")
            info = zipfile.ZipInfo(entry["name"])
            info.create_system, info.compress_type = 3, zipfile.ZIP_DEFLATED
            if "zeros" in entry:
                _write_zeros(archive, info, entry["zeros"])
                files.append((entry["name"], bytes(min(entry["zeros"], MOST_FILE_BYTES))))
                continue
            text = entry.get("symlink", entry.get("text"))
            if not isinstance(text, str):
                raise CaseFault(f"entries[{place}] has no content: {shown(entry)}")
            info.external_attr = ((stat.S_IFLNK | 0o777) if "symlink" in entry else (stat.S_IFREG | 0o644)) << 16
            files.append((entry["name"], text.encode("utf-8")))
            archive.writestr(info, files[-1][1])
    return out.getvalue(), files


def _write_zeros(archive: zipfile.ZipFile, info: zipfile.ZipInfo, count: int) -> None:
    with archive.open(info, "w", force_zip64=count > 2**31) as file:
        for done in range(0, count, _CHUNK):
            file.write(bytes(min(_CHUNK, count - done)))
