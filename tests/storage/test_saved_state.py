"""The state that the graph saved is read back without LangGraph, or refused."""

from __future__ import annotations

import zlib

import ormsgpack
import pytest

from treadle.graph.errors import InvalidData
from treadle.graph.state import StateIncompatible
from treadle.storage.saved_state import state_in


def body(**values: object) -> bytes:
    return zlib.compress(ormsgpack.packb([{"channel_values": values}, {}, None]))


def test_the_fields_of_the_state_are_told_from_the_routes_of_the_graph() -> None:
    state = state_in(
        body(v=2, run_id="run_1", round=3, calls=[{"id": "c"}], **{"branch:to:finish": None, "__start__": 1})
    )

    assert (state.run_id, state.round, state.calls) == ("run_1", 3, ({"id": "c"},))


@pytest.mark.parametrize("damaged", [b"", b"nothing", zlib.compress(b"\xc1"), zlib.compress(ormsgpack.packb([]))])
def test_what_holds_no_state_is_refused(damaged: bytes) -> None:
    with pytest.raises(InvalidData, match="the graph's newest checkpoint can't be read"):
        state_in(damaged)


@pytest.mark.parametrize("values", [{"v": 99}, {"v": 2, "mood": "calm"}])
def test_a_state_of_another_version_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(StateIncompatible):
        state_in(body(**values))
