"""What a data root keeps beside its runs: profiles, connections, settings, servers, presets, skills, secrets, folders."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path

from ....gateway.connections.deployment import deployment
from ....gateway.connections.stored import stored_connection
from ....graph.errors import TreadleError
from ....graph.jsontext import Json
from ....storage.connections import FOLDER as CONNECTIONS
from ....storage.connections import SETTINGS
from ....storage.mcp_servers import FILE as MCP_SERVERS
from ....storage.mcp_servers import McpServersFile
from ....storage.presets import FOLDER as PRESETS
from ....storage.profile_issues import survey as profile_survey
from ....storage.profiles import FOLDER as PROFILES
from ....storage.secrets import FILE as SECRETS
from ....storage.secrets import FileSecrets
from ....storage.skills.folders import SkillFolders
from ....storage.skills.index import INDEX, entries_in
from ....storage.skills.store import FOLDER as SKILLS
from ...mcp.settings import mcp_servers
from ...services import Services
from ..evidence import parsed, read_file
from .problem import Problem, Severity
from .survey import Survey

_MEND = "mend the file, or remove it"
_OTHERS = 0o077


def settings(survey: Survey) -> Generator[Problem]:
    """Every document that a person may have written parses, and says what it may say."""
    services = survey.services
    for issue in profile_survey(services.profiles).issues:
        where = (PROFILES / issue.file_name).as_posix()
        yield Problem("settings", where, issue.message, Severity.ERROR, f"treadle profiles repair {issue.file_name}")
    for id in services.connections.ids():
        yield from _tried(CONNECTIONS / f"{id}.json", partial(stored_connection, id, services.connections))
    yield from _tried(SETTINGS, lambda: deployment(services.connections))
    yield from _tried(MCP_SERVERS, lambda: mcp_servers(McpServersFile(survey.root, services.disk)))
    for file in sorted((survey.root / PRESETS).glob("*/*.json")):
        yield from _tried(file.relative_to(survey.root), partial(_value, services, file))


def secrets(survey: Survey) -> Generator[Problem]:
    """The file of secrets can be read by its owner alone; so can the connections, whose headers may hold a key."""
    yield from _tried(SECRETS, FileSecrets(survey.root / SECRETS).names)
    for file in sorted((survey.root / CONNECTIONS).glob("*.json")) if os.name != "nt" else ():
        mode = stat.S_IMODE(file.stat().st_mode)
        if mode & _OTHERS:
            where = survey.named(file)
            what = f"it can be read or changed by others (mode {mode:04o})"
            yield Problem("secrets", where, what, Severity.WARNING, f"chmod 600 {file}")


def skills(survey: Survey) -> Generator[Problem]:
    """The index can be read and knows what is installed; nothing of a change that was cut off is left."""
    root, services = survey.root / SKILLS, survey.services
    kept = SkillFolders(root, services.disk)
    known: set[str] = set()
    if (root / INDEX).is_file():
        try:
            known = set(entries_in(read_file(services, root / INDEX, INDEX), (SKILLS / INDEX).as_posix()))
        except TreadleError as error:
            yield Problem("skills", (SKILLS / INDEX).as_posix(), error.message, Severity.ERROR, "treadle skills repair")
            return
    for name in sorted(known ^ set(kept.names())):
        what = (
            "the index names it, and it is not there"
            if name in known
            else "it is there, and the index does not know it"
        )
        where = (SKILLS / "installed" / name).as_posix()
        yield Problem("skills", where, what, Severity.WARNING, "treadle skills list takes it in, or leaves it out")
    if kept.has_leftovers() and survey.is_old(kept.staging):
        what, remedy = "an import or a change was cut off", "the next change of a skill undoes or clears it"
        yield Problem("skills", (SKILLS / ".staging").as_posix(), what, Severity.WARNING, remedy)


def folders(survey: Survey) -> Generator[Problem]:
    """Every folder that runs write into takes files, and whoever may not see it does not."""
    for folder in (
        survey.root,
        survey.tree,
        survey.tree / "index" / "runs",
        *survey.chats,
        *(place.folder for place in survey.runs),
    ):
        if folder.is_dir() and not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            remedy = f"give yourself the folder: chmod u+rwx {folder}"
            yield Problem("folders", _named(survey, folder), "nothing can be written here", Severity.ERROR, remedy)
    if os.name != "nt" and survey.root.is_dir() and survey.root.stat().st_mode & stat.S_IWOTH:
        what = "everybody may change what is in it"
        yield Problem("folders", _named(survey, survey.root), what, Severity.WARNING, f"chmod o-w {survey.root}")


def _value(services: Services, file: Path) -> Json:
    return parsed(read_file(services, file, file.name), file.name)


def _named(survey: Survey, folder: Path) -> str:
    return "." if folder == survey.root else survey.named(folder)


def _tried(file: Path, read: Callable[[], object]) -> Iterator[Problem]:
    try:
        read()
    except TreadleError as error:
        yield Problem(
            "settings" if file != SECRETS else "secrets", file.as_posix(), error.message, Severity.ERROR, _MEND
        )
