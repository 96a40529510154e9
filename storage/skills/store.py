"""The store of skills below a data root: `_tauritavern/skills/{installed,index,.staging}`.

One lock guards every change, between threads and processes. Reading takes none: only what is not found is looked for
once more under the lock, as a folder that is being swapped is missing for a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from ...graph.ports import Clock
from ...graph.text import sha256_bytes
from ..disk import Disk, storage_failed
from ..folder_lock import folder_lock
from ..runs import timestamp
from .folder import content, contents, listed
from .folders import SkillFolders
from .imports import SkillImport
from .index import INDEX, SkillEntry, SkillIndexDamaged, entries_in, entry_of, index_bytes
from .manifest import checked_name
from .package import Package, content_hash, is_text, packaged, skill_path
from .shelf import ShelvedSkill, SkillFile, SkillNotFound, SkillRefused

FOLDER = Path("_tauritavern") / "skills"
LOCK_FILE = "skills.lock"

Strategy = Literal["skip", "replace"]
STRATEGIES: tuple[Strategy, ...] = ("skip", "replace")
Action = Literal["installed", "already_installed", "skipped", "replaced"]

T = TypeVar("T")


class SkillConflict(SkillRefused):
    """Another version is installed, or the file was changed meanwhile; nothing was changed."""

    code = "skill.conflict"


@dataclass(frozen=True, slots=True)
class Listing:
    """The installed skills by name, and what had to be mended to tell so."""

    skills: tuple[SkillEntry, ...]
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conflict:
    kind: Literal["new", "same", "different"]
    installed_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Installed:
    action: Action
    skill: SkillEntry | None
    """None where it was skipped."""


class SkillStore:
    """Blocking: call it in a thread. A `SkillShelf` for runs, and what people do with skills.

    Raises SkillIndexDamaged where the index can't be read, and StorageFailed where the disk refuses.
    """

    def __init__(self, data_root: Path, disk: Disk, clock: Clock) -> None:
        self.root = data_root / FOLDER
        self._disk = disk
        self._clock = clock
        self._folders = SkillFolders(self.root, disk)

    def skills(self) -> list[ShelvedSkill]:
        return [ShelvedSkill(entry.name, entry.description) for entry in self._seen()[0].values()]

    def files(self, name: str) -> list[SkillFile]:
        return self._settled(checked_name(name), lambda folder: listed(folder, f"the skill {name}"))

    def read(self, name: str, path: str) -> bytes:
        return self._settled(checked_name(name), lambda folder: content(folder, path, self._disk))

    def contents(self, name: str) -> dict[str, bytes]:
        """Every file of a skill by path, byte for byte."""
        return self._settled(checked_name(name), lambda folder: contents(folder, self._disk))

    def _contents(self, name: str) -> dict[str, bytes]:
        """As `contents`, for whoever holds the lock."""
        return self._looked(name, lambda folder: contents(folder, self._disk))

    def listing(self) -> Listing:
        """Every skill. Folders that the index does not know are taken in, and the index is saved with them."""
        entries, told = self._seen()
        if not told:
            return _listing(entries, told)
        with self._changing() as (current, repairs):
            if current != self._indexed():
                self._save(current)
        return _listing(current, repairs)

    def conflict(self, package: Package) -> Conflict:
        """How the package stands to what is installed under its name, by the files that are there now."""
        return _conflict(package, self.contents)

    def entry_for(self, given: SkillImport) -> SkillEntry:
        """What the index would hold of it if it were installed now."""
        return entry_of(given.package, self._now(), () if given.ref is None else (given.ref,))

    def install(self, given: SkillImport, strategy: Strategy | None = None) -> Installed:
        """Raises SkillConflict where another version is there and no strategy says what to do."""
        package = given.package
        with self._changing() as (entries, _):
            there, before = _conflict(package, self._contents), entries.get(package.name)
            if there.kind == "different" and strategy is None:
                raise SkillConflict(
                    f"the skill {package.name} is installed with other content; choose replace or skip",
                    details={"name": package.name, "installedHash": there.installed_hash},
                )
            if there.kind == "different" and strategy == "skip":
                return Installed("skipped", None)
            merged = {(ref.kind, ref.id): ref for ref in before.source_refs} if before and there.kind == "same" else {}
            if given.ref is not None:
                merged[given.ref.kind, given.ref.id] = given.ref
            refs = tuple(merged.values())
            if there.kind == "same" and before is not None:
                entry = entry_of(package, before.installed_at, refs)
                self._save({**entries, entry.name: entry})
                return Installed("already_installed", entry)
            entry = entry_of(package, self._now(), refs)
            self._put(entries, entry, package.files)
            return Installed("replaced" if there.kind == "different" else "installed", entry)

    def write_file(self, name: str, path: str, text: str, expected_sha256: str | None = None) -> SkillEntry:
        """A new text for a text file that is there; the whole package must still hold. Raises SkillConflict."""
        known, data = checked_name(name), _encoded(text)
        with self._changing() as (entries, _):
            before = self._looked(known, lambda folder: content(folder, path, self._disk))
            if expected_sha256 is not None and expected_sha256.strip().lower() != sha256_bytes(before):
                raise SkillConflict(f"{path} of the skill {known} was changed meanwhile; read it again")
            if not is_text(before):
                raise SkillRefused(f"{path} of the skill {known} is a binary file; only text can be written")
            package = packaged({**self._contents(known), skill_path(path): data}.items())
            if package.name != known:
                raise SkillRefused(f"the skill's name is {known}, and can't be changed to {package.name}")
            held = entries.get(known)
            entry = entry_of(package, held.installed_at if held else self._now(), held.source_refs if held else ())
            self._put(entries, entry, package.files)
            return entry

    def delete(self, name: str) -> None:
        """The folder and its entry; raises SkillNotFound where there is neither."""
        known = checked_name(name)
        with self._changing() as (entries, _):
            if known not in entries and known not in self._folders.names():
                raise _not_found(known)
            self._put(entries, known, None)

    def repair(self) -> Listing:
        """The index anew from the folders; a damaged one is kept aside. What it knew of sources is kept where it can be."""
        with self._told("repairing the index of skills"), folder_lock(self.root, LOCK_FILE):
            told: dict[str, str] = {}
            try:
                indexed = self._indexed() or {}
            except SkillIndexDamaged as error:
                aside = self._index.with_name(f"skills.damaged-{self._now().replace(':', '')}.json")
                self._disk.move(self._index, aside)
                told[INDEX] = f"{error.reason}; it is kept as {aside.name}"
                indexed = {}
            told |= self._folders.sweep({name: entry.installed_hash for name, entry in indexed.items()})
            current, repairs = self._reconciled({})
            for name, line in repairs.items():
                before, now = indexed.get(name), current.get(name)
                if before is not None and now is not None:
                    current[name] = replace(now, installed_at=before.installed_at, source_refs=before.source_refs)
                    if current[name] != before:
                        told[name] = "its entry is made anew from its folder"
                else:
                    told[name] = line
            told |= {name: "its folder is gone, and so is its entry" for name in indexed if name not in repairs}
            self._save(current)
            return _listing(current, told)

    @property
    def _index(self) -> Path:
        return self.root / INDEX

    def _put(
        self, entries: Mapping[str, SkillEntry], entry: SkillEntry | str, files: Mapping[str, bytes] | None
    ) -> None:
        """The folder and the index together: both are changed, or neither."""
        name = entry if isinstance(entry, str) else entry.name
        others = {known: held for known, held in entries.items() if known != name}
        with self._folders.changed(name, files):
            self._save(others if isinstance(entry, str) else {**others, name: entry})

    def _save(self, entries: Mapping[str, SkillEntry]) -> None:
        self._disk.replace(self._index, index_bytes(entries.values()), durable=True)

    def _indexed(self) -> dict[str, SkillEntry] | None:
        try:
            data = self._disk.read(self._index)
        except FileNotFoundError:
            return None
        return entries_in(data, str(FOLDER / INDEX))

    @contextmanager
    def _changing(self) -> Generator[tuple[dict[str, SkillEntry], dict[str, str]]]:
        """The lock, with what a crash left behind swept: the entries as they are, and what was mended."""
        with self._told("changing the skills"), folder_lock(self.root, LOCK_FILE):
            indexed = self._indexed()
            hashes = {name: entry.installed_hash for name, entry in (indexed or {}).items()}
            undone = self._folders.sweep(hashes)
            entries, repairs = self._reconciled(indexed)
            yield entries, undone | repairs

    def _seen(self) -> tuple[dict[str, SkillEntry], dict[str, str]]:
        with self._told("reading the skills"):
            indexed = self._indexed()
            entries, repairs = self._reconciled(indexed)
            if (indexed or {}).keys() <= entries.keys() and not self._folders.has_leftovers():
                return entries, repairs
        with self._changing() as settled:  # a change is under way, or was cut off
            return settled

    def _reconciled(self, indexed: Mapping[str, SkillEntry] | None) -> tuple[dict[str, SkillEntry], dict[str, str]]:
        """The skills that are really there, by name: entries without a folder are left out, folders without one read."""
        found: dict[str, SkillEntry] = {}
        told: dict[str, str] = {}
        for name in self._folders.names():
            entry = (indexed or {}).get(name)
            if entry is None or not self._folders.is_there(name):
                entry, told[name] = self._taken_in(name)
            if entry is not None:
                found[name] = entry
        return found, told

    def _taken_in(self, name: str) -> tuple[SkillEntry | None, str]:
        try:
            if not self._folders.is_there(name):
                raise SkillRefused("is a link or a file, and no folder")
            package = packaged(contents(self._folders.folder(name), self._disk).items())
            if package.name != name:
                raise SkillRefused(f"its SKILL.md names it {package.name}; rename the folder")
        except SkillRefused as error:
            return None, f"installed/{name} is left out: {error.message}"
        return entry_of(package, self._now()), "taken in from its folder, as the index did not know it"

    def _settled(self, name: str, look: Callable[[Path], T]) -> T:
        """What is found in the skill's folder, looked for twice: raises SkillNotFound."""
        try:
            return self._looked(name, look)
        except SkillNotFound:
            if not self.root.is_dir():
                raise
        with self._changing():
            return self._looked(name, look)

    def _looked(self, name: str, look: Callable[[Path], T]) -> T:
        if not self._folders.is_there(name):
            raise _not_found(name)
        with self._told(f"reading the skill {name}"):
            try:
                return look(self._folders.folder(name))
            except FileNotFoundError as error:
                raise _not_found(name) from error

    def _now(self) -> str:
        return timestamp(self._clock.now())

    @contextmanager
    def _told(self, what: str) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise storage_failed(error, what) from error


def _listing(entries: Mapping[str, SkillEntry], told: Mapping[str, str]) -> Listing:
    return Listing(tuple(entries.values()), tuple(f"{name}: {line}" for name, line in told.items()))


def _conflict(package: Package, contents_of: Callable[[str], dict[str, bytes]]) -> Conflict:
    try:
        current = content_hash(contents_of(package.name))
    except SkillNotFound:
        return Conflict("new")
    except SkillRefused:  # it was changed by hand into what is no skill's
        return Conflict("different")
    return Conflict("same" if current == package.sha256 else "different", current)


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise SkillRefused(
            f"content holds half of a character at {error.start}", details={"path": "content"}
        ) from error


def _not_found(name: str) -> SkillNotFound:
    return SkillNotFound(f"there is no skill {name}", details={"name": name})
