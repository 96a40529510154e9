"""Where a Claude request asks for its beginning to be kept: at most four marks, none on what the provider itself sent.

The whole request is marked at its top, which stands for its last block. Blocks of ours are marked that a next request
shares with this one: the end of the system text, of the first message, and of what the last answered request held.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...graph.errors import InvalidInput
from ...graph.jsontext import dumps, is_list, is_object
from ..connections.connection import Connection
from ..wire import to_text, value_of
from .turns import Place, Turn

_KEY = "cache_control"


def mark(ttl: str) -> bytes:
    return dumps({"type": "ephemeral", "ttl": ttl})


def mark_system(blocks: list[bytes], ttl: str) -> None:
    """Mark the last system block, if there is one."""
    if blocks:
        blocks[-1] = _marked(blocks[-1], ttl)


def mark_turns(turns: Sequence[Turn], seen: Place | None, ttl: str) -> None:
    """Mark the end of the first message and the block `seen`, but not the very last block, which the top stands for."""
    last = (len(turns) - 1, len(turns[-1].blocks) - 1)
    wanted = dict.fromkeys([(0, len(turns[0].blocks) - 1), seen])
    for place in wanted:
        if place is not None and place != last:
            blocks = turns[place[0]].blocks
            blocks[place[1]] = _marked(blocks[place[1]], ttl)


def check_unmarked(connection: Connection, turns: Sequence[Turn]) -> None:
    """Raises InvalidInput where a mark stands in the request already; a tool's argument of that name is none."""
    if any(key == _KEY for key, _ in connection.body_include):
        raise InvalidInput(f"custom_include_body holds {_KEY} while prompt caching is on: leave one of them out")
    if any(turn.native and _holds_mark(turn.blocks[0]) for turn in turns):
        raise InvalidInput(f"an earlier answer holds {_KEY}: turn prompt caching off for this model's server")


def _holds_mark(content: bytes) -> bool:
    if _KEY.encode() not in content:
        return False
    blocks = value_of(to_text(content))
    return is_list(blocks) and any(is_object(block) and _KEY in block for block in blocks)


def _marked(block: bytes, ttl: str) -> bytes:
    return b'%b,"%b":%b}' % (block[:-1], _KEY.encode(), mark(ttl))
