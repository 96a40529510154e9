# pyright: standard
"""The bare graph, driven without an engine over the same stage."""

from __future__ import annotations

from typing import Any

from treadle.embedding import build_run_graph
from treadle.engine.services import Services
from treadle.graph.jsontext import Json
from treadle.graph.table import Edge

from .script import Script, Step
from .stage import Stage


def services(stage: Stage, *steps: Step, hosted: bool = True) -> Services:
    return Services(
        stage.root, stage.host if hosted else None, transport=Script(*steps), clock=stage.clock, ids=stage.ids,
        disk=stage.disk, holder="graph",
    )  # fmt: skip


async def drive(stage: Stage, *steps: Step, **request: Json) -> tuple[dict[str, Any], tuple[Edge, ...]]:
    """Run the graph, compiled without a checkpointer, to its end; its last state and the edges in its stream."""
    graph = build_run_graph(services(stage, *steps)).compile()
    state: dict[str, Any] = {}
    edges: list[Edge] = []
    streamed: Any = graph.astream({"start": stage.request(**request)}, stream_mode=["custom", "values"], subgraphs=True)
    async for namespace, mode, item in streamed:
        if mode == "custom" and item["type"] == "treadle.transition":
            edges.append(Edge(item["step"], item["outcome"], item["next"]))
        elif not namespace:
            state = item
    return state, tuple(edges)
