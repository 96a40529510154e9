"""A store of skills for a case: another skill that must stay as it is, and what can be seen when the case is over."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from treadle.graph.errors import TreadleError
from treadle.graph.jsontext import Json
from treadle.storage.disk import RealDisk
from treadle.storage.skills.archive import unpacked
from treadle.storage.skills.manifest import MANIFEST, manifest_of
from treadle.storage.skills.requests import SkillRequests
from treadle.storage.skills.store import SkillStore

from .clock import HarnessClock
from .observed import Observed

OTHER = "other-skill"
"""Installed before the case begins, and the name that hostile archives aim at."""


class SkillStage:
    """A data root in a folder of its own; what is written beside it would be outside."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = SkillStore(folder / "data", RealDisk(), HarnessClock())
        self.requests = SkillRequests(self.store, RealDisk())

    @property
    def installed(self) -> Path:
        return self.store.root / "installed"

    @property
    def index(self) -> Path:
        return self.store.root / "index" / "skills.json"

    def names(self) -> list[str]:
        return [entry.name for entry in self.store.listing().skills]

    def files(self) -> dict[str, bytes]:
        """Every file of the whole folder, but those of the store's own books and of what was imported."""
        below = {path.relative_to(self.folder).as_posix(): path for path in self.folder.rglob("*") if path.is_file()}
        kept = f"data/_tauritavern/skills/installed/{OTHER}/"
        mine = "data/_tauritavern/skills/"
        return {at: path.read_bytes() for at, path in below.items() if at.startswith(kept) or not at.startswith(mine)}


@contextmanager
def skill_stage() -> Generator[SkillStage]:
    with tempfile.TemporaryDirectory() as folder:
        yield SkillStage(Path(folder))


def skill_md(name: str, description: str = "Demo.", body: str = "Body\n") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n{body}"


def inline(text: bytes) -> dict[str, Json]:
    """The input of a SKILL.md by itself."""
    content = base64.b64encode(text).decode("ascii")
    return {"kind": "inlineFiles", "files": [{"path": MANIFEST, "encoding": "base64", "content": content}]}


def see_import(given: dict[str, Json]) -> Observed:
    """The input is looked at and installed beside another skill; what came of it, and of all that it must not touch."""
    seen = Observed()
    with skill_stage() as stage:
        stage.requests.install({"input": inline(skill_md(OTHER, "Stays.").encode())})
        before = stage.files()
        try:
            shown = stage.requests.preview({"input": given})
            done = stage.requests.install({"input": given})
        except TreadleError as error:
            tell(seen, error)
        else:
            _see_skill(stage, done, shown, seen)
        staging = stage.store.root / ".staging"
        seen.facts["installed"] = [name for name in stage.names() if name != OTHER]
        seen.facts["other_skills_unchanged"] = stage.files() == before
        seen.facts["staging_empty"] = not staging.exists() or not list(staging.iterdir())
    return seen


def tell(seen: Observed, error: TreadleError) -> None:
    seen.errors.append(f"{error.error_code}: {error.message}")
    seen.codes.append(error.error_code)


def _see_skill(stage: SkillStage, done: dict[str, Json], shown: dict[str, Json], seen: Observed) -> None:
    name = done["name"]
    held = stage.store.contents(name)
    exported = unpacked(base64.b64decode(stage.requests.export({"name": name})["contentBase64"]))
    seen.facts |= {
        "name": name,
        "description": done["skill"]["description"],
        "body": manifest_of(held[MANIFEST]).body,
        "warnings": shown["warnings"],
        "skill_files": held,
        "exported": dict(exported),
        "same_content_hash": done["skill"]["installedHash"],
    }
