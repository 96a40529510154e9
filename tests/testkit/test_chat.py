from __future__ import annotations

import pytest

from tests.storage.chats.reader_contract import ChatReaderContract, MakeReader
from treadle.graph.ports import ChatReader
from treadle.testkit.chat import MemoryChat


class TestMemoryChat(ChatReaderContract):
    @pytest.fixture
    def reader_of(self) -> MakeReader:
        return lambda messages: MemoryChat(*messages)

    @pytest.fixture
    def gone(self) -> ChatReader:
        chat = MemoryChat()
        chat.messages = None
        return chat
