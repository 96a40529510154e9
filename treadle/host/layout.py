"""Where the steps stand in the picture: the one thing that the table does not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..graph.drawing import Arrow, arrows, retry_arrows
from ..graph.table import RETRY_START, START, RetryStep, Step, inside


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels; y grows downwards."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Look:
    """How a step shows itself: a line for newcomers, and the family that gives it a colour."""

    caption: str
    family: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A graph and the places of its steps; arrows that find no straight way run in lanes beside the boxes."""

    boxes: Mapping[str, Box]
    arrows: tuple[Arrow, ...]
    start: str
    end: str
    axis: float
    """Steps whose middle lies left of it use the lanes on the left."""
    left_gap: float
    right_gap: float


WIDTH, HEIGHT = 1040.0, 896.0

_DOT = 18.0
_ROW = 46.0

PLACES: dict[str, Box] = {
    Step.RESOLVE_PROFILE: Box(356, 56, 180, _ROW),
    Step.ASSEMBLE_CONTEXT: Box(356, 152, 180, _ROW),
    Step.CALL_MODEL: Box(356, 262, 180, _ROW),
    Step.RETRY_MODEL: Box(636, 100, 236, 306),
    Step.DISPATCH_TOOLS: Box(206, 446, 776, _ROW),
    Step.CHECKPOINT: Box(206, 576, 150, _ROW),
    Step.COMMIT: Box(536, 576, 150, _ROW),
    Step.AWAIT_APPROVAL: Box(832, 576, 150, _ROW),
    Step.FINISH: Box(206, 720, 776, _ROW),
    Step.END: Box(446 - _DOT / 2, 842, _DOT, _DOT),
}

RETRY_PLACES: dict[str, Box] = {
    inside(RetryStep.BACKOFF): Box(666, 178, 100, 34),
    inside(RetryStep.ATTEMPT): Box(666, 262, 100, 34),
    inside(RetryStep.END): Box(716 - _DOT / 2, 376, _DOT, _DOT),
}

LOOKS: dict[str, Look] = {
    Step.RESOLVE_PROFILE: Look("freeze the profile", "prepare"),
    Step.ASSEMBLE_CONTEXT: Look("build the first request", "prepare"),
    Step.CALL_MODEL: Look("ask the model once", "model"),
    Step.RETRY_MODEL: Look("wait, and ask again", "model"),
    Step.DISPATCH_TOOLS: Look("run the model's calls, one after another", "tools"),
    Step.CHECKPOINT: Look("copy what changed", "effect"),
    Step.COMMIT: Look("write into the chat", "effect"),
    Step.AWAIT_APPROVAL: Look("wait for a person", "effect"),
    Step.FINISH: Look("keep what persists, and close the run", "finish"),
    inside(RetryStep.BACKOFF): Look("", "model"),
    inside(RetryStep.ATTEMPT): Look("", "model"),
}


def machine() -> Plan:
    return Plan(PLACES, arrows(), START, Step.END, axis=WIDTH / 2, left_gap=86, right_gap=32)


def retry() -> Plan:
    return Plan(
        RETRY_PLACES, retry_arrows(), inside(RETRY_START), inside(RetryStep.END), axis=0, left_gap=0, right_gap=78
    )
