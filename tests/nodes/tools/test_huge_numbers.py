"""A number of thousands of digits, which a model can send, never fills the message that refuses it."""

from __future__ import annotations

import pytest

from tests.nodes.desk import desk
from treadle.graph.jsontext import Json
from treadle.graph.ports import ChatMessage
from treadle.testkit.chat import MemoryChat
from treadle.testkit.skills import MemorySkills

HUGE = 10**4000
LORE = {"world": "Sill", "uid": 1, "content": "x"}
CALLS: list[tuple[str, dict[str, Json]]] = [
    ("chat.search", {"query": "h", "limit": HUGE}),
    ("chat.search", {"query": "h", "start_message": HUGE, "end_message": 1}),
    ("chat.read_messages", {"messages": [{"index": HUGE}]}),
    ("chat.read_messages", {"messages": [{"index": 0, "start_char": HUGE}]}),
    ("chat.read_messages", {"messages": [{"index": 0, "max_chars": HUGE}]}),
    ("worldinfo.read_activated", {"entries": [{"ref": "worldinfo:Sill#1", "start_char": HUGE}]}),
    ("skill.search", {"name": "s", "query": "h", "limit": HUGE}),
    ("skill.read", {"name": "s", "start_char": HUGE}),
    ("skill.read", {"name": "s", "start_line": HUGE}),
    ("skill.read", {"name": "s", "max_chars": HUGE}),
    ("workspace.list_files", {"depth": HUGE}),
    ("workspace.search_files", {"query": "h", "context_lines": HUGE}),
    ("workspace.read_file", {"path": "output/a.md", "start_line": HUGE}),
    ("workspace.read_file", {"path": "output/a.md", "start_char": HUGE}),
]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_a_huge_number_is_cut_short_in_what_refuses_it(name: str, arguments: dict[str, Json]) -> None:
    made = desk({"output/a.md": "text"})
    made.chat, made.chat_messages = MemoryChat(ChatMessage(0, "user", "hello")), 1
    made.skills = MemorySkills({"s": {"SKILL.md": b"hello"}})
    made.snapshot = {"worldInfoActivation": {"timestampMs": 1, "trigger": "normal", "entries": [LORE]}}

    result = made.send(name, arguments)

    assert result.is_error
    assert len(result.content) < 300
