"""How many characters of skills the model has read in this run.

Never stored: as with what it has read of the workspace, it is a function of the calls' stored results.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..graph.messages import ToolResult

CHARGED = {"skill.read": "chars", "skill.search": "returnedChars"}
"""Where each tool's structured result tells its charge."""


@dataclass(slots=True)
class SkillSpending:
    chars: int = 0

    def observe(self, result: ToolResult) -> None:
        """Take in one call's result, in the order they were made."""
        key = CHARGED.get(result.name)
        if key is not None and not result.is_error:
            self.chars += result.structured[key]
