"""The picture holds the whole machine and can be read."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import pytest

from treadle.graph.drawing import arrows, retry_arrows
from treadle.graph.table import RETRY_TRANSITIONS, TRANSITIONS, inside
from treadle.host.layout import HEIGHT, PLACES, RETRY_PLACES, WIDTH, Box, machine, retry
from treadle.host.routes import Route, routes
from treadle.host.svg import png, svg

SVG = "{http://www.w3.org/2000/svg}"
ROUTES = (*routes(machine()), *routes(retry()))


def test_every_step_has_a_place() -> None:
    assert set(TRANSITIONS) < set(PLACES)
    assert {inside(step) for step in RETRY_TRANSITIONS} < set(RETRY_PLACES)


def test_every_arrow_of_the_table_has_a_way() -> None:
    drawn = [way.arrow for way in ROUTES]

    assert set(drawn) == {*arrows(), *retry_arrows()}
    assert len(drawn) == len(set(drawn))


def test_an_arrow_begins_and_ends_at_the_boxes_that_it_joins() -> None:
    boxes = PLACES | RETRY_PLACES

    for way in ROUTES:
        assert _on_edge(boxes[way.arrow.step], way.points[0]), way.arrow
        assert _on_edge(boxes[way.arrow.next], way.points[-1]), way.arrow


def test_no_arrow_runs_through_a_box() -> None:
    crossed = [
        (way.arrow.label, name)
        for plan in (machine(), retry())
        for way in routes(plan)
        for name, box in plan.boxes.items()
        for start, end in zip(way.points, way.points[1:], strict=False)
        if _meet(_line(start, end), _shrunk(box))
    ]

    assert crossed == []


def test_no_label_lies_on_another_or_on_a_box() -> None:
    labels = [way.label.box for way in ROUTES]
    solid = [box for name, box in (PLACES | RETRY_PLACES).items() if name != "retry_model"]

    assert [pair for pair in combinations(labels, 2) if _meet(*pair)] == []
    assert [(label, box) for label in labels for box in solid if _meet(label, box)] == []


def test_no_label_is_crossed_by_the_way_of_another_arrow() -> None:
    crossed = [
        (way.arrow.label, other.arrow.label)
        for way in ROUTES
        for other in ROUTES
        if way is not other and any(_meet(way.label.box, line) for line in _lines(other))
    ]

    assert crossed == []


def test_all_labels_stand_inside_the_picture() -> None:
    frame = Box(0, 0, WIDTH, HEIGHT)

    outside = [way.arrow.label for way in ROUTES if not _within(way.label.box, frame)]
    assert outside == []


def test_arrows_that_go_back_are_marked_as_loops() -> None:
    loops = {(way.arrow.step, way.arrow.next) for way in ROUTES if way.back}

    assert ("checkpoint", "call_model") in loops
    assert ("dispatch_tools", "call_model") in loops
    assert ("call_model", "call_model") in loops
    assert ("retry_model/attempt", "retry_model/backoff") in loops
    assert ("call_model", "dispatch_tools") not in loops


def test_the_svg_is_xml_and_says_every_step_and_outcome() -> None:
    root = ElementTree.fromstring(svg())

    words = {text.strip() for text in root.itertext()}
    paths = {(path.get("data-step"), path.get("data-next")) for path in root.iter(f"{SVG}path")}
    assert words.issuperset(step.value for step in TRANSITIONS)
    assert words.issuperset(outcome for arrow in (*arrows(), *retry_arrows()) for outcome in arrow.outcomes)
    assert paths.issuperset((arrow.step, arrow.next) for arrow in (*arrows(), *retry_arrows()))


def test_the_png_is_the_picture_twice_as_large() -> None:
    pytest.importorskip("resvg_py")

    image = png()

    assert image.startswith(b"\x89PNG")
    size = int.from_bytes(image[16:20], "big"), int.from_bytes(image[20:24], "big")
    assert size == (2 * WIDTH, 2 * HEIGHT)


def _on_edge(box: Box, point: tuple[float, float]) -> bool:
    x, y = point
    inside_x, inside_y = box.x <= x <= box.right, box.y <= y <= box.bottom
    return (inside_x and y in (box.y, box.bottom)) or (inside_y and x in (box.x, box.right))


def _lines(way: Route) -> list[Box]:
    return [_line(start, end) for start, end in zip(way.points, way.points[1:], strict=False)]


def _line(start: tuple[float, float], end: tuple[float, float]) -> Box:
    left, top = min(start[0], end[0]), min(start[1], end[1])
    return Box(left - 0.5, top - 0.5, abs(start[0] - end[0]) + 1, abs(start[1] - end[1]) + 1)


def _shrunk(box: Box) -> Box:
    return Box(box.x + 2, box.y + 2, box.width - 4, box.height - 4)


def _meet(one: Box, other: Box) -> bool:
    return one.x < other.right and other.x < one.right and one.y < other.bottom and other.y < one.bottom


def _within(box: Box, frame: Box) -> bool:
    return box.x >= frame.x and box.right <= frame.right and box.y >= frame.y and box.bottom <= frame.bottom
