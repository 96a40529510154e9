"""A start request from what the command line says: the chat, the snapshot with its model, and the profile."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import NamedTuple

from ..gateway.connections.connection import base_url
from ..gateway.connections.sources import RECORD
from ..graph.errors import InvalidInput, NotFound
from ..graph.identity import ChatRef
from ..graph.jsontext import Json
from ..graph.profiles.faults import is_name
from ..graph.profiles.resolved import DEFAULT_PROFILE_ID
from ..nodes.snapshot import payload_of
from .options import CHAT_FILE
from .profile_files import profile_file

INTENT_SOURCE = "treadle-cli"

_OPTIONS = {
    "chat_completion_source": "--base-url",
    "custom_url": "--base-url",
    "model": "--model",
    "secret_id": "--api-key-env",
    RECORD: "--connection",
}


class ModelChoice(NamedTuple):
    """What the command line says of the model; None where it says nothing."""

    base_url: str | None = None
    model: str | None = None
    api_key_env: str | None = None
    connection: str | None = None

    def check(self) -> None:
        """Raises InvalidInput for a base URL that is none, a variable that is not set, or a server named twice."""
        if self.connection is not None and (self.base_url or self.api_key_env):
            raise InvalidInput("--connection names a server and its key; leave --base-url and --api-key-env out")
        if self.base_url is not None:
            base_url(self.base_url, "--base-url")
        if self.api_key_env is not None and not os.environ.get(self.api_key_env):
            raise InvalidInput(f"the environment variable {self.api_key_env} is not set; put the key there")

    def fields(self) -> dict[str, Json]:
        """The payload's fields that say the same."""
        if self.connection is not None:
            return {RECORD: self.connection if self.model is None else {"id": self.connection, "model": self.model}}
        wanted = {
            "chat_completion_source": "custom" if self.base_url else None,
            "custom_url": self.base_url,
            "model": self.model,
            "secret_id": f"env:{self.api_key_env}" if self.api_key_env else None,
        }
        return {key: value for key, value in wanted.items() if value is not None}


def contradictions(snapshot: Json, choice: ModelChoice) -> list[str]:
    """Where the snapshot says one thing of the model and the command line another."""
    payload = payload_of(snapshot)
    named = payload.get(RECORD)
    if named is not None and choice.connection is None and choice.fields():
        options = " and ".join(dict.fromkeys(_OPTIONS[key] for key in choice.fields()))
        return [f"the snapshot says {RECORD} {named!r}, {options} something else"]
    return [
        f"the snapshot says {key} {payload[key]!r}, {_OPTIONS[key]} says {value!r}"
        for key, value in choice.fields().items()
        if payload.get(key) not in (None, "", value)
    ]


def start_request(
    *,
    chat: Path,
    ref: ChatRef,
    snapshot: Json,
    choice: ModelChoice,
    profile: str | None = None,
    generation_type: str | None = None,
    presentation: str | None = None,
    run_id: str | None = None,
    overrule: bool = False,
) -> dict[str, Json]:
    """The request in its camelCase form; what is wrong with its content is told by the start itself.

    Raises InvalidInput where the snapshot names another model or address than the command line, unless `overrule`.
    """
    choice.check()
    snapshot = with_model(snapshot, choice, overrule=overrule)
    payload = payload_of(snapshot)
    intent = {
        "source": INTENT_SOURCE,
        "generationType": generation_type or "normal",
        **_model_words(payload),
        CHAT_FILE: str(chat.resolve()),
    }
    request: dict[str, Json] = {
        "chatRef": ref.to_json(),
        "promptSnapshot": snapshot,
        "generationType": generation_type,
        "presentation": presentation,
        "generationIntent": intent,
        "runId": run_id,
        **profile_fields(profile),
    }
    return {key: value for key, value in request.items() if value is not None}


def with_model(snapshot: Json, choice: ModelChoice, *, overrule: bool = False) -> Json:
    """A copy of the snapshot whose payload names the model that was chosen."""
    conflicts = contradictions(snapshot, choice)
    if conflicts and not overrule:
        raise InvalidInput(f"{'; '.join(conflicts)}. Leave the option out, or add --yes to use it instead")
    chosen = copy.deepcopy(snapshot)
    payload = payload_of(chosen)
    if choice.fields():
        payload.pop(RECORD, None)
    payload.update(choice.fields())
    if payload.get(RECORD) is not None:
        return chosen
    if not payload.get("model"):
        raise InvalidInput("the snapshot names no model; name one with --model")
    if not payload.get("chat_completion_source"):
        raise InvalidInput(
            "the snapshot names no model server; name one with --base-url, such as http://127.0.0.1:8080/v1"
        )
    return chosen


def profile_fields(given: str | None) -> dict[str, Json]:
    """A stored profile by its id, any other as the document in a file: its name has a dot or a slash."""
    if given is None or is_name(given):
        return {"profileId": given or DEFAULT_PROFILE_ID}
    path = Path(given)
    if not path.exists():
        raise NotFound(f"there is no profile file {given}; an id is of a-z 0-9 _ - (see: treadle profiles list)")
    file = profile_file(path)
    file.profile()  # what is wrong with it is told here, with its line
    return {"profile": file.document}


def _model_words(payload: dict[str, Json]) -> dict[str, Json]:
    """What the intent says of the model; beside a stored connection the payload's own words on it do not count."""
    if payload.get(RECORD) is not None:
        return {"llmConnection": payload[RECORD]}
    return {"chatCompletionSource": payload.get("chat_completion_source"), "model": payload.get("model")}
