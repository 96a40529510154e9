"""What a scripted model says, in no provider's words: each simulator writes it in its own format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ..graph.jsontext import Json
from .replies import Call

Finish = Literal["stop", "tool_calls", "length", "filter", "refusal", "pause"]
"""Why an answer ends. A provider that has no word for it answers with 400 `script_unsayable`."""

Fault = Literal["drop", "break_off", "truncate", "html", "empty"]
"""What becomes of an answer on its way.

- `drop`: the connection is closed before the answer;
- `break_off`: it is closed inside the body;
- `truncate`: half of the body comes as if it were all;
- `html`: a page comes in its place, with the answer's status;
- `empty`: no body comes, with the answer's status.
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, whichever names a provider has for them. `input` counts the cached ones, `output` not the thinking."""

    input: int = 9
    output: int = 5
    thinking: int = 0
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the model: its reasoning, then `blocks`, its text, its calls."""

    text: str = ""
    reasoning: str | None = None
    """None: no reasoning; "": reasoning that is not shown, but signed where the provider signs."""
    calls: tuple[Call, ...] = ()
    """Ids are given where the turn is sent, unless a call brings its own. Arguments that are a text go out as they are."""
    finish: Finish | None = None
    """None: `tool_calls` where there are calls, else `stop`."""
    usage: Usage = Usage()
    blocks: tuple[bytes, ...] = ()
    """Blocks of one provider's own, each as it is to be sent; formats whose answers hold no blocks refuse them."""
    extras: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Further keys of the answer's document; they win over those that are made."""
    delay: float = 0.0
    fault: Fault | None = None

    @property
    def end(self) -> Finish:
        return self.finish or ("tool_calls" if self.calls else "stop")

    def after(self, seconds: float) -> Turn:
        return replace(self, delay=seconds)

    def broken(self, fault: Fault) -> Turn:
        return replace(self, fault=fault)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error in the provider's own shape. A blank `code` is the one that the provider gives with the status."""

    status: int
    message: str = "The server refused."
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Such as `{"retry-after": "2"}`."""
    delay: float = 0.0
    fault: Fault | None = None

    def after(self, seconds: float) -> Refusal:
        return replace(self, delay=seconds)

    def broken(self, fault: Fault) -> Refusal:
        return replace(self, fault=fault)


def says(
    text: str = "",
    *made: Call,
    reasoning: str | None = None,
    finish: Finish | None = None,
    usage: Usage | None = None,
    blocks: tuple[bytes, ...] = (),
    **extras: Json,
) -> Turn:
    """A turn: `says("I draft it.", call("workspace.write_file", path="a.md", content="…"), reasoning="First a draft.")`."""
    return Turn(text, reasoning, made, finish, usage or Usage(), blocks, extras)
