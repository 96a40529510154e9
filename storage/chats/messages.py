"""The shape of a SillyTavern message: its text, its swipes, and what an agent run notes in its `extra`.

`mes` is the text shown. A reply keeps its alternatives in `swipes`; `swipe_id` (zero-based) says which is shown, and
`swipe_info` has one `{send_date, extra, …}` for each. The functions here change the message they are given and keep
the shown alternative and the message itself in step, as SillyTavern does.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import cast

from ...graph.errors import HostFailed
from ...graph.jsontext import Json, is_list, is_object
from ...graph.ports import ChatRole
from .file import Message

_TIMES = ("send_date", "gen_started", "gen_finished")
_OF_THE_TEXT = frozenset(
    {
        "api", "display_text", "memory", "model", "reasoning", "reasoning_display_text", "reasoning_duration",
        "reasoning_signature", "reasoning_type", "time_to_first_token", "token_count", "tool_invocations",
    }
)  # fmt: skip
"""Keys of `extra` that describe one text and would lie about another."""
_RENDERED = frozenset({"display_text", "token_count"})


def send_date(seconds: float) -> str:
    """UTC seconds as SillyTavern writes dates since 1.14: ISO 8601 with milliseconds, `2025-11-23T09:30:00.000Z`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_user(message: Message) -> bool:
    return bool(message.get("is_user"))


def is_assistant(message: Message) -> bool:
    """Neither the user's nor the system's."""
    return role_of(message) == "assistant"


def role_of(message: Message) -> ChatRole:
    if message.get("is_user"):
        return "user"
    return "system" if message.get("is_system") else "assistant"


def new_reply(name: str, text: str, date: str) -> Message:
    """A character's message with one swipe."""
    return {
        "name": name,
        "is_user": False,
        "is_system": False,
        "send_date": date,
        "mes": text,
        "extra": {},
        "swipe_id": 0,
        "swipes": [text],
        "swipe_info": [{"send_date": date, "extra": {}}],
    }


def add_swipe(message: Message, text: str, date: str) -> int:
    """One more alternative, which is shown from now on; gives its swipe_id.

    The alternative shown until now is put away whole. What `extra` says of the message stays; what it says of the
    old text, and of the run that wrote it, does not.
    """
    swipes, infos, active = _swipes(message)
    swipes[active] = text_of(message)
    infos[active] = {**infos[active], **_info(message)}
    extra = {key: value for key, value in extra_of(message).items() if key not in _OF_THE_TEXT}
    ours = _inside(extra, "tauritavern")
    if ours is not None:
        extra["tauritavern"] = {key: value for key, value in ours.items() if key != "agent"}
    for key in _TIMES:
        message.pop(key, None)
    message.update(send_date=date, mes=text, extra=copy.deepcopy(extra), swipe_id=len(swipes))
    swipes.append(text)
    infos.append({"send_date": date, "extra": copy.deepcopy(extra)})
    return len(swipes) - 1


def remove_swipe(message: Message) -> None:
    """The alternative that is shown goes; the one in its place is shown, else the last: as SillyTavern deletes a swipe.

    Raises HostFailed where there is no other.
    """
    swipes, infos, active = _swipes(message)
    if len(swipes) < 2:
        raise HostFailed("The run's swipe is the only one of its message.", code="agent.rollback_swipe_state_invalid")
    del swipes[active], infos[active]
    shown = min(active, len(swipes) - 1)
    info = infos[shown]
    for key in _TIMES:
        message.pop(key, None)
    message.update({key: info[key] for key in _TIMES if key in info})
    message.update(mes=swipes[shown], swipe_id=shown, extra=copy.deepcopy(_inside(info, "extra") or {}))


def set_text(message: Message, text: str, date: str) -> None:
    """Another text for the message and for the swipe that is shown."""
    swipes, infos, active = _swipes(message)
    extra = {key: value for key, value in extra_of(message).items() if key not in _RENDERED}
    message.update(send_date=date, mes=text, extra=extra)
    swipes[active] = text
    infos[active] = {**infos[active], **_info(message)}


def text_of(message: Message) -> str:
    """`mes`; raises HostFailed if it is not a string."""
    text = message.get("mes")
    if not isinstance(text, str):
        raise _invalid("its mes is not a string")
    return text


def extra_of(message: Message) -> Message:
    """`extra`, empty if there is none; raises HostFailed if it is not an object."""
    extra = message.get("extra")
    if extra is None:
        return {}
    if not is_object(extra):
        raise _invalid("its extra is not an object")
    return extra


def agent_notes(message: Message) -> Iterator[Message]:
    """Every `extra.tauritavern.agent`: the message's own, then those of its swipes."""
    for holder in (message, *list_of(message.get("swipe_info"))):
        notes = _inside(_inside(_inside(holder, "extra"), "tauritavern"), "agent")
        if notes is not None:
            yield notes


def shown_agent_notes(message: Message) -> Message | None:
    """The notes on the text that is shown."""
    return _inside(_inside(_inside(message, "extra"), "tauritavern"), "agent")


def merge_agent_notes(message: Message, notes: Message) -> None:
    """Notes merged deep into `extra.tauritavern.agent` of the message and of the swipe shown; other keys stay."""
    patch: Message = {"tauritavern": {"agent": notes}}
    message["extra"] = _merged(extra_of(message), patch)
    _, infos, active = _swipes(message)
    infos[active] = {**infos[active], "extra": _merged(_inside(infos[active], "extra") or {}, patch)}


def list_of(value: Json) -> list[Json]:
    """The value if it is a list, else an empty one."""
    return value if is_list(value) else []


def _swipes(message: Message) -> tuple[list[Json], list[Message], int]:
    """The message's own two lists, made or filled up where they are missing, and the index of the one shown."""
    for key in ("swipes", "swipe_info"):
        if message.get(key) is None:
            message[key] = []
        if not is_list(message[key]):
            raise _invalid(f"its {key} is not a list")
    swipes: list[Json] = message["swipes"]
    infos: list[Json] = message["swipe_info"]
    if not swipes:
        swipes.append(text_of(message))
    if message.get("swipe_id") is None and text_of(message) in swipes:
        message["swipe_id"] = swipes.index(text_of(message))
    active = message.get("swipe_id")
    if not isinstance(active, int) or not 0 <= active < len(swipes):
        raise _invalid(f"its swipe_id {active!r} is not that of one of its {len(swipes)} swipes")
    while len(infos) < len(swipes):
        infos.append(_info(message) if len(infos) == active else {"extra": {}})
    for index, info in enumerate(infos):
        if not is_object(info):
            infos[index] = {"extra": {}}  # SillyTavern itself leaves holes (null) here
    return swipes, cast(list[Message], infos), active


def _info(message: Message) -> Message:
    """What `swipe_info` keeps of the text that is shown."""
    info: Message = {key: message[key] for key in _TIMES if key in message}
    return {**info, "extra": copy.deepcopy(extra_of(message))}


def _inside(value: Json, key: str) -> Message | None:
    inner = value.get(key) if is_object(value) else None
    return inner if is_object(inner) else None


def _merged(old: Message, patch: Message) -> Message:
    merged = dict(old)
    for key, value in patch.items():
        inner = _inside(merged, key)
        new = _inside(patch, key)
        merged[key] = _merged(inner, new) if inner is not None and new is not None else copy.deepcopy(value)
    return merged


def _invalid(fault: str) -> HostFailed:
    return HostFailed(f"The chat's last message can't be changed: {fault}.", code="agent.chat_commit_message_invalid")
