"""What a scripted Responses provider does with a request: answer, refuse, say something odd, or break off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ...graph.jsontext import Json
from ..replies import Call, Reply, error
from ..turns import Fault, Refusal, Turn, Usage
from .http_server import Received

GIANT = 3 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A reasoning item; its `encrypted_content` is sent where the request includes it."""

    summary: str = ""


@dataclass(frozen=True, slots=True)
class Say:
    """A message item with one `output_text`, or with one `refusal`."""

    text: str
    kind: Literal["output_text", "refusal"] = "output_text"


Item = Reasoning | Say | Call | bytes
"""An item of an answer; ids are given where it is sent. Bytes go out as they are."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One response. `ahead` are frames sent before its first event; a forgotten one can not be continued from."""

    items: tuple[Item, ...]
    status: Literal["completed", "incomplete", "failed"] = "completed"
    reason: str | None = None
    """Of an incomplete response (`max_output_tokens`), or the error's code of a failed one."""
    delay: float = 0.0
    ahead: tuple[bytes, ...] = ()
    forgotten: bool = False
    usage: Usage = field(default_factory=Usage)
    extras: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Further keys of the response; they win over those that are made."""
    fault: Fault | None = None
    """What becomes of the body, or of the last frame; `Broken` breaks it off."""

    def after(self, seconds: float) -> Answer:
        return replace(self, delay=seconds)


@dataclass(frozen=True, slots=True)
class Broken:
    """The first `events` events of a turn, then the socket is closed with `code` (None: cut off without a word).

    Over HTTP the connection is cut off: inside the body, or before the answer where `events` is 0.
    """

    turn: Answer | Reply
    events: int
    code: int | None = None


Done = Answer | Reply | Broken
"""A Reply is an HTTP answer as it is; on a socket an error event, or its body as one frame where it is no error."""

Said = Turn | Refusal | Done
"""A turn and a refusal are a script that every provider's simulator can be given."""

Step = Said | Callable[[Received], Said]


def answers(*items: Item) -> Answer:
    return Answer(items)


def giant() -> Answer:
    """An answer that fills a frame of more than 3 MiB."""
    return Answer((Say("x" * GIANT),))


def limit_reached() -> Broken:
    """The socket is an hour old: the turn is refused, and the socket closed."""
    message = (
        "Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue."
    )
    return Broken(error(400, message, code="websocket_connection_limit_reached"), 1, 1000)
