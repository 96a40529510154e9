"""What a skill may be imported from: inline files, a folder, an archive; each becomes a checked package and a source."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...graph.jsontext import Json, is_object, text_of
from ...graph.text import sha256_bytes
from ..disk import Disk, storage_failed
from .archive import EXTENSIONS, unpacked
from .fields import Fields, refused
from .folder import contents
from .manifest import MANIFEST
from .package import MOST_BYTES, MOST_FILES, Package, check_size, check_total, packaged
from .shelf import SkillRefused

_FIELDS = {
    "inlineFiles": ("kind", "files", "source"),
    "directory": ("kind", "path", "source"),
    "archiveFile": ("kind", "path", "source"),
    "archiveBase64": ("kind", "fileName", "contentBase64", "sha256", "source"),
}
_FILE_FIELDS = ("path", "encoding", "content", "mediaType", "sizeBytes", "sha256")
_NEED_AN_ID = ("preset", "character")

_Files = Sequence[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class SourceRef:
    """Where a skill came from, as the index keeps it."""

    kind: str
    id: str
    label: str
    installed_hash: str

    def to_json(self) -> dict[str, Json]:
        return {"kind": self.kind, "id": self.id, "label": self.label, "installedHash": self.installed_hash}


@dataclass(frozen=True, slots=True)
class SkillImport:
    package: Package
    source: Json
    """As it was given."""
    ref: SourceRef | None
    warnings: tuple[str, ...]


def imported(document: Json, disk: Disk) -> SkillImport:
    """The import that an input document describes; raises SkillRefused, naming the field or the file. Blocking."""
    if not is_object(document):
        raise refused("input", "must be an object")
    kind = document.get("kind")
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise refused("input.kind", f"must be one of {', '.join(_FIELDS)}")
    fields = Fields(document, "input", _FIELDS[kind])
    files, warnings = _READERS[kind](fields, disk)
    package = packaged(files)
    source = fields.any("source")
    return SkillImport(package, source, _ref(source, package), (*warnings, *package.warnings))


def _inline(fields: Fields, disk: Disk) -> tuple[_Files, tuple[str, ...]]:
    count = fields.count("files")
    if not 1 <= count <= MOST_FILES:
        raise refused("input.files", f"must hold 1 to {MOST_FILES} files, not {count}")
    total, files = 0, list[tuple[str, bytes]]()
    for given in fields.objects("files", _FILE_FIELDS):
        path, data = given.text("path"), _content(given)
        _check_declared(given, data)
        given.optional_text("mediaType")
        total += len(data)
        check_total(total)
        files.append((path, data))
    return files, ()


def _directory(fields: Fields, disk: Disk) -> tuple[_Files, tuple[str, ...]]:
    folder = Path(fields.text("path"))
    if folder.is_symlink():
        raise refused("input.path", f"{folder} is a link; name the folder itself")
    if not folder.is_dir():
        raise refused("input.path", f"{folder} is {'a file' if folder.exists() else 'not there'}; name a folder")
    try:
        return _rooted(list(contents(folder, disk).items()))
    except OSError as error:
        raise storage_failed(error, f"reading {folder}") from error


def _archive_file(fields: Fields, disk: Disk) -> tuple[_Files, tuple[str, ...]]:
    path = Path(fields.text("path"))
    _check_archive_name(path.name, "input.path")
    try:
        _check_archive_size(path.stat().st_size, "input.path")
        data = disk.read_plain(path)
    except OSError as error:
        raise refused("input.path", f"{path} can't be read ({error.strerror or error}); name an archive") from error
    except ValueError as error:  # of a NUL, or half of a character
        raise refused("input.path", f"{str(path)!r} can be no file's; name an archive") from error
    return _rooted(unpacked(data))


def _archive_base64(fields: Fields, disk: Disk) -> tuple[_Files, tuple[str, ...]]:
    name = fields.text("fileName")
    if "/" in name or "\\" in name or "\0" in name:
        raise refused("input.fileName", "must be a name without / and \\")
    _check_archive_name(name, "input.fileName")
    text = fields.text("contentBase64")
    _check_archive_size(len(text) // 4 * 3 - 2, "input.contentBase64")
    data = _decoded(text, "input.contentBase64")
    _check_hash(fields, data)
    return _rooted(unpacked(data))


_READERS: dict[str, Callable[[Fields, Disk], tuple[_Files, tuple[str, ...]]]] = {
    "inlineFiles": _inline,
    "directory": _directory,
    "archiveFile": _archive_file,
    "archiveBase64": _archive_base64,
}


def _rooted(files: _Files) -> tuple[_Files, tuple[str, ...]]:
    """The files below the one root that holds a SKILL.md: the top, or a folder at the top."""
    roots = [path.removesuffix(MANIFEST) for path, _ in files if path.count("/") < 2 and _last(path) == MANIFEST]
    roots = list(dict.fromkeys(roots))  # a name that stands twice is told as that
    if len(roots) > 1:
        named = ", ".join(root or "the top" for root in sorted(roots))
        raise SkillRefused(f"there is a {MANIFEST} in {named}; import one skill at a time")
    root = roots[0] if roots else ""
    outside = sorted(path for path, _ in files if not path.startswith(root))
    told = f"{len(outside)} outside {root} left out: {', '.join(outside[:5])}{', …' if len(outside) > 5 else ''}"
    kept = [(path.removeprefix(root), data) for path, data in files if path.startswith(root)]
    return kept, (told,) if outside else ()


def _last(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _content(given: Fields) -> bytes:
    encoding = given.choice("encoding", ("utf8", "utf-8", "base64")) or "utf8"
    text = given.content("content")
    if encoding == "base64":
        check_size(given.path("content"), len(text) // 4 * 3 - 2)
        data = _decoded(text, given.path("content"))
    else:
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise refused(
                given.path("content"), f"holds half of a character at {error.start}; give base64 for what is no text"
            ) from error
    check_size(given.path("content"), len(data))
    return data


def _check_declared(given: Fields, data: bytes) -> None:
    size = given.integer("sizeBytes", 0)
    if size is not None and size != len(data):
        raise refused(given.path("sizeBytes"), f"is {size}, but the content has {len(data)} bytes")
    _check_hash(given, data)


def _check_hash(given: Fields, data: bytes) -> None:
    sha256 = given.optional_text("sha256")
    if sha256 is not None and sha256.strip().lower() != sha256_bytes(data):
        raise refused(given.path("sha256"), "is not the hash of the content; it was changed on the way")


def _check_archive_name(name: str, path: str) -> None:
    if not name.lower().endswith(EXTENSIONS):
        raise refused(
            path, f"must name an archive ({' or '.join(EXTENSIONS)}); a skill that is no archive is given as its folder"
        )


def _check_archive_size(size: int, path: str) -> None:
    if size > MOST_BYTES:
        raise refused(path, f"has {size} bytes; an archive may have {MOST_BYTES}")


def _decoded(text: str, path: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise refused(path, f"is not base64 ({error})") from error


def _ref(source: Json, package: Package) -> SourceRef | None:
    """The reference that a source of free form yields; raises SkillRefused where its kind needs an id."""
    if not is_object(source):
        return None
    kind, identity = text_of(source.get("kind")), text_of(source.get("id"))
    if kind in _NEED_AN_ID and identity is None:
        raise refused("input.source.id", f"is missing; a source of kind {kind} needs it")
    if kind is None or identity is None:
        return None
    return SourceRef(kind, identity, text_of(source.get("label")) or identity, package.sha256)
