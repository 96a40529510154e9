# pyright: standard
"""Small graphs over the run's state, and run folders for the saver (LangGraph is partly untyped)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, interrupt

from treadle.graph.state import RunState
from treadle.storage.database import RunDatabase

from .doubles import StillClock

Graph = CompiledStateGraph[RunState, None, Any, Any]
RUN = "run_0123456789abcdef"


class Folders:
    """A data root: each run has its own database, opened once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = StillClock()
        self.opened: dict[str, RunDatabase] = {}

    def locate(self, run_id: str) -> RunDatabase:
        if run_id not in self.opened:
            (self.root / run_id).mkdir(exist_ok=True)
            self.opened[run_id] = RunDatabase(self.root / run_id / "run.sqlite", clock=self.clock)
        return self.opened[run_id]

    def close(self) -> None:
        for database in self.opened.values():
            database.close()
        self.opened.clear()


def thread(run_id: str = RUN, **more: Any) -> RunnableConfig:
    return {"configurable": {"thread_id": run_id, **more}, "recursion_limit": 10_000}


def loop(saver: BaseCheckpointSaver[Any], rounds: int, calls: list[str] | None = None) -> Graph:
    """call -> dispatch -> dispatch -> call: three super-steps a round; `calls` notes each node that ran."""
    ran = calls if calls is not None else []

    async def call(state: RunState) -> Command[Literal["dispatch"]]:
        ran.append("call")
        number = state.round + 1
        asked = ({"id": f"call_{number:024d}", "name": "workspace.write_file"},)
        told = {"format": "openai_compatible", "turns": number, "bytes": number * 2048}
        changes = {"round": number, "outcome": "tools_called", "attempt": 1, "call_index": 0, "calls": asked}
        return Command(goto="dispatch", update={**changes, "provider_state": told})

    async def dispatch(state: RunState) -> Command[Literal["call", "dispatch", "__end__"]]:
        ran.append("dispatch")
        if state.outcome == "tools_called":
            counts = {"workspace.write_file": state.round, "workspace.read_file": 3}
            changes = {"call_index": 1, "calls_made": state.calls_made + 1, "calls_per_tool": counts}
            return Command(goto="dispatch", update={**changes, "outcome": "wrote"})
        count = state.checkpoint_count + 1
        goto: Any = "call" if state.round < rounds else END
        return Command(goto=goto, update={"outcome": "next_round", "checkpoint_count": count})

    builder = StateGraph(RunState)
    builder.add_node("call", call)
    builder.add_node("dispatch", dispatch)
    builder.add_edge(START, "call")
    return builder.compile(checkpointer=saver)


def approval(saver: BaseCheckpointSaver[Any], question: Any) -> Graph:
    async def ask(state: RunState) -> dict[str, Any]:
        answer = interrupt(question)
        return {"outcome": answer}

    builder = StateGraph(RunState)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    return builder.compile(checkpointer=saver)
