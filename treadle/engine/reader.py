"""What can be read of runs and tools, by any process, whoever drives the runs; nothing is changed by it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy

from ..graph.errors import InvalidInput
from ..graph.events import Event
from ..graph.identity import ChatRef
from ..graph.jsontext import Json
from ..nodes.deps import in_thread
from ..nodes.registry import specs
from ..storage.checkpoints import Checkpoint
from ..storage.runs import RunRecord
from ..storage.workspace import HostFile
from ..views import MODEL_TURN_CHARS, PendingApproval
from . import approving, reading
from .history.listing import RunPage, run_page
from .history.query import RunCursor, run_query
from .integrity.report import RunReport
from .integrity.verify import verify
from .rewinding import diffing
from .rewinding.diffing import AgentDiff
from .rewinding.past import past_of
from .services import Services


class Reader:
    """Every method raises NotFound for an unknown run, InvalidInput for what the caller gave."""

    def __init__(self, services: Services) -> None:
        self.services = services

    async def read_events(
        self, run_id: str, *, after_seq: int | None = None, before_seq: int | None = None, limit: int | None = None
    ) -> list[Event]:
        """A page of the journal, ascending; raises NotFound for an unknown run."""
        return await reading.events(self.services, self._journal_of, checked_id(run_id), after_seq, before_seq, limit)

    async def read_workspace_file(self, run_id: str, path: str) -> HostFile:
        """Any file of the run folder: `path, text, sha256, chars, words`."""
        return await reading.workspace_file(self.services, checked_id(run_id), path)

    async def read_model_turn(self, run_id: str, round: int, max_chars: int = MODEL_TURN_CHARS) -> dict[str, Json]:
        """What the model said in a round, each text cut at `max_chars`; no native block and no arguments."""
        return await reading.turn(self.services, checked_id(run_id), round, max_chars)

    async def read_wire(self, run_id: str, round: int) -> list[dict[str, Json]]:
        """The calls on the wire of a round, one record an attempt; with their bodies where they were kept.

        Raises NotFound for an unknown run, and for a round that the wire log does not hold.
        """
        return await reading.wire(self.services, checked_id(run_id), round)

    async def read_run(self, run_id: str) -> RunRecord:
        return await in_thread(lambda: self.services.store.load(checked_id(run_id)))

    async def list_runs(
        self,
        chat_ref: ChatRef | dict[str, Json] | None = None,
        stable_chat_id: str | None = None,
        statuses: Iterable[str] | None = None,
        before: RunCursor | dict[str, Json] | None = None,
        limit: int | None = None,
    ) -> RunPage:
        """A page of the runs, newest first (createdAt, then id), of a chat and of some statuses where asked for.

        `limit` is 1 to 200, 50 unless given; `before` is the `next_cursor` of the page before. A run or index file that
        can't be read stands in `damaged` and stops nothing. Raises InvalidInput, naming the field.
        """
        query = run_query(chat_ref, stable_chat_id, statuses, before, limit)
        return await in_thread(lambda: run_page(self.services, query))

    async def verify_run(self, run_id: str) -> RunReport:
        """Hold the run against its own journal, hashes and records, whoever drives it; nothing of it is changed.

        `checks` are `name, ok, findings`, in order. Raises NotFound for an unknown run, StorageFailed.
        """
        return await in_thread(lambda: verify(self.services, checked_id(run_id)))

    async def list_tools(self) -> list[dict[str, Json]]:
        """The canonical specs of the tools, in order: `name, modelName, title, description, inputSchema, annotations,
        source`. They are copies, unchanged by any profile."""
        return [deepcopy(spec.to_json()) for spec in specs()]

    async def pending_approvals(self, run_id: str) -> list[PendingApproval]:
        """The call that waits for a person, and those of the same answer that will; empty where none waits."""
        return await approving.pending(self.services, checked_id(run_id))

    async def read_diff(
        self,
        run_id: str,
        from_checkpoint_id: str | None = None,
        to_checkpoint_id: str | None = None,
        paths: Sequence[str] | None = None,
    ) -> AgentDiff:
        """What changed in the workspace from one checkpoint to another; nothing is written, and the run may be driven.

        Without `from`, from the run's start; without `to`, to the workspace as it stands on disk. `paths` are files or
        folders; a file that is named is told of even if it is unchanged. Raises NotFound that names the nearest ids or
        paths, InvalidInput for what is no path of the workspace.
        """
        return await in_thread(
            lambda: diffing.read_diff(self.services, checked_id(run_id), from_checkpoint_id, to_checkpoint_id, paths)
        )

    async def list_checkpoints(self, run_id: str) -> list[Checkpoint]:
        """The run's checkpoints that its journal tells of, in order: what diffs, rollbacks and forks may name."""
        return await in_thread(lambda: list(past_of(self.services, checked_id(run_id)).all_checkpoints()))

    def _journal_of(self, run_id: str) -> reading.PageReader | None:
        """The pages of a run that is driven from here; None: they are read from its folder."""
        return None


def checked_id(run_id: str) -> str:
    """Without the blanks around it; raises InvalidInput for a blank one."""
    if not run_id.strip():
        raise InvalidInput("runId must not be blank")
    return run_id.strip()
