"""The files below a skill's folder: plain files alone, no link followed, no more read than a skill may have."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from ..disk import Disk, storage_failed
from .package import MOST_FILES, check_size, check_total, is_junk, skill_path
from .shelf import SkillFile, SkillNotFound, SkillRefused

_MOST_SEEN = 10 * MOST_FILES
"""Entries that are looked at before the folder is taken for no skill's."""


def listed(folder: Path, called: str | None = None) -> list[SkillFile]:
    """Its files by path, without what systems leave behind; raises SkillRefused for a link or a name that can't be.

    `called` is what refusals call the folder: whoever reads them may not know where it lies. Raises FileNotFoundError
    where it is missing.
    """
    named = called or str(folder)
    found: list[SkillFile] = []
    for path, size in _walked(folder, named):
        if skill_path(path) != path:
            raise SkillRefused(f"{path!r} in {named} has blanks or backslashes in its name; rename it")
        found.append(SkillFile(path, size))
    return sorted(found, key=lambda file: file.path)


def contents(folder: Path, disk: Disk) -> dict[str, bytes]:
    """Every file by path; raises as `listed` does, and for a number or sizes that no skill may have."""
    files = listed(folder)
    if len(files) > MOST_FILES:
        raise SkillRefused(f"{folder} has more than {MOST_FILES} files, the most that a skill may have")
    for file in files:
        check_size(file.path, file.bytes)
    check_total(sum(file.bytes for file in files))
    return {file.path: _read(folder / file.path, file.path, disk) for file in files}


def content(folder: Path, path: str, disk: Disk) -> bytes:
    """One file; raises SkillNotFound, and SkillRefused for a bad path, a link, a folder or what is too large."""
    known = skill_path(path)
    above = folder
    for step in known.split("/")[:-1]:
        above /= step
        if above.is_symlink():
            raise SkillRefused(f"{known} lies behind a link, which no skill may hold")
    try:
        check_size(known, (folder / known).lstat().st_size)
        return _read(folder / known, known, disk)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SkillNotFound(f"the skill {folder.name} has no file {known}", details={"path": known}) from error


def _walked(folder: Path, named: str) -> Iterator[tuple[str, int]]:
    waiting, seen = [""], 0
    while waiting:
        above = waiting.pop()
        with os.scandir(folder / above) as entries:
            for entry in entries:
                seen += 1
                path = f"{above}{entry.name}"
                if seen > _MOST_SEEN:
                    raise SkillRefused(f"{named} holds more than {_MOST_SEEN} files and folders; name a skill's folder")
                if entry.is_symlink():
                    raise SkillRefused(f"{path} in {named} is a link; a skill may hold files alone")
                if is_junk(path):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{skill_path(path)}/")
                elif entry.is_file(follow_symlinks=False):
                    yield path, entry.stat(follow_symlinks=False).st_size
                else:
                    raise SkillRefused(f"{path} in {named} is no plain file; a skill may hold files alone")


def _read(file: Path, path: str, disk: Disk) -> bytes:
    try:
        return disk.read_plain(file)
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.EINVAL):
            what = {errno.ELOOP: "a link", errno.EISDIR: "a folder"}.get(error.errno, "no plain file")
            raise SkillRefused(f"{path} is {what}; name a file of the skill") from error
        raise storage_failed(error, f"reading {path}") from error
