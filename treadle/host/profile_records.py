"""What the commands about profiles do with them: load, store, and find the one that is meant."""

from __future__ import annotations

from pathlib import Path

from ..engine.profiles.api import Profiles
from ..engine.services import Services
from ..graph.errors import InvalidInput, NotFound
from ..graph.jsontext import Json
from ..graph.profiles.faults import is_name
from ..graph.profiles.resolved import DEFAULT_PROFILE_ID
from .profile_files import profile_file


async def loaded(services: Services, profile_id: str) -> dict[str, Json]:
    """The document; raises NotFound."""
    document: dict[str, Json] | None = (await Profiles(services).load(profile_id))["profile"]
    if document is None:
        raise NotFound(f"there is no profile {profile_id}; see: treadle profiles list", code="agent.profile_not_found")
    return document


async def stored(services: Services, path: Path, *, replace: bool) -> str:
    """The id of the profile that was stored; raises InvalidInput where one is there already, unless `replace`."""
    profile = profile_file(path).profile()
    if not replace and services.profiles.holds(profile.id):
        raise InvalidInput(f"there is a profile {profile.id} already; add --replace to overwrite it")
    await Profiles(services).save(profile.to_json())
    return profile.id


async def prompt_of(services: Services, given: str | None) -> dict[str, Json]:
    """Of a stored profile by its id, or of the one in a file."""
    if given is None or is_name(given):
        return await Profiles(services).resolve_system_prompt(given or DEFAULT_PROFILE_ID)
    return await Profiles(services).resolve_system_prompt({"profile": profile_file(Path(given)).profile().to_json()})
