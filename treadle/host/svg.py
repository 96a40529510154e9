"""The picture of the machine as SVG of our own, and as PNG where the extra `draw` is installed."""

from __future__ import annotations

from html import escape

from ..graph.errors import InvalidInput
from ..graph.table import Outcome, Step, signature
from .layout import HEIGHT, LOOKS, WIDTH, Box, Look, Plan, machine, retry
from .routes import LINE, Point, Route, routes

_MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_SANS = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"

_UNHAPPY = {
    Outcome.REFUSED, Outcome.BROKEN, Outcome.CANCELLED, Outcome.FAILED, Outcome.TEXT_ONLY, Outcome.ROUNDS_SPENT,
}  # fmt: skip
_INKS = {"on": "#1e293b", "back": "#4f46e5", "off": "#a3b0c2"}
_FAMILIES = {
    "prepare": ("#eef2f7", "#64748b"),
    "model": ("#fff7e6", "#d08700"),
    "tools": ("#e9f9ef", "#1a9a57"),
    "effect": ("#e8f4fd", "#1a7fc4"),
    "finish": ("#f1effd", "#6d5bd0"),
}

_STYLE = f"""
text {{ font-family: {_MONO}; font-size: 12px; fill: #1e293b }}
.name {{ font-size: 14px; font-weight: 700 }}
.small {{ font-size: 12.5px; font-weight: 700 }}
.caption {{ font-family: {_SANS}; font-size: 11.5px; fill: #475569 }}
.back {{ fill: {_INKS["back"]} }}
.off {{ fill: #6f7f95 }}
path {{ fill: none; stroke-width: 1.6; stroke-linejoin: round }}
"""


def svg() -> str:
    """The whole picture: every step, every outcome, the sub-graph as a box of its own."""
    outer, inner = machine(), retry()
    ways = (*routes(outer), *routes(inner))
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(WIDTH)} {_n(HEIGHT)}" '
            f'width="{_n(WIDTH)}" height="{_n(HEIGHT)}" role="img" aria-labelledby="title about">'
        ),
        '<title id="title">The machine that a run follows</title>',
        '<desc id="about">Boxes are steps; an arrow carries the outcomes that take it.</desc>',
        f"<style>{_STYLE}</style>",
        "<defs>",
        *(_head(kind, ink) for kind, ink in _INKS.items()),
        "</defs>",
        f'<rect x="1" y="1" width="{_n(WIDTH - 2)}" height="{_n(HEIGHT - 2)}" rx="14" fill="#ffffff" stroke="#e2e8f0"/>',
        _cluster(Step.RETRY_MODEL, outer.boxes[Step.RETRY_MODEL]),
        *(_way(way) for way in sorted(ways, key=_kind, reverse=True)),
        *_boxes(outer),
        *_boxes(inner),
        *(_label(way) for way in ways),
        f'<text x="{_n(WIDTH - 20)}" y="{_n(HEIGHT - 18)}" class="caption" text-anchor="end">machine {signature()}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def png() -> bytes:
    """The same picture as PNG, twice as large; raises InvalidInput where the renderer is not installed."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError as missing:
        raise InvalidInput(
            "PNG needs the extra `draw`: pip install 'treadle[draw]', or take --format svg", code="draw.not_installed"
        ) from missing
    return svg_to_bytes(svg_string=svg(), zoom=2)


def _boxes(plan: Plan) -> list[str]:
    drawn = [_start_dot(plan.boxes[plan.start]), _end_dot(plan.boxes[plan.end])]
    for step, box in plan.boxes.items():
        if step not in (plan.end, Step.RETRY_MODEL):
            drawn.append(_step(step, box, LOOKS[step]))
    return drawn


def _step(step: str, box: Box, look: Look) -> str:
    x, y = box.middle
    name = escape(step.rpartition("/")[2], quote=False)
    shape = _rectangle(box, look.family, 9)
    if not look.caption:
        return f'{shape}<text x="{_n(x)}" y="{_n(y + 4.5)}" class="small" text-anchor="middle">{name}</text>'
    return (
        f'{shape}<text x="{_n(x)}" y="{_n(y - 2)}" class="name" text-anchor="middle">{name}</text>'
        f'<text x="{_n(x)}" y="{_n(y + 14)}" class="caption" text-anchor="middle">{escape(look.caption, quote=False)}</text>'
    )


def _cluster(step: str, box: Box) -> str:
    look = LOOKS[step]
    return (
        f"{_rectangle(box, look.family, 12, dashed=True)}"
        f'<text x="{_n(box.x + 14)}" y="{_n(box.y + 24)}" class="name">{escape(step, quote=False)}</text>'
        f'<text x="{_n(box.x + 14)}" y="{_n(box.y + 40)}" class="caption">{escape(look.caption, quote=False)}</text>'
    )


def _rectangle(box: Box, family: str, radius: float, *, dashed: bool = False) -> str:
    fill, line = _FAMILIES[family]
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    if dashed:
        fill = "#fffcf5"
    return (
        f'<rect x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}" rx="{_n(radius)}" '
        f'fill="{fill}" stroke="{line}" stroke-width="1.5"{dash}/>'
    )


def _start_dot(first: Box) -> str:
    x, y = first.middle[0], first.y - 22
    return (
        f'<circle cx="{_n(x)}" cy="{_n(y)}" r="6" fill="{_INKS["on"]}"/>'
        f'<path d="M{_n(x)} {_n(y + 6)}V{_n(first.y - 2)}" stroke="{_INKS["on"]}" marker-end="url(#head-on)"/>'
    )


def _end_dot(box: Box) -> str:
    x, y = box.middle
    ink = _INKS["on"]
    return (
        f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(box.width / 2)}" fill="#ffffff" stroke="{ink}" stroke-width="1.5"/>'
        f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(box.width / 2 - 4)}" fill="{ink}"/>'
    )


def _way(way: Route) -> str:
    kind = _kind(way)
    return (
        f'<path d="{_path(way.points)}" stroke="{_INKS[kind]}" marker-end="url(#head-{kind})" '
        f'data-step="{way.arrow.step}" data-next="{way.arrow.next}"/>'
    )


def _kind(way: Route) -> str:
    if all(outcome in _UNHAPPY for outcome in way.arrow.outcomes):
        return "off"
    return "back" if way.back else "on"


def _label(way: Route) -> str:
    label = way.label
    kind = "back" if _kind(way) == "back" else ""
    lines = [_outcomes(line, kind) for line in label.lines]
    spans = "".join(
        f'<tspan x="{_n(label.x)}" y="{_n(label.y + LINE * number)}">{line}</tspan>'
        for number, line in enumerate(lines)
    )
    return f'<text text-anchor="{label.anchor}" {_HALO}>{spans}</text>'


_HALO = 'paint-order="stroke" stroke="#ffffff" stroke-width="3" stroke-linejoin="round"'


def _outcomes(line: str, kind: str) -> str:
    """The words of a line, each in the ink of its fate."""
    words = [(word, "off" if word in _UNHAPPY else kind) for word in line.split(" | ")]
    return '<tspan class="off"> | </tspan>'.join(
        f'<tspan class="{ink}">{escape(word, quote=False)}</tspan>' for word, ink in words
    )


def _path(points: tuple[Point, ...], radius: float = 9) -> str:
    """A line with round corners, which stops two pixels before its end so that the head touches the box."""
    start, end = points[0], _toward(points[-1], points[-2], 2)
    corners = ""
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        into, out = _toward(corner, before, radius), _toward(corner, after, radius)
        corners += f"L{_xy(into)}Q{_xy(corner)} {_xy(out)}"
    return f"M{_xy(start)}{corners}L{_xy(end)}"


def _toward(point: Point, other: Point, distance: float) -> Point:
    dx, dy = other[0] - point[0], other[1] - point[1]
    length = abs(dx) + abs(dy)
    step = min(distance, length / 2) / length if length else 0
    return point[0] + dx * step, point[1] + dy * step


def _head(kind: str, ink: str) -> str:
    return (
        f'<marker id="head-{kind}" viewBox="0 0 10 10" refX="8.5" refY="5" markerWidth="9" markerHeight="9" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 1L9 5L0 9Z" style="fill:{ink}"/></marker>'
    )


def _xy(point: Point) -> str:
    return f"{_n(point[0])} {_n(point[1])}"


def _n(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
