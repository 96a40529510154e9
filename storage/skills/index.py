"""`index/skills.json`: what is told of every installed skill without opening its folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...graph.errors import InvalidData
from ...graph.jsontext import Json, dumps, is_object, loads
from .fields import Fields
from .imports import SourceRef
from .manifest import checked_name
from .package import Package
from .shelf import SkillRefused

INDEX = "index/skills.json"
VERSION = 1

_FIELDS = (
    "name", "description", "displayName", "sourceKind", "license", "author", "version", "tags", "installedHash",
    "fileCount", "totalBytes", "hasScripts", "hasBinary", "installedAt", "sourceRefs",
)  # fmt: skip


class SkillIndexDamaged(InvalidData):
    """The index of skills can't be read."""

    code = "skill.index_damaged"

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{reason}; mend it, or make it anew from the installed folders: treadle skills repair")


@dataclass(frozen=True, slots=True)
class SkillEntry:
    name: str
    description: str
    installed_hash: str
    file_count: int
    total_bytes: int
    has_scripts: bool
    has_binary: bool
    installed_at: str
    """RFC 3339, UTC."""
    tags: tuple[str, ...] = ()
    display_name: str | None = None
    source_kind: str | None = None
    license: str | None = None
    author: str | None = None
    version: str | None = None
    source_refs: tuple[SourceRef, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """camelCase; what is not known is left out."""
        told: dict[str, Json] = {
            "name": self.name, "description": self.description, "displayName": self.display_name,
            "sourceKind": self.source_kind, "license": self.license, "author": self.author, "version": self.version,
            "tags": list(self.tags), "installedHash": self.installed_hash, "fileCount": self.file_count,
            "totalBytes": self.total_bytes, "hasScripts": self.has_scripts, "hasBinary": self.has_binary,
            "installedAt": self.installed_at, "sourceRefs": [ref.to_json() for ref in self.source_refs] or None,
        }  # fmt: skip
        return {key: value for key, value in told.items() if value is not None}


def entry_of(package: Package, installed_at: str, source_refs: Iterable[SourceRef] = ()) -> SkillEntry:
    manifest = package.manifest
    return SkillEntry(
        name=package.name,
        description=manifest.description,
        installed_hash=package.sha256,
        file_count=len(package.files),
        total_bytes=package.total_bytes,
        has_scripts=package.has_scripts,
        has_binary=package.has_binary,
        installed_at=installed_at,
        tags=package.tags,
        display_name=package.sidecar.display_name,
        source_kind=package.sidecar.source_kind,
        license=manifest.license,
        author=manifest.author,
        version=manifest.version,
        source_refs=tuple(source_refs),
    )


def index_bytes(entries: Iterable[SkillEntry]) -> bytes:
    """The file, by name."""
    skills = [entry.to_json() for entry in sorted(entries, key=lambda entry: entry.name)]
    return dumps({"version": VERSION, "skills": skills}, pretty=True) + b"\n"


def entries_in(data: bytes, where: str) -> dict[str, SkillEntry]:
    """The entries by name; raises SkillIndexDamaged, naming the file (`where`), the field and the remedy."""
    try:
        return _entries(data)
    except (SkillRefused, ValueError) as error:
        reason = error.message if isinstance(error, SkillRefused) else f"is not JSON: {error}"
        raise SkillIndexDamaged(f"{where}: {reason}") from error


def _entries(data: bytes) -> dict[str, SkillEntry]:
    document = loads(data)
    version = document.get("version") if is_object(document) else None
    if type(version) is not int or version != VERSION:
        raise SkillRefused(f"version is {version!r}, and {VERSION} alone is supported")
    found: dict[str, SkillEntry] = {}
    for fields in Fields(document, "", ("version", "skills")).objects("skills", _FIELDS):
        entry = _entry(fields)
        if entry.name in found:
            raise SkillRefused(f"{fields.path('name')} {entry.name} stands twice")
        found[entry.name] = entry
    return found


def _entry(fields: Fields) -> SkillEntry:
    name = checked_name(fields.text("name"), fields.path("name"))
    refs = fields.objects("sourceRefs", ("kind", "id", "label", "installedHash"))
    return SkillEntry(
        name=name,
        description=fields.text("description"),
        installed_hash=fields.text("installedHash"),
        file_count=_count(fields, "fileCount"),
        total_bytes=_count(fields, "totalBytes"),
        has_scripts=fields.flag("hasScripts") or False,
        has_binary=fields.flag("hasBinary") or False,
        installed_at=fields.text("installedAt"),
        tags=fields.texts("tags"),
        display_name=fields.optional_text("displayName"),
        source_kind=fields.optional_text("sourceKind"),
        license=fields.optional_text("license"),
        author=fields.optional_text("author"),
        version=fields.optional_text("version"),
        source_refs=tuple(
            SourceRef(ref.text("kind"), ref.text("id"), ref.text("label"), ref.text("installedHash")) for ref in refs
        ),
    )


def _count(fields: Fields, key: str) -> int:
    count = fields.integer(key, 0)
    if count is None:
        raise SkillRefused(f"{fields.path(key)} is missing")
    return count
