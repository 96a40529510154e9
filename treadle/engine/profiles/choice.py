"""Which profile a caller means: the built-in one, a stored one by its id, or a document given along."""

from __future__ import annotations

from ...graph.errors import NotFound
from ...graph.jsontext import Json
from ...graph.profiles.faults import PresetExists
from ...graph.profiles.parse import checked_id
from ...graph.profiles.resolved import (
    BUILT_IN,
    DEFAULT_PROFILE_ID,
    Presentation,
    Profile,
    ResolvedProfile,
    default_writer,
    resolve,
)
from ...nodes.profile_rules import checked_profile
from ..services import Services


def chosen_profile(
    services: Services,
    profile_id: str | None,
    document: Json = None,
    presentation: Presentation | None = None,
    preset_exists: PresetExists | None = None,
) -> ResolvedProfile:
    """The profile as a run would follow it: the document where there is one, else the profile of that id. Blocking.

    Without an id it is the built-in one, whatever is stored under that name. Raises NotFound
    `agent.profile_not_found`, and InvalidInput or InvalidData for a profile that can't be used; with `preset_exists`
    also for one whose required preset is missing.
    """
    if document is not None:
        profile = checked_profile(document, preset_exists)
        return resolve(profile, stored_source(profile.id), presentation)
    if profile_id is None or not profile_id.strip():
        return resolve(default_writer(), BUILT_IN, presentation)
    profile, source = named_profile(services, profile_id)
    return resolve(checked_profile(profile.to_json(), preset_exists), source, presentation)


def named_profile(services: Services, profile_id: str) -> tuple[Profile, str]:
    """The profile of that id and its source, its preset not looked for; raises as `chosen_profile`. Blocking."""
    name = checked_id(profile_id)
    stored = services.profiles.get(name)
    if stored is not None:
        return stored, stored_source(name)
    if name == DEFAULT_PROFILE_ID:
        return default_writer(), BUILT_IN
    raise NotFound(
        f"there is no profile {name}; store it first, or name another: {DEFAULT_PROFILE_ID} is always there",
        code="agent.profile_not_found",
    )


def stored_source(profile_id: str) -> str:
    return f"file:{profile_id}"
