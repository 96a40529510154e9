"""A preset got another name: the stored profiles that name it follow. Blocking."""

from __future__ import annotations

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, is_object
from ...graph.profiles.checks import PRESET_APIS
from ...graph.profiles.resolved import Profile
from ...graph.profiles.schema import PresetRef
from ...storage.profile_issues import survey
from ..services import Services

_PREFIX = "agent.profile_preset_retarget"
_REQUIRED = {
    "from": {"apiId": "_from_api_required", "name": "_from_name_required"},
    "to": {"apiId": "_to_api_required", "name": "_to_name_required"},
}
_ONE_KIND = {"koboldhorde": "kobold"}


def preset_ref(request: Json, side: str) -> PresetRef:
    """The `{apiId, name}` under `from` or `to`; raises InvalidInput that names the field."""
    given = request.get(side) if is_object(request) else None
    ref = given if is_object(given) else {}
    for key, ending in _REQUIRED[side].items():
        value = ref.get(key)
        if not isinstance(value, str) or not value.strip():
            raise InvalidInput(
                f"{side}.{key} must be a text that is not blank",
                code=f"{_PREFIX}{ending}",
                details={"path": f"$.{side}.{key}"},
            )
    if ref["apiId"] not in PRESET_APIS:
        raise InvalidInput(
            f"{side}.apiId must be one of {', '.join(PRESET_APIS)}",
            code="agent.profile_preset_api_invalid",
            details={"path": f"$.{side}.apiId"},
        )
    return PresetRef.model_validate({"apiId": ref["apiId"], "name": ref["name"]})


def retargeted(services: Services, before: PresetRef, after: PresetRef) -> list[str]:
    """The ids of the profiles that were changed, all under one lock."""
    if before == after:
        raise InvalidInput("from and to name the same preset; name another in to", code=f"{_PREFIX}_same_ref")
    if _kind(before) != _kind(after):
        message = f"from is a preset of {before.api_id} and to one of {after.api_id}; they must be of one kind"
        raise InvalidInput(message, code=f"{_PREFIX}_api_mismatch")
    if not services.preset_exists(after.api_id, after.name):
        message = f"there is no preset {after.name!r} of {after.api_id}; save it first, or name another in to"
        raise InvalidInput(message, code=f"{_PREFIX}_target_missing")
    with services.profiles.changing("retargeting presets"):
        named = [profile for profile in survey(services.profiles).profiles if _names(profile, before)]
        for profile in named:
            preset = profile.preset.model_copy(update={"ref": after})
            services.profiles.write(profile.model_copy(update={"preset": preset}))
    return [profile.id for profile in named]


def _names(profile: Profile, ref: PresetRef) -> bool:
    own = profile.preset.ref
    return own is not None and (_kind(own), own.name) == (_kind(ref), ref.name)


def _kind(ref: PresetRef) -> str:
    return _ONE_KIND.get(ref.api_id, ref.api_id)
