"""`engine.profiles`: list, load, save, delete and look into the profiles of a data root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...graph.errors import InvalidInput, NotFound
from ...graph.jsontext import Json, is_object
from ...graph.profiles.parse import checked_id
from ...graph.profiles.resolved import DEFAULT_PROFILE_ID, Profile, default_writer
from ...nodes import registry
from ...nodes.deps import in_thread
from ...nodes.profile_rules import checked_profile
from ...nodes.prompt import agent_system_prompt, render_specs
from ...storage.profile_issues import repair, survey
from .choice import chosen_profile, named_profile
from .diagnosis import diagnosis
from .presets import preset_ref, retargeted

if TYPE_CHECKING:
    from ..services import Services


class Profiles:
    """The profiles that runs may ask for; every answer is camelCase JSON.

    An id is given as a text or as `{profileId}`. Errors: InvalidInput for an id or a document that breaks a rule (its
    `details.path` is the field's JSON path), NotFound `agent.profile_not_found`, InvalidData for a stored file that is
    damaged, StorageFailed.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    async def list(self) -> dict[str, Json]:
        """`{profiles: [{id, displayName, description?, directRunnable}], issues: [{profileId, fileName, kind,
        recommendedAction, message}]}`, by id; the built-in profile first where no file stands for it.

        A bad file is an issue of kind `invalidJson`, `invalidFileIdentity` or `invalidProfile`, and hides no other.
        """
        found = await in_thread(lambda: survey(self._services.profiles))
        built_in = [] if any(one.id == DEFAULT_PROFILE_ID for one in found.profiles) else [default_writer()]
        return {
            "profiles": [_summary(profile) for profile in (*built_in, *found.profiles)],
            "issues": [issue.to_json() for issue in found.issues],
        }

    async def load(self, profile: str | dict[str, Json]) -> dict[str, Json]:
        """`{profile}`: the whole document with its defaults, or null where there is none of that id."""
        profile_id = _required_id(profile)
        try:
            found, _ = await in_thread(lambda: named_profile(self._services, profile_id))
        except NotFound:
            return {"profile": None}
        return {"profile": found.to_json()}

    async def save(self, profile: dict[str, Json]) -> None:
        """Keep a document, or the one in `{profile}`, in place of the stored one of its id.

        A preset or a connection that it names need not exist yet.
        """
        checked = checked_profile(_document(profile))
        await in_thread(lambda: self._services.profiles.put(checked))

    async def delete(self, profile: str | dict[str, Json]) -> None:
        """Remove a stored profile, whatever its file holds; under the name of the built-in one, that one is back."""
        profile_id = checked_id(_required_id(profile))
        if not await in_thread(lambda: self._services.profiles.remove(profile_id)):
            reason = (
                "is built in, and no file stands in its place" if profile_id == DEFAULT_PROFILE_ID else "is not stored"
            )
            raise NotFound(f"the profile {profile_id} {reason}", code="agent.profile_not_found")

    async def resolve_system_prompt(self, profile: str | dict[str, Json] | None = None) -> dict[str, Json]:
        """`{profileId, agentSystemPrompt, tools}`: what the model is told, and the names of the tools it is told of.

        `profile` is an id, `{profileId}`, `{profile}` with a document, or a document; None is the built-in profile.
        """
        profile_id, document = _id_or_document(profile)
        resolved = await in_thread(lambda: chosen_profile(self._services, profile_id, document))
        specs = render_specs(resolved, registry.specs())
        return {
            "profileId": resolved.id,
            "agentSystemPrompt": agent_system_prompt(resolved, specs),
            "tools": [spec.name for spec in specs],
        }

    async def diagnose(self, profile: str | dict[str, Json]) -> dict[str, Json]:
        """`{profileId, previewAvailable, promptAssemblyAvailable, directRunAvailable, subAgentAvailable,
        diagnostics: [{code, severity, path, message, resource?, blocks, repairActions}]}` of a stored profile.

        A stored profile that breaks a rule is a diagnostic; an unknown id is NotFound.
        """
        profile_id = _required_id(profile)
        return await in_thread(lambda: diagnosis(self._services, profile_id))

    async def repair_file(self, file: str | dict[str, Json]) -> dict[str, Json]:
        """Do what `list` recommends for a file, by its name or as `{fileName}`: `{fileName, action, profileId?}`.

        `delete` removes it; `normalizeIdentity` makes its id and its name the same.
        """
        name = file.get("fileName") if is_object(file) else file
        if not isinstance(name, str) or not name.strip():
            raise InvalidInput("fileName must be the name of a profile's file")
        done = await in_thread(lambda: repair(self._services.profiles, name))
        kept = {"profileId": done.profile_id} if done.profile_id else {}
        return {"fileName": done.file_name, "action": str(done.action), **kept}

    async def retarget_preset_refs(self, request: dict[str, Json]) -> dict[str, Json]:
        """Let every stored profile that names the preset `from` name `to`, after a preset was renamed:
        `{updatedProfileIds}`. Both are `{apiId, name}`, of one kind, and `to` must exist.

        Raises InvalidInput `agent.profile_preset_retarget_…`. Files that are issues stay as they are.
        """
        before, after = preset_ref(request, "from"), preset_ref(request, "to")
        return {"updatedProfileIds": await in_thread(lambda: retargeted(self._services, before, after))}


def _summary(profile: Profile) -> dict[str, Json]:
    described = {} if profile.description is None else {"description": profile.description}
    return {
        "id": profile.id,
        "displayName": profile.display_name,
        **described,
        "directRunnable": profile.run.direct_runnable,
    }


def _required_id(given: str | dict[str, Json]) -> str:
    """Raises InvalidInput `agent.profile_id_required`."""
    value = given.get("profileId") if is_object(given) else given
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput("profileId must be the id of a profile", code="agent.profile_id_required")
    return value


def _document(given: dict[str, Json]) -> Json:
    """A profile has no field `profile`, so an object with that alone is a request."""
    return given["profile"] if is_object(given) and given.keys() == {"profile"} else given


def _id_or_document(given: str | dict[str, Json] | None) -> tuple[str | None, Json]:
    if given is None or isinstance(given, str):
        return given, None
    if not is_object(given) or not given.keys() <= {"profileId"}:
        return None, _document(given)
    profile_id = given.get("profileId")
    if profile_id is not None and not isinstance(profile_id, str):
        raise InvalidInput("profileId must be a string", code="agent.profile_id_invalid")
    return profile_id, None
