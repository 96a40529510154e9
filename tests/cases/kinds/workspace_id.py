"""`workspace_id`: the ids that chats are kept under."""

from __future__ import annotations

from treadle.graph.identity import workspace_id
from treadle.graph.jsontext import Json

from ..observed import Observed

KEYS = frozenset({"inputs"})


def run(given: dict[str, Json]) -> Observed:
    first = [workspace_id(kind, stable_id) for kind, stable_id in given["inputs"]]
    second = [workspace_id(kind, stable_id) for kind, stable_id in reversed(given["inputs"])]
    return Observed(facts={"ids": first, "stable_across_calls": first == second[::-1]})
