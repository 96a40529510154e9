"""The figures as text for people."""

from __future__ import annotations

from typing import cast

from figures import CONTESTANTS, Figures, machine

_NAMES = {
    "engine": "(a) this engine",
    "floor": "(b) hand-written loop",
    "blocking": "(b) blocking the event loop",
    "working": "    and that in two bare nodes",
    "agent": "(c) LangChain's create_agent",
    "super_step": "(s) one super-step, empty",
}
_HEAD = ("", "rounds", "ms/round", "mean", "CPU", "encode", "files KB/round", "sqlite KB/round", "by (a)")


def lines(figures: Figures) -> list[str]:
    """A Markdown table, then the ratios."""
    told = machine(figures)
    rows = [_HEAD, *_rows(figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    shown = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    shown.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    head = ", ".join(f"{name} {value}" for name, value in told.items())
    return [head, "", *shown, "", *_claims(figures)]


def _rows(figures: Figures) -> list[tuple[str, ...]]:
    engine = {each.rounds: each for each in figures.best("engine")}
    rows: list[tuple[str, ...]] = []
    for name in CONTESTANTS:
        for run in figures.best(name):
            alike = engine.get(run.rounds)
            rows.append(
                (
                    _NAMES[name],
                    f"{run.rounds:,}",
                    f"{run.wall_ms:.3f}",
                    f"{run.mean_ms:.3f}",
                    f"{run.cpu_ms:.3f}",
                    f"{run.encode_ms:.3f}" if run.encode_ms else "-",
                    f"{run.disk.bytes / run.rounds / 1000:.1f}" if run.disk.files else "-",
                    f"{run.disk.database_bytes / run.rounds / 1000:.2f}" if run.disk.database_bytes else "-",
                    f"{run.wall_ms / alike.wall_ms:.2f}" if alike else "-",
                )
            )
        if name == "agent" and any(length not in figures.runs.get(name, {}) for length in engine):
            longest = max(engine)
            rows.append((_NAMES[name], f"{longest:,}", "not run", *[""] * (len(_HEAD) - 3)))
    return rows


def _claims(figures: Figures) -> list[str]:
    claims = figures.claims()
    return [f"{name.replace('_', ' ')}: {_shown(value)}" for name, value in claims.items()]


def _shown(value: object) -> str:
    if isinstance(value, dict):
        pairs = cast(dict[object, object], value).items()
        return ", ".join(f"{name} {_nested(each)}" for name, each in pairs)
    if isinstance(value, list):
        return ", ".join(str(each) for each in cast(list[object], value))
    return str(value)


def _nested(value: object) -> str:
    return f"({_shown(cast(object, value))})" if isinstance(value, dict) else str(value)
