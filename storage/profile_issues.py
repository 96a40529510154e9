"""What is wrong with the files of a folder of profiles, and the repair of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ..graph.errors import InvalidInput, NotFound
from ..graph.jsontext import Json, is_object
from ..graph.profiles.faults import is_name
from ..graph.profiles.resolved import Profile
from .profiles import ProfileFiles


class IssueKind(StrEnum):
    INVALID_JSON = "invalidJson"
    INVALID_FILE_IDENTITY = "invalidFileIdentity"
    INVALID_PROFILE = "invalidProfile"


class RepairAction(StrEnum):
    DELETE = "delete"
    NORMALIZE_IDENTITY = "normalizeIdentity"


@dataclass(frozen=True, slots=True)
class Issue:
    """A file that can't be used as it is. `profile_id` is the name it would have as a profile."""

    profile_id: str
    file_name: str
    kind: IssueKind
    recommended_action: RepairAction
    message: str

    def to_json(self) -> dict[str, Json]:
        return {
            "profileId": self.profile_id,
            "fileName": self.file_name,
            "kind": str(self.kind),
            "recommendedAction": str(self.recommended_action),
            "message": self.message,
        }


@dataclass(frozen=True, slots=True)
class Survey:
    """Everything in the folder, by file name."""

    profiles: tuple[Profile, ...]
    issues: tuple[Issue, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """What was done; `profile_id` is the profile that is there now, None where the file was deleted."""

    file_name: str
    action: RepairAction
    profile_id: str | None


def survey(files: ProfileFiles) -> Survey:
    """Blocking. A bad file becomes an issue and hides no good one; raises StorageFailed for the folder alone."""
    looked = [_looked_at(files, path)[0] for path in files.paths()]
    return Survey(
        tuple(found for found in looked if isinstance(found, Profile)),
        tuple(found for found in looked if isinstance(found, Issue)),
    )


def repair(files: ProfileFiles, file_name: str) -> Repair:
    """Do what the file's issue recommends. Blocking.

    A file whose name and id differ gets its name as id; where that can't be an id, the file is named after its id.
    Raises NotFound for no such file, InvalidInput for one that is in order.
    """
    with files.changing(f"repairing {file_name}"):
        path = next((path for path in files.paths() if path.name == file_name), None)
        if path is None:
            raise NotFound(f"there is no profile file {file_name!r}", code="agent.profile_not_found")
        issue, mended = _looked_at(files, path)
        if not isinstance(issue, Issue):
            raise InvalidInput(f"the profile file {file_name} is in order; there is nothing to repair")
        if mended is not None:
            files.write(mended)
        if mended is None or mended.id != path.stem:
            files.discard(path)
        return Repair(file_name, issue.recommended_action, mended.id if mended else None)


def _looked_at(files: ProfileFiles, path: Path) -> tuple[Profile | Issue, Profile | None]:
    """The profile in a file, or its issue; then what the repair would store, if anything."""

    def issue(kind: IssueKind, message: str, action: RepairAction = RepairAction.DELETE) -> Issue:
        return Issue(path.stem, path.name, kind, action, message)

    try:
        document = files.document(path)
    except ValueError as error:
        return issue(IssueKind.INVALID_JSON, f"it is not JSON: {error}"), None
    except OSError as error:
        return issue(IssueKind.INVALID_JSON, f"it can't be read: {error.strerror or error}"), None
    named = is_name(path.stem)
    try:
        profile = files.checked({**document, "id": path.stem} if named and is_object(document) else document)
    except InvalidInput as refused:
        return issue(IssueKind.INVALID_PROFILE, f"{refused.message} ({refused.error_code})"), None
    given: Json = document.get("id")
    if named and isinstance(given, str) and given.strip() == path.stem:
        return profile, None
    kind = IssueKind.INVALID_FILE_IDENTITY
    if named:
        message = f"its id is {given!r}, and its file's name says {path.stem}"
        return issue(kind, message, RepairAction.NORMALIZE_IDENTITY), profile
    if (files.folder / f"{profile.id}.json").exists():
        return issue(kind, f"its file's name can't be an id, and there is a profile {profile.id} already"), None
    message = f"its file's name can't be an id; it should be {profile.id}.json"
    return issue(kind, message, RepairAction.NORMALIZE_IDENTITY), profile
