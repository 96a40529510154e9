"""A profile in a file of the user's: JSON with comments, and errors that name the line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..graph.errors import InvalidInput
from ..graph.jsonc import Jsonc, JsoncFault, read
from ..graph.jsontext import Json, is_object
from ..graph.profiles.fields import SCHEMA_KEY
from ..graph.profiles.resolved import Profile
from ..nodes.profile_rules import checked_profile
from .options import read_bytes

_BROKEN = "agent.invalid_profile"


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """What a file holds, not yet held against the rules of a profile."""

    path: Path
    text: Jsonc

    @property
    def document(self) -> Json:
        """The profile without the `$schema` that is for an editor."""
        value = self.text.value
        if not is_object(value) or not isinstance(value.get(SCHEMA_KEY), str):
            return value
        return {key: member for key, member in value.items() if key != SCHEMA_KEY}

    def profile(self) -> Profile:
        """Raises InvalidInput with the rule's code; its details hold `path`, `file` and `line`."""
        try:
            return checked_profile(self.document)
        except InvalidInput as refused:
            line = self.text.line_of(str(refused.details.get("path", "$")))
            raise _at(self.path, line, refused.message, refused.error_code, refused.details) from refused


def profile_file(path: Path) -> ProfileFile:
    """Raises NotFound, or InvalidInput `agent.invalid_profile` for what is no JSON with comments."""
    try:
        text = read_bytes(path, "the profile").decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the profile {path} is not UTF-8: {error.reason}", code=_BROKEN) from error
    try:
        return ProfileFile(path, read(text))
    except JsoncFault as fault:
        message = f"{fault.reason} (column {fault.column})"
        raise _at(path, fault.line, message, _BROKEN, {"path": "$"}) from fault


def _at(path: Path, line: int, message: str, code: str, details: dict[str, object]) -> InvalidInput:
    return InvalidInput(
        f"{path}, line {line}: {message}", code=code, details={**details, "file": str(path), "line": line}
    )
