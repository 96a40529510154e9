"""What a skill is made of: the rules of its files, and the hash that tells one package from another."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from ...graph.jsontext import Json
from ...graph.paths import fault, spelled
from ...graph.text import sha256_bytes
from .manifest import MANIFEST, Manifest, manifest_of
from .shelf import SkillRefused
from .sidecar import SIDECAR, Sidecar, sidecar_of

MOST_FILES = 1000
MOST_FILE_BYTES = 16 * 1024 * 1024
MOST_BYTES = 256 * 1024 * 1024
FORBIDDEN = (".git", ".ssh", ".env")
"""Steps of a path that no skill may have: they hold what is nobody else's."""

_SCRIPTS = "scripts/"
_MEDIA_TYPES = {
    ".md": "text/markdown", ".txt": "text/plain", ".json": "application/json", ".yaml": "application/yaml",
    ".yml": "application/yaml", ".html": "text/html", ".css": "text/css", ".csv": "text/csv", ".xml": "application/xml",
    ".py": "text/x-python", ".js": "text/javascript", ".sh": "application/x-sh", ".svg": "image/svg+xml",
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".pdf": "application/pdf", ".zip": "application/zip",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Package:
    files: Mapping[str, bytes]
    """Every file byte for byte, by path and in the order of paths."""
    manifest: Manifest
    sidecar: Sidecar
    sha256: str
    """64 hex digits: of all paths and contents, and of nothing else."""

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(sorted({*self.manifest.tags, *self.sidecar.tags}))

    @property
    def total_bytes(self) -> int:
        return sum(map(len, self.files.values()))

    @property
    def has_scripts(self) -> bool:
        return any(path.startswith(_SCRIPTS) for path in self.files)

    @property
    def has_binary(self) -> bool:
        return not all(map(is_text, self.files.values()))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know before it is installed."""
        scripts = [path for path in self.files if path.startswith(_SCRIPTS)]
        binary = [path for path, data in self.files.items() if not is_text(data)]
        told = [f"holds scripts, which are kept and never run: {_listed(scripts)}"] if scripts else []
        told += [f"holds binary files, which the model can't read: {_listed(binary)}"] if binary else []
        return (*self.manifest.warnings, *told)


def packaged(files: Iterable[tuple[str, bytes]]) -> Package:
    """The package of these files; raises SkillRefused for what breaks a rule."""
    held: dict[str, bytes] = {}
    for path, data in files:
        known = skill_path(path)
        if is_junk(known):
            raise SkillRefused(f"{known} is what some system leaves in folders; leave it out")
        if known in held:
            raise SkillRefused(f"{known} stands twice; keep one")
        check_size(known, len(data))
        held[known] = data
    if MANIFEST not in held:
        raise SkillRefused(_no_manifest(held))
    if len(held) > MOST_FILES:
        raise SkillRefused(f"a skill may have {MOST_FILES} files, not {len(held)}; leave some out")
    check_total(sum(map(len, held.values())))
    check_apart(held)
    ordered = dict(sorted(held.items()))
    return Package(ordered, manifest_of(held[MANIFEST]), sidecar_of(held.get(SIDECAR)), content_hash(ordered))


def content_hash(files: Mapping[str, bytes]) -> str:
    """SHA-256 over path, 0, content, 0 of each file, by path."""
    digest = hashlib.sha256()
    for path, data in sorted(files.items()):
        digest.update(path.encode("utf-8") + b"\0")
        digest.update(data)
        digest.update(b"\0")
    return digest.hexdigest()


def skill_path(text: str) -> str:
    """A file's path in its one spelling; raises SkillRefused."""
    trimmed = text.strip()
    wrong = fault(trimmed, "the skill", "references/notes.md")
    if wrong is None:
        forbidden = [step for step in spelled(trimmed).split("/") if step.lower() in FORBIDDEN]
        wrong = f"goes through {forbidden[0]}, which a skill may not hold; leave it out" if forbidden else None
    if wrong is not None:
        shown = trimmed if len(trimmed) <= 120 else f"{trimmed[:120]}…"
        raise SkillRefused(f"the path {shown!r} {wrong}", details={"path": shown})
    return spelled(trimmed)


def check_size(path: str, size: int) -> None:
    if size > MOST_FILE_BYTES:
        raise SkillRefused(f"{path} has {size} bytes; a file of a skill may have {MOST_FILE_BYTES}")


def check_total(size: int) -> None:
    if size > MOST_BYTES:
        raise SkillRefused(f"the files have more than {MOST_BYTES} bytes together, the most that a skill may have")


def check_apart(paths: Iterable[str]) -> None:
    """No two names, of files or of folders, that some system takes for one."""
    spellings: dict[str, str] = {}
    files = set(paths)
    for path in sorted(files):
        steps = PurePosixPath(path).parts
        for end in range(1, len(steps) + 1):
            name = "/".join(steps[:end])
            other = spellings.setdefault(_folded(name), name)
            if other != name:
                raise SkillRefused(f"{other} and {name} are one name on some systems; rename one")
            if end < len(steps) and name in files:
                raise SkillRefused(f"{name} is a file, and {path} needs a folder of that name; rename one")


def is_junk(path: str) -> bool:
    """What systems leave in folders and archives, and nobody means."""
    steps = [step for step in path.replace("\\", "/").split("/") if step]
    return bool(steps) and (steps[0] == "__MACOSX" or steps[-1].endswith(".DS_Store") or steps[-1].startswith("._"))


def is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def file_ref(path: str, data: bytes) -> dict[str, Json]:
    """A file as lists of files tell it: `path, kind ("text" or "binary"), mediaType, sizeBytes, sha256`."""
    text = is_text(data)
    fallback = "text/plain" if text else "application/octet-stream"
    return {
        "path": path,
        "kind": "text" if text else "binary",
        "mediaType": _MEDIA_TYPES.get(PurePosixPath(path).suffix.lower(), fallback),
        "sizeBytes": len(data),
        "sha256": sha256_bytes(data),
    }


def _no_manifest(paths: Iterable[str]) -> str:
    near = [path for path in paths if path.rsplit("/", 1)[-1].lower() == MANIFEST.lower()]
    hint = f"; there is {near[0]}: it must be at the top and spelled {MANIFEST}" if near else "; add it at the top"
    return f"there is no {MANIFEST}{hint}"


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _listed(paths: list[str]) -> str:
    shown = ", ".join(paths[:5])
    return shown if len(paths) <= 5 else f"{shown} and {len(paths) - 5} more"
