"""The state in a graph checkpoint's stored bytes, without LangGraph: what a look at a run needs of them."""

from __future__ import annotations

import zlib
from typing import Any, cast

import ormsgpack

from ..graph.errors import InvalidData
from ..graph.jsontext import is_object
from ..graph.state import RunState, restore

_ROUTES = ("__", "branch:")
"""How the graph's own channels begin; the others are the state's fields."""


def state_in(body: bytes) -> RunState:
    """The state that the saver stored; raises InvalidData where it can't be read, StateIncompatible for another version."""
    try:
        checkpoint = ormsgpack.unpackb(zlib.decompress(body), ext_hook=_left_packed, option=ormsgpack.OPT_NON_STR_KEYS)
        values = cast(dict[str, Any], checkpoint[0]["channel_values"])
        fields = {name: value for name, value in values.items() if not name.startswith(_ROUTES)}
    except (zlib.error, ormsgpack.MsgpackDecodeError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise InvalidData(f"the graph's newest checkpoint can't be read: {error}") from error
    if not is_object(fields.get("calls_per_tool", {})):
        raise InvalidData("the graph's newest checkpoint holds no state of a run")
    return restore(fields)


def _left_packed(kind: int, data: bytes) -> object:
    return kind, data
