"""What a rollback changed, and that it was refused."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json
from ...storage.restoring import Restored


@dataclass(frozen=True, slots=True)
class WorkspaceRolledBack:
    """The run's five folders hold what they held at the checkpoint."""

    run_id: str
    checkpoint_id: str
    files: tuple[Restored, ...]
    """Those that were not so before."""

    def to_json(self) -> dict[str, Json]:
        """`runId, checkpointId, scope`, and `files` of `path, preSha256, postSha256`, null where there is no file."""
        return {
            "runId": self.run_id,
            "checkpointId": self.checkpoint_id,
            "scope": "workspace",
            "files": [file.to_json() for file in self.files],
        }


@dataclass(frozen=True, slots=True)
class MessageRolledBack:
    """The run's message is as its commits up to the checkpoint made it."""

    run_id: str
    checkpoint_id: str
    message_id: str | None
    """None: no commit stays, and the message, or the swipe that the run added to it, is gone."""
    commit_ids: tuple[str, ...]
    """Of the commits that stay."""

    def to_json(self) -> dict[str, Json]:
        """`runId, checkpointId, scope, messageId, commitIds`."""
        return {
            "runId": self.run_id,
            "checkpointId": self.checkpoint_id,
            "scope": "committed-message",
            "messageId": self.message_id,
            "commitIds": list(self.commit_ids),
        }


class RollbackRefused(InvalidInput):
    """The run can't be rolled back as it stands now; nothing was changed."""

    code = "agent.rollback_refused"
