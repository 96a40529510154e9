"""The shelf in memory does what every shelf does."""

from __future__ import annotations

import pytest

from tests.storage.skills.shelf_contract import SkillShelfContract, StockShelf
from treadle.testkit.skills import MemorySkills


class TestMemorySkills(SkillShelfContract):
    @pytest.fixture
    def stock(self) -> StockShelf:
        return MemorySkills
