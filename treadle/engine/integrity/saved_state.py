"""The graph's newest saved state: it can be read, and it stands where the journal says that the run came to.

The state is saved after each step, so it may be a step behind the journal, and is never ahead of it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress

from ...graph.errors import InvalidData, TreadleError
from ...graph.events import EventType
from ...graph.state import RunState
from ...storage.runs import DATABASE
from ...storage.saved_state import state_in
from ..rewinding.journal_state import contradiction
from .evidence import Evidence
from .report import Finding

_AGAIN = "treadle resume RUN says whether the run can go on; a run that ended needs it no more"


def saved_state(evidence: Evidence) -> Generator[Finding]:
    if evidence.is_slim:
        return
    database = evidence.database
    if isinstance(database, InvalidData):
        yield Finding(DATABASE, "a database of this Treadle", database.message, _AGAIN)
        return
    if database is None:
        if evidence.lines:
            yield Finding(DATABASE, "the run's lease and its saved state", "there is no such file", _AGAIN)
        return
    if database.lease is None and evidence.lines:
        yield Finding(DATABASE, "the lease of whoever drove the run", "none: the file is empty, or a new one", _AGAIN)
    for fault in database.faults:
        yield Finding(DATABASE, "a whole database", fault, _AGAIN)
    if database.newest_state is None:
        if len(evidence.lines) > 1 and not evidence.under_way:
            found = "none: another graph's saver keeps it, or the run was left before its first step"
            yield Finding(DATABASE, "a saved state", found, "nothing is to be done", is_fault=False)
        return
    try:
        state = state_in(database.newest_state)
    except TreadleError as error:
        yield Finding(DATABASE, "a saved state of this machine", error.message, _AGAIN)
        return
    yield from _agrees(evidence, state)


def _agrees(evidence: Evidence, state: RunState) -> Generator[Finding]:
    """It is a state that the journal leads to, and the last of them or the one before."""
    if state.run_id != evidence.run_id:
        yield Finding(DATABASE, f"the state of run {evidence.run_id}", f"that of {state.run_id!r}", _AGAIN)
        return
    miscounted = () if any(evidence.of(EventType.RUN_FORKED)) else tuple(_miscounted(evidence, state))
    yield from miscounted
    if not 0 <= state.call_index <= len(state.calls):
        expected = f"a call_index up to {len(state.calls)}"
        yield Finding(DATABASE, expected, f"call_index {state.call_index}", _AGAIN)
    elif not miscounted:
        with suppress(InvalidData, ValueError, LookupError, TypeError, AttributeError):  # odd events are told elsewhere
            events = [line.event for line in evidence.lines]
            fault = contradiction(state, evidence.folder, events, evidence.services.disk)
            if fault is not None:
                yield Finding(DATABASE, "a state that the journal leads to", fault, _AGAIN)


def _miscounted(evidence: Evidence, state: RunState) -> Generator[Finding]:
    """A fork's counts began in the other run, so they are not asked for here."""
    rounds = [line.event.payload["round"] for line in evidence.of(EventType.MODEL_REQUEST_CREATED)]
    counted = (
        ("round", state.round, max(rounds, default=0)),
        ("commit_count", state.commit_count, sum(1 for _ in evidence.of(EventType.CHAT_COMMIT_RECORDED))),
        ("checkpoint_count", state.checkpoint_count, sum(1 for _ in evidence.of(EventType.CHECKPOINT_CREATED))),
    )
    for name, saved, told in counted:
        behind = 1 if not evidence.under_way else told
        if not told - behind <= saved <= told:
            yield Finding(DATABASE, f"{name} {told}, as the journal tells, or one less", f"{name} {saved}", _AGAIN)
