"""What a caller asks for when it forks a run: from where, under which profile, by which name."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.canonical import canonical_sha256
from ...graph.errors import InvalidData, InvalidInput
from ...graph.identity import RunId, segment
from ...graph.jsontext import Json, is_object


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """A request in its normal form: either `at_seq` or `checkpoint_id` is given."""

    from_run_id: str
    new_run_id: RunId
    at_seq: int | None = None
    checkpoint_id: str | None = None
    profile: Json = None
    """A profile document; it goes before `profile_id`."""
    profile_id: str | None = None

    @property
    def keeps_profile(self) -> bool:
        return self.profile is None and self.profile_id is None

    def input_sha256(self) -> str:
        """Of all that the fork is made from; the same name with other input is another run."""
        place = {"fromRunId": self.from_run_id, "atSeq": self.at_seq, "checkpointId": self.checkpoint_id}
        return canonical_sha256({"fork": {**place, "profile": self.profile, "profileId": self.profile_id}})


def fork_request(
    run_id: str,
    new_run_id: str,
    *,
    at_seq: Json = None,
    checkpoint_id: Json = None,
    profile: Json = None,
    profile_id: Json = None,
) -> ForkRequest:
    """Raises InvalidInput that names the field; a blank text is as good as none."""
    for name, value in (("checkpointId", checkpoint_id), ("profileId", profile_id)):
        if value is not None and not isinstance(value, str):
            raise InvalidInput(f"{name} must be a string, not {value!r}")
    if at_seq is not None and (type(at_seq) is not int or at_seq < 1):
        raise InvalidInput(f"atSeq must be the seq of an event, from 1, not {at_seq!r}")
    if profile is not None and not is_object(profile):
        raise InvalidInput(f"profile must be a profile document, not {profile!r}; name a stored one with profileId")
    checkpoint = (checkpoint_id or "").strip() or None
    if (at_seq is None) == (checkpoint is None):
        raise InvalidInput("give either atSeq or checkpointId: where the fork begins")
    try:
        name = RunId(segment(new_run_id, "newRunId"))
    except InvalidData as error:
        raise InvalidInput(error.message) from error
    return ForkRequest(run_id, name, at_seq, checkpoint, profile, (profile_id or "").strip() or None)
