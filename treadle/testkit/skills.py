"""Skills in memory: what a tool's test reads instead of the skills that a user installed."""

from __future__ import annotations

from collections.abc import Mapping

from ..graph.paths import fault, spelled
from ..storage.skills.shelf import ShelvedSkill, SkillFile, SkillNotFound, SkillRefused

_DESCRIPTION = "description:"


class MemorySkills:
    """Skills that are gone with the process, for tests: name to path to bytes.

    A skill's description is the line `description: …` of its SKILL.md; nothing else of a package is checked.
    """

    def __init__(self, packages: Mapping[str, Mapping[str, bytes]] | None = None) -> None:
        self.packages: dict[str, dict[str, bytes]] = {name: dict(files) for name, files in (packages or {}).items()}

    def skills(self) -> list[ShelvedSkill]:
        return [ShelvedSkill(name, _description(files)) for name, files in sorted(self.packages.items())]

    def files(self, name: str) -> list[SkillFile]:
        return [SkillFile(path, len(data)) for path, data in sorted(self._package(name).items())]

    def read(self, name: str, path: str) -> bytes:
        files = self._package(name)
        reason = fault(path, "the skill", "SKILL.md")
        if reason:
            raise SkillRefused(f"the path {path!r} {reason}")
        known = spelled(path)
        if any(other.startswith(f"{known}/") for other in files):
            raise SkillRefused(f"{path} is a folder; name a file of the skill")
        try:
            return files[known]
        except KeyError:
            raise SkillNotFound(f"the skill {name} has no file {path}") from None

    def _package(self, name: str) -> dict[str, bytes]:
        try:
            return self.packages[name]
        except KeyError:
            raise SkillNotFound(f"there is no skill {name}") from None


def _description(files: Mapping[str, bytes]) -> str:
    lines = files.get("SKILL.md", b"").decode().split("\n")
    return next((line.removeprefix(_DESCRIPTION).strip() for line in lines if line.startswith(_DESCRIPTION)), "")
