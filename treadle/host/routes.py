"""How an arrow goes from box to box: straight where the way is free, else in a lane beside the boxes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..graph.drawing import Arrow
from .layout import Box, Plan

Point = tuple[float, float]
Side = Literal["left", "right"]

LETTER = 7.2
"""Pixels that one letter of a label takes."""
LINE = 14.0
"""Pixels from one line of a label to the next."""
_GAP = 7.0
_STEM = 26.0


@dataclass(frozen=True, slots=True)
class Label:
    """Lines of text; (x, y) is the first line's baseline, and x its start or its end."""

    lines: tuple[str, ...]
    x: float
    y: float
    anchor: Literal["start", "end"] = "start"

    @property
    def box(self) -> Box:
        width = max(map(len, self.lines)) * LETTER
        left = self.x if self.anchor == "start" else self.x - width
        return Box(left, self.y - 10, width, LINE * (len(self.lines) - 1) + 13)


@dataclass(frozen=True, slots=True)
class Route:
    arrow: Arrow
    points: tuple[Point, ...]
    """Corners of the way; the arrow's head is at the last."""
    label: Label
    back: bool
    """It leads to a step that stands earlier: a loop."""


def routes(plan: Plan) -> tuple[Route, ...]:
    """A way for each arrow of the plan; raises KeyError for a step that has no place."""
    straight: dict[tuple[str, ...], list[Arrow]] = {}
    lanes: list[Arrow] = []
    found: list[Route] = []
    for arrow in plan.arrows:
        start, end = plan.boxes[arrow.step], plan.boxes[arrow.next]
        if arrow.step == arrow.next:
            found.append(_loop(arrow, start))
        elif _column(plan, start, end) or _side_by_side(start, end):
            straight.setdefault(tuple(sorted((arrow.step, arrow.next))), []).append(arrow)
        else:
            lanes.append(arrow)
    for group in straight.values():
        start, end = plan.boxes[group[0].step], plan.boxes[group[0].next]
        found += _across(plan, group) if _side_by_side(start, end) else _upright(plan, group)
    return (*found, *_in_lanes(plan, lanes))


def _column(plan: Plan, start: Box, end: Box) -> tuple[float, float] | None:
    """The widest free strip in which a vertical line joins the two, or None."""
    upper, lower = sorted((start, end), key=lambda box: box.y)
    if lower.y < upper.bottom:
        return None
    strips = [(max(start.x, end.x), min(start.right, end.right))]
    for box in _between(plan.boxes.values(), upper, lower):
        strips = [part for low, high in strips for part in ((low, min(high, box.x)), (max(low, box.right), high))]
    widest = max(strips, key=lambda strip: strip[1] - strip[0])
    return widest if widest[1] - widest[0] >= 10 else None


def _between(boxes: Iterable[Box], upper: Box, lower: Box) -> list[Box]:
    return [box for box in boxes if box.y >= upper.bottom and box.bottom <= lower.y]


def _side_by_side(start: Box, end: Box) -> bool:
    return min(start.bottom, end.bottom) > max(start.y, end.y)


def _slots(low: float, high: float, count: int) -> list[float]:
    return [low + (high - low) * (number + 1) / (count + 1) for number in range(count)]


def _upright(plan: Plan, group: Sequence[Arrow]) -> list[Route]:
    """Vertical lines between two boxes, those that go down on the left."""
    first = group[0]
    upper, lower = sorted((plan.boxes[first.step], plan.boxes[first.next]), key=lambda box: box.y)
    strip = _column(plan, upper, lower) or (0.0, 0.0)
    top = max([upper.bottom, *(box.bottom for box in _between(plan.boxes.values(), upper, lower))])
    ordered = sorted(group, key=lambda arrow: plan.boxes[arrow.next] is upper)
    found: list[Route] = []
    for arrow, x in zip(ordered, _slots(*strip, len(ordered)), strict=True):
        back = plan.boxes[arrow.next] is upper
        ends = ((x, lower.y), (x, upper.bottom)) if back else ((x, upper.bottom), (x, lower.y))
        height = LINE * (len(arrow.outcomes) - 1)
        y = (top + lower.y) / 2 - height / 2 + (7 if back else 1)
        outward = len(group) > 1 and not back
        label = Label(arrow.outcomes, x - _GAP, y, "end") if outward else Label(arrow.outcomes, x + _GAP, y)
        found.append(Route(arrow, ends, label, back))
    return found


def _across(plan: Plan, group: Sequence[Arrow]) -> list[Route]:
    """Horizontal lines between two boxes side by side, those that go right above."""
    first = group[0]
    left, right = sorted((plan.boxes[first.step], plan.boxes[first.next]), key=lambda box: box.x)
    ordered = sorted(group, key=lambda arrow: plan.boxes[arrow.next] is left)
    heights = _slots(max(left.y, right.y), min(left.bottom, right.bottom), len(ordered))
    found: list[Route] = []
    for arrow, y in zip(ordered, heights, strict=True):
        back = plan.boxes[arrow.next] is left
        ends = ((right.x, y), (left.right, y)) if back else ((left.right, y), (right.x, y))
        middle = (left.right + right.x) / 2 - len(arrow.label) * LETTER / 2
        found.append(Route(arrow, ends, Label((arrow.label,), middle, y + LINE if back else y - 6), back))
    return found


def _loop(arrow: Arrow, box: Box) -> Route:
    out, home, top = box.right - 44, box.right - 14, box.y - 24
    return Route(
        arrow,
        ((out, box.y), (out, top), (home, top), (home, box.y)),
        Label((arrow.label,), home + _GAP, top + 10),
        back=True,
    )


def _in_lanes(plan: Plan, waiting: Sequence[Arrow]) -> list[Route]:
    """Ways round the boxes: one lane for each target and side, the longest outermost."""
    spans: dict[tuple[Side, str], float] = {}
    for arrow in waiting:
        key = (_side(plan, arrow), arrow.next)
        reach = abs(plan.boxes[arrow.step].middle[1] - plan.boxes[arrow.next].middle[1])
        spans[key] = max(reach, spans.get(key, 0.0))
    ranks: dict[Side, list[str]] = {"left": [], "right": []}
    for (side, target), _ in sorted(spans.items(), key=lambda item: item[1]):
        ranks[side].append(target)
    return [_in_lane(plan, arrow, ranks, waiting) for arrow in waiting]


def _in_lane(plan: Plan, arrow: Arrow, ranks: dict[Side, list[str]], waiting: Sequence[Arrow]) -> Route:
    side = _side(plan, arrow)
    start, end = plan.boxes[arrow.step], plan.boxes[arrow.next]
    rank = ranks[side].index(arrow.next) + 1
    if side == "left":
        lane, out, home = min(box.x for box in plan.boxes.values()) - plan.left_gap * rank, start.x, end.x
    else:
        lane, out, home = max(box.right for box in plan.boxes.values()) + plan.right_gap * rank, start.right, end.right
    leaves = _port(plan, arrow.step, arrow.next, side, ranks, waiting)
    arrives = _port(plan, arrow.next, arrow.next, side, ranks, waiting)
    room = abs(out - lane) - _STEM / 2
    lines = (arrow.label,) if len(arrow.label) * LETTER <= room else arrow.outcomes
    edge = out - 8 if side == "left" else out + 8
    label = Label(lines, edge, leaves - 6 - LINE * (len(lines) - 1), "end" if side == "left" else "start")
    return Route(arrow, ((out, leaves), (lane, leaves), (lane, arrives), (home, arrives)), label, end.y < start.y)


def _port(
    plan: Plan, step: str, lane: str, side: Side, ranks: dict[Side, list[str]], waiting: Sequence[Arrow]
) -> float:
    """The height at which a lane meets a box: outer lanes above inner ones."""
    used = {arrow.next for arrow in waiting if step in (arrow.step, arrow.next) and _side(plan, arrow) == side}
    ordered = sorted(used, key=lambda target: -ranks[side].index(target))
    box = plan.boxes[step]
    return _slots(box.y, box.bottom, len(ordered))[ordered.index(lane)]


def _side(plan: Plan, arrow: Arrow) -> Side:
    return "left" if plan.boxes[arrow.step].middle[0] < plan.axis else "right"
