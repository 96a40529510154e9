"""The machine drawn from its tables: arrows, Mermaid text, and JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .jsontext import Json
from .table import RETRY_START, RETRY_TRANSITIONS, START, TRANSITIONS, RetryStep, Step, inside, signature


@dataclass(frozen=True, slots=True)
class Arrow:
    """All outcomes that lead from one step to one next step; a step of the sub-graph is written `retry_model/backoff`."""

    step: str
    outcomes: tuple[str, ...]
    next: str

    @property
    def label(self) -> str:
        """The outcomes as one text, joined with ` | `."""
        return " | ".join(self.outcomes)


def arrows() -> tuple[Arrow, ...]:
    """The arrows between the steps, in the order of the table."""
    return _merged(
        {str(step): {str(outcome): str(after) for outcome, after in row.items()} for step, row in TRANSITIONS.items()}
    )


def retry_arrows() -> tuple[Arrow, ...]:
    """The arrows inside `retry_model`."""
    return _merged(
        {
            inside(step): {str(outcome): inside(after) for outcome, after in row.items()}
            for step, row in RETRY_TRANSITIONS.items()
        }
    )


def as_json() -> dict[str, Json]:
    """The machine for programs.

    `{signature, start, end, nodes, edges}`: an edge is `{step, outcome, next}`, one for each entry of the table. The
    node `retry_model` carries its own `graph` of the same shape.
    """
    retry = _graph_json(
        inside(RETRY_START), inside(RetryStep.END), [{"id": inside(step)} for step in RETRY_TRANSITIONS], retry_arrows()
    )
    nodes: list[Json] = [
        {"id": str(step)} if step is not Step.RETRY_MODEL else {"id": str(step), "graph": retry} for step in TRANSITIONS
    ]
    return {"signature": signature(), **_graph_json(START, Step.END, nodes, arrows())}


def mermaid() -> str:
    """A Mermaid flowchart; `retry_model` is a cluster that holds its own steps."""
    lines = ["flowchart TD", f"    start(( )) --> {_id(START)}"]
    lines += [f"    {_id(step)}[{step}]" for step in TRANSITIONS if step is not Step.RETRY_MODEL]
    lines += [f"    {_id(Step.END)}((( )))", f"    subgraph {_id(Step.RETRY_MODEL)}[{Step.RETRY_MODEL}]"]
    lines += [f"        {_id(Step.RETRY_MODEL)}_start(( )) --> {_id(inside(RETRY_START))}"]
    lines += [f"        {_id(inside(step))}[{step}]" for step in RETRY_TRANSITIONS]
    lines += [f"        {_id(inside(RetryStep.END))}((( )))"]
    lines += [f"        {_mermaid_arrow(arrow)}" for arrow in retry_arrows()]
    lines += ["    end"]
    lines += [f"    {_mermaid_arrow(arrow)}" for arrow in arrows()]
    return "\n".join(lines) + "\n"


def _merged(rows: Mapping[str, Mapping[str, str]]) -> tuple[Arrow, ...]:
    found: dict[tuple[str, str], list[str]] = {}
    for step, row in rows.items():
        for outcome, after in row.items():
            found.setdefault((step, after), []).append(outcome)
    return tuple(Arrow(step, tuple(outcomes), after) for (step, after), outcomes in found.items())


def _graph_json(start: str, end: str, nodes: list[Json], drawn: tuple[Arrow, ...]) -> dict[str, Json]:
    edges = [
        {"step": arrow.step, "outcome": outcome, "next": arrow.next} for arrow in drawn for outcome in arrow.outcomes
    ]
    return {"start": str(start), "end": str(end), "nodes": nodes, "edges": edges}


def _mermaid_arrow(arrow: Arrow) -> str:
    return f'{_id(arrow.step)} -- "{arrow.label}" --> {_id(arrow.next)}'


def _id(step: str) -> str:
    """A name that Mermaid takes: it knows no slash, and `end` is a word of its own."""
    return step.replace("/", "_").replace(Step.END, "stop")
