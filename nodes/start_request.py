"""What a caller asks for when it starts a run, read from its JSON."""

from __future__ import annotations

from dataclasses import dataclass

from ..graph.errors import InvalidInput
from ..graph.identity import ChatRef, chat_ref
from ..graph.jsontext import Json, is_object
from ..graph.profiles.schema import Presentation


@dataclass(frozen=True, slots=True)
class StartRequest:
    """A start request in its normal form: texts trimmed, a blank or null field is None.

    The snapshot, the intent and the frozen input stay as they came. `presentation` holds the override that counts:
    the request's own, else that of its options.
    """

    chat_ref: ChatRef
    prompt_snapshot: Json = None
    stable_chat_id: str | None = None
    """None: the host says which chat it is."""
    generation_type: str = "normal"
    profile: Json = None
    """A profile document; it goes before `profile_id`."""
    profile_id: str | None = None
    generation_intent: Json = None
    presentation: Presentation | None = None
    options: Json = None
    persist_base_state_id: str | None = None
    """Kept as it came: blank is refused by the start checks, not taken for absent."""
    frozen_run_input_snapshot: Json = None
    run_id: str | None = None

    def to_json(self) -> dict[str, Json]:
        """The request as JSON, without what is None and without `runId`, which names the run and is no input of it."""
        fields: dict[str, Json] = {
            "chatRef": self.chat_ref.to_json(),
            "stableChatId": self.stable_chat_id,
            "generationType": self.generation_type,
            "profile": self.profile,
            "profileId": self.profile_id,
            "promptSnapshot": self.prompt_snapshot,
            "generationIntent": self.generation_intent,
            "presentation": self.presentation,
            "options": self.options,
            "persistBaseStateId": self.persist_base_state_id,
            "frozenRunInputSnapshot": self.frozen_run_input_snapshot,
        }
        return {key: value for key, value in fields.items() if value is not None}


def start_request(given: Json) -> StartRequest:
    """A start request from its camelCase JSON; unknown fields are ignored.

    Raises InvalidInput: `agent.invalid_chat_ref`, `agent.options_invalid`, `agent.auto_commit_removed`,
    `agent.presentation_invalid`, `agent.invalid_generation_type`, or `agent.validation_error` for a text that is none.
    """
    if not is_object(given):
        raise InvalidInput("a start request must be a JSON object")
    options = _options(given.get("options"))
    return StartRequest(
        chat_ref=chat_ref(given.get("chatRef")),
        prompt_snapshot=given.get("promptSnapshot"),
        stable_chat_id=_text(given, "stableChatId") or _text(given, "stableId"),
        generation_type=_generation_type(given.get("generationType")),
        profile=given.get("profile"),
        profile_id=_text(given, "profileId"),
        generation_intent=given.get("generationIntent"),
        presentation=_presentation(given.get("presentation")) or _presentation((options or {}).get("presentation")),
        options=options,
        persist_base_state_id=_kept_text(given, "persistBaseStateId"),
        frozen_run_input_snapshot=given.get("frozenRunInputSnapshot"),
        run_id=_text(given, "runId"),
    )


def _options(value: Json) -> dict[str, Json] | None:
    if value is None:
        return None
    if not is_object(value):
        raise InvalidInput("options must be an object", code="agent.options_invalid")
    if "autoCommit" in value:
        raise InvalidInput(
            "options.autoCommit is gone: the model commits with workspace.commit; remove it",
            code="agent.auto_commit_removed",
        )
    return value


def _presentation(value: Json) -> Presentation | None:
    match value:
        case None | "foreground" | "background":
            return value
        case _:
            raise InvalidInput(
                f'presentation must be "foreground" or "background", not {value!r}', code="agent.presentation_invalid"
            )


def _generation_type(value: Json) -> str:
    if value is None:
        return "normal"
    if not isinstance(value, str):
        raise InvalidInput("generationType must be a string", code="agent.invalid_generation_type")
    return value.strip()


def _text(given: dict[str, Json], key: str) -> str | None:
    text = _kept_text(given, key)
    return (text.strip() or None) if text is not None else None


def _kept_text(given: dict[str, Json], key: str) -> str | None:
    value = given.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"{key} must be a string")
    return value
