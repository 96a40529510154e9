"""The agent profiles that a data root keeps: one file each, named after the profile's id."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from ..graph.errors import InvalidData, InvalidInput
from ..graph.jsontext import Json, dumps, loads
from ..graph.ports import Ids
from ..graph.profiles.parse import checked_id
from ..graph.profiles.resolved import Profile
from .disk import Disk, storage_failed
from .folder_lock import folder_lock

FOLDER = Path("_tauritavern") / "agent-profiles" / "profiles"
STAGING = ".staging"

_LOCK_FILE = "profiles.lock"
_BROKEN = "agent.invalid_profile"

Check = Callable[[Json], Profile]
"""The profile in a document; raises InvalidInput."""


class ProfileStore(Protocol):
    """Stored profiles by their id. Blocking: call it in a thread.

    Every method raises InvalidInput (`agent.profile_id_…`) for an id that can't be one, StorageFailed where the disk
    refuses.
    """

    def get(self, profile_id: str) -> Profile | None:
        """The profile, or None; raises InvalidData for a file that is no JSON or of another id, and InvalidInput for a
        profile that breaks a rule."""
        ...

    def put(self, profile: Profile) -> None:
        """Keep the profile, in place of the one of that id; readers see the old one or the new one whole."""
        ...

    def remove(self, profile_id: str) -> bool:
        """Whether there was one; what was in it does not matter."""
        ...


class ProfileFiles:
    """A `ProfileStore` of plain JSON files."""

    def __init__(self, data_root: Path, disk: Disk, ids: Ids, check: Check) -> None:
        self.folder = data_root / FOLDER
        self._disk, self._ids, self._check = disk, ids, check

    def get(self, profile_id: str) -> Profile | None:
        path = self._path(profile_id)
        try:
            data = self._disk.read(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise storage_failed(error, f"reading {path.name}") from error
        return self._profile_in(data, path)

    def put(self, profile: Profile) -> None:
        with self.changing(f"saving {profile.id}"):
            self.write(profile)

    def remove(self, profile_id: str) -> bool:
        path = self._path(profile_id)
        with self.changing(f"removing {path.name}"):
            there = path.is_file() or path.is_symlink()
            if there:
                self._disk.remove(path)
        return there

    def holds(self, profile_id: str) -> bool:
        """Whether there is a file for that id, whatever it holds."""
        return self._path(profile_id).is_file()

    def paths(self) -> list[Path]:
        """The files that are profiles or should be, by name."""
        try:
            found = self.folder.glob("*.json")
            return sorted(path for path in found if path.is_file() and not path.name.startswith("."))
        except OSError as error:
            raise storage_failed(error, f"listing {self.folder.name}") from error

    def document(self, path: Path) -> Json:
        """The value in one of `paths`; raises ValueError for no JSON, OSError as the system says it."""
        return loads(self._disk.read(path))

    def checked(self, document: Json) -> Profile:
        return self._check(document)

    @contextmanager
    def changing(self, what: str) -> Generator[None]:
        """The folder's lock, so that changes come one after another; what a crash left in the staging folder is gone."""
        try:
            with folder_lock(self.folder.parent, _LOCK_FILE):
                self._disk.remove(self.folder / STAGING)
                yield
        except OSError as error:
            raise storage_failed(error, what) from error

    def write(self, profile: Profile) -> None:
        """As `put`, under the lock that `changing` holds. Raises OSError."""
        path = self._path(profile.id)
        staged = self.folder / STAGING / f"{profile.id}.{self._ids.new()}.json"
        self._disk.replace(staged, dumps(_written(profile), pretty=True) + b"\n", durable=True)
        self._disk.move(staged, path)

    def discard(self, path: Path) -> None:
        """Remove one of `paths`, under the lock that `changing` holds. Raises OSError."""
        self._disk.remove(path)

    def _path(self, profile_id: str) -> Path:
        return self.folder / f"{checked_id(profile_id)}.json"

    def _profile_in(self, data: bytes, path: Path) -> Profile:
        try:
            profile = self._check(loads(data))
        except ValueError as error:
            message = f"the stored profile {path.name} is not JSON: {error}; mend it, or delete it"
            raise InvalidData(message, code=_BROKEN) from error
        except InvalidInput as refused:
            message = f"in the stored profile {path.name}: {refused.message}"
            raise InvalidInput(message, code=refused.error_code, details=refused.details) from refused
        if profile.id != path.stem:
            raise InvalidData(
                f"the stored profile {path.name} has the id {profile.id}; make its id and its file's name the same",
                code=_BROKEN,
                details={"path": "$.id"},
            )
        return profile


def _written(profile: Profile) -> dict[str, Json]:
    """In the lowest version that holds all that it says: older programs read version 1 alone."""
    delegates = profile.delegation is not None or not profile.run.direct_runnable
    return profile.to_json() | {"schemaVersion": 2 if delegates else 1}
