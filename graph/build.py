# pyright: standard
"""The table and the nodes become a compiled LangGraph graph; the engine drives it through the functions here.

No node is imported: the mapping from step to function is given, and what a node may use is passed through unseen.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeVar, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from .errors import LeaseLost, RunBusy, RunCancelled, RunLeft, TreadleError
from .state import FIELDS, RunState, StateIncompatible, Update, restore
from .table import (
    RETRY_START,
    RETRY_TRANSITIONS,
    START,
    TRANSITIONS,
    Outcome,
    RetryStep,
    Step,
    inside,
)

D = TypeVar("D")
D_co = TypeVar("D_co", covariant=True)
S = TypeVar("S", Step, RetryStep)

NodeFn = Callable[[RunState, D], Awaitable[Update]]
Graph = CompiledStateGraph[Any, Any, Any, Any]
Builder = StateGraph[Any, Any, Any, Any]


class StepFn(Protocol):
    """A node as LangGraph calls it."""

    def __call__(self, state: RunState, *, runtime: Runtime[None]) -> Awaitable[Command[str]]: ...


@dataclass(frozen=True, slots=True)
class Transition:
    """One edge as it was taken; a step of the retry sub-graph is named `retry_model/backoff`."""

    run_id: str
    step: str
    outcome: str
    next: str

    def to_json(self) -> dict[str, str]:
        """As the graph's own stream tells it, in the mode `custom`."""
        return {
            "type": "treadle.transition", "run_id": self.run_id, "step": self.step, "outcome": self.outcome,
            "next": self.next,
        }  # fmt: skip


class House(Protocol[D_co]):
    """Where a step's tools come from, and where they go when the graph lets a run be."""

    async def open(self, state: RunState) -> D_co:
        """What a node may use for the run of this state."""
        ...

    async def leave(self, state: RunState) -> None:
        """The run has ended, or waits for an answer from outside."""
        ...

    def took(self, transition: Transition) -> None:
        """An edge was taken."""
        ...


def build(nodes: Mapping[Step, NodeFn[D]], retry_nodes: Mapping[RetryStep, NodeFn[D]], house: House[D]) -> Builder:
    """The uncompiled run graph over `RunState`; every edge comes from the table."""
    builder: Builder = StateGraph(RunState)
    for step, node in nodes.items():
        run = _wrap(step, TRANSITIONS[step], node, house, _name)
        builder.add_node(step.value, run, destinations=_destinations(TRANSITIONS[step]))
    retry = _retry_graph(retry_nodes, house)
    builder.add_node(
        Step.RETRY_MODEL.value,
        _wrap_sub_graph(retry, house),
        destinations=_destinations(TRANSITIONS[Step.RETRY_MODEL]),
    )
    builder.set_entry_point(START.value)
    return builder


def compile_graph(builder: Builder, saver: BaseCheckpointSaver[Any] | None) -> Graph:
    return builder.compile(checkpointer=saver, name="treadle")


async def invoke(
    graph: Graph, state: RunState | None, *, thread_id: str, recursion_limit: int, checkpoint_id: str | None = None
) -> None:
    """Drive a run to its end, or on from a checkpoint, the last unless another is named, where `state` is None.

    Nothing is streamed, since telling every step's state costs a tenth of the step; `House.took` tells the edges.
    """
    place = {"thread_id": thread_id} | ({} if checkpoint_id is None else {"checkpoint_id": checkpoint_id})
    config: Any = {"configurable": place, "recursion_limit": recursion_limit}
    given = None if state is None else asdict(state)
    async for _ in graph.astream(given, config, stream_mode=[], durability="async"):
        pass


async def saved(graph: Graph, thread_id: str) -> tuple[RunState, tuple[str, ...]] | None:
    """The state of a run's last checkpoint and the steps that come next; None where there is no checkpoint.

    Raises `StateIncompatible` for a state of another version, or a next step that this machine lacks.
    """
    config: Any = {"configurable": {"thread_id": thread_id}}
    snapshot = await graph.aget_state(config)
    if snapshot.config.get("configurable", {}).get("checkpoint_id") is None:
        return None
    values = cast(dict[str, Any], snapshot.values)
    state = restore({name: values[name] for name in values})
    if not snapshot.next and not state.outcome:
        raise StateIncompatible("The run's next step is not part of this machine any more. Start a new run.")
    return state, snapshot.next


async def last_without_error(graph: Graph, thread_id: str) -> str | None:
    """The run's newest checkpoint whose state tells of no error: to take the step again that went wrong."""
    config: Any = {"configurable": {"thread_id": thread_id}}
    async for snapshot in graph.aget_state_history(config):
        if not snapshot.values.get("error"):
            found: str | None = snapshot.config.get("configurable", {}).get("checkpoint_id")
            return found
    return None


async def place(graph: Graph, thread_id: str, state: RunState, step: Step) -> None:
    """Make this state the thread's only one, so that the graph goes on from it with this step."""
    config: Any = {"configurable": {"thread_id": thread_id}}
    saver = cast(BaseCheckpointSaver[Any], graph.checkpointer)
    await saver.adelete_thread(thread_id)  # what can't be read any more must not be read for this
    # as if a step had given it; which step does not matter, since the command says where to go on
    await graph.aupdate_state(config, Command(update=asdict(state), goto=step.value), as_node=START.value)


def _retry_graph(nodes: Mapping[RetryStep, NodeFn[D]], house: House[D]) -> Graph:
    builder: Builder = StateGraph(RunState)
    for step, node in nodes.items():
        run = _wrap(step, RETRY_TRANSITIONS[step], node, house, inside)
        builder.add_node(step.value, run, destinations=_destinations(RETRY_TRANSITIONS[step]))
    builder.set_entry_point(RETRY_START.value)
    return builder.compile(name=Step.RETRY_MODEL.value)


def _wrap(step: S, row: Mapping[Outcome, S], node: NodeFn[D], house: House[D], name: Callable[[S], str]) -> StepFn:
    async def run(state: RunState, *, runtime: Runtime[None]) -> Command[str]:
        known = _normal(state)
        update = await _outcome(row, node, known, house)
        after = row[update.outcome]
        _tell(house, runtime, Transition(update.changes.get("run_id", known.run_id), name(step), update.outcome, after))
        if isinstance(step, Step) and after is Step.END:
            await house.leave(known)
        return Command(update={**update.changes, "outcome": str(update.outcome)}, goto=after.value)

    run.__name__ = step.value
    return run


async def _outcome(row: Mapping[Outcome, S], node: NodeFn[D], state: RunState, house: House[D]) -> Update:
    """The node's update; a signal or an error that it raised becomes the outcome that the table has for it."""
    try:
        update = await node(state, await house.open(state))
    except RunCancelled:
        return Update(Outcome.CANCELLED)
    except TreadleError as error:
        if Outcome.BROKEN in row and not isinstance(error, (LeaseLost, RunBusy, RunLeft)):
            return Update(Outcome.BROKEN, {"error": error.report()})
        await house.leave(state)
        raise
    except BaseException:  # an interrupt, a cancelled task, a fault in somebody's code: nobody drives the run now
        await house.leave(state)
        raise
    return update


def _wrap_sub_graph(retry: Graph, house: House[D]) -> StepFn:
    row = TRANSITIONS[Step.RETRY_MODEL]

    async def retry_model(state: RunState, *, runtime: Runtime[None]) -> Command[str]:
        before = asdict(_normal(state))
        after = cast(dict[str, Any], await retry.ainvoke(before))
        outcome = Outcome(after["outcome"])
        _tell(house, runtime, Transition(state.run_id, Step.RETRY_MODEL, outcome, row[outcome]))
        changed = {key: after[key] for key in FIELDS if key in after and after[key] != before[key]}
        return Command(update={**changed, "outcome": str(outcome)}, goto=row[outcome].value)

    return retry_model


def _tell(house: House[Any], runtime: Runtime[None], transition: Transition) -> None:
    house.took(transition)
    runtime.stream_writer(transition.to_json())


def _destinations(row: Mapping[Outcome, S]) -> dict[str, str]:
    """LangGraph's own drawing: one labelled edge a target, outcomes joined with ` | `."""
    labels: dict[str, list[str]] = {}
    for outcome, after in row.items():
        labels.setdefault(after.value, []).append(outcome)
    return {after: " | ".join(outcomes) for after, outcomes in labels.items()}


def _name(step: Step) -> str:
    return step


def _normal(state: RunState) -> RunState:
    """Serializers turn tuples into lists; nodes see the state as it was put in."""
    return state if isinstance(state.calls, tuple) else restore({name: getattr(state, name) for name in FIELDS})
