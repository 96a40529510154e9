"""The engine: start, follow, cancel, resume and read runs from Python."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, overload
from weakref import WeakValueDictionary

from ..graph.errors import TreadleError
from ..graph.events import Event
from ..graph.jsontext import Json
from ..graph.ports import ChatHost, Clock, Ids, ModelSockets, ModelTransport, PresetStore, PromptAssembler, SecretStore
from ..graph.state import RunState
from ..nodes.deps import in_thread
from ..nodes.start_request import StartRequest, start_request
from ..storage.database import Connect
from ..storage.disk import Disk
from ..storage.lasting_disk import Durability
from ..storage.runs import RunRecord
from ..storage.wire_log import WireLevel
from ..views import RunHandle, TakenEdge, handle_of
from . import approving, reading
from .asking import Asking
from .assembly import PromptAssembly
from .cancelling import cancel_run
from .driving import Driving
from .following import Following
from .history.forgetting import ForgottenChat, forget_chats
from .history.retention import RunRetention
from .integrity.root.doctor import doctor
from .integrity.root.problem import DoctorReport
from .profiles.api import Profiles
from .reader import Reader, checked_id
from .recovering import InterruptedRun, Recovery, checked_recovery, recover
from .resuming import resume
from .rewinding.fork_request import ForkRequest, fork_request
from .rewinding.forking import fork
from .rewinding.records import MessageRolledBack, WorkspaceRolledBack
from .rewinding.rollback import RollbackScope, roll_back
from .services import Services
from .skills import Skills
from .starting import begin_run, checked_start, existing
from .subscribing import PAGE, Handler, OnError, Subscription

T = TypeVar("T")


class Engine(Reader):
    """Runs below one data root; use it as `async with Engine(...)`.

    `recovery` says what entering it does about interrupted runs: nothing, list them in `recovered`, or resume them too.

    Errors are `TreadleError`: `InvalidInput` and `NotFound` for what the caller gave, others for what went wrong.
    """

    def __init__(
        self,
        data_root: Path,
        host: ChatHost | None = None,
        *,
        transport: ModelTransport | None = None,
        sockets: ModelSockets | None = None,
        secrets: SecretStore | None = None,
        clock: Clock | None = None,
        ids: Ids | None = None,
        disk: Disk | None = None,
        connect: Connect | None = None,
        presets: PresetStore | None = None,
        assembler: PromptAssembler | None = None,
        durability: Durability | None = None,
        wire_log: WireLevel | None = None,
        reply_limit: int | None = None,
        recovery: Recovery = "off",
    ) -> None:
        given = {
            "transport": transport, "sockets": sockets, "secrets": secrets, "clock": clock, "ids": ids, "disk": disk,
            "connect": connect, "presets": presets, "assembler": assembler,
        }  # fmt: skip
        ports = {name: port for name, port in given.items() if port is not None}
        settings = {"durability": durability, "wire_log": wire_log, "reply_limit": reply_limit}
        super().__init__(Services(data_root, host, **settings, **ports))  # type: ignore[arg-type]  # each under its own name
        self.profiles = Profiles(self.services)
        self.prompt_assembly = PromptAssembly(self.services)
        """Prompts made of frozen inputs and a preset."""
        self.skills = Skills(self.services.skills, self.services.disk)
        """The installed skills: import, export, read, change. What a run may do with them, its profile says."""
        self.retention = RunRetention(self.services)
        """Which ended runs are kept, slimmed and deleted; by itself where the data root's settings say so."""
        self._driving = Driving(self.services, self._forget)
        self._asking = Asking(host, self._driving.run)
        self._following = Following(self.services, self._driving, self._page)
        self._changing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # held by those who wait for it
        self._recovery = checked_recovery(recovery)
        self.recovered: tuple[InterruptedRun, ...] = ()
        """With `recovery`: the interrupted runs that were found when the engine was entered, and what became of them."""

    async def __aenter__(self) -> Self:
        if self._recovery != "off":
            self.recovered = await self.recover(resume=self._recovery == "resume")
        await self.retention.automation.begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop driving; runs that have not ended stay as they are and can be resumed."""
        await self.retention.automation.close()
        await self._driving.close()
        await in_thread(self.services.mcp.close)
        await self.services.gateway.close()

    async def start_run_with_prompt_snapshot(self, request: StartRequest | dict[str, Json]) -> RunHandle:
        """Start the run, or attach to it where a run of that id with the same input exists.

        Returns once `run_created` is journalled. Raises InvalidInput or NotFound before a run exists; the same id
        with other input is `agent.run_id_conflict`.
        """
        asked = request if isinstance(request, StartRequest) else start_request(request)
        # a caller that gives up meanwhile must not leave a run that exists and is not driven
        return await asyncio.shield(asyncio.ensure_future(self._start_alone(asked)))

    async def resume_run(self, run_id: str, *, force: bool = False) -> RunHandle:
        """Go on from the last checkpoint of a run that a crash or a close left behind; a run that ended is returned.

        Raises `agent.resume_machine_changed` or `agent.resume_profile_changed` where the run would not go on as it
        began; with `force` it does, under the profile in its folder, and `run_resumed` says what was `forced`.
        """
        return await asyncio.shield(asyncio.ensure_future(self._resume_alone(checked_id(run_id), force)))

    async def fork_run(
        self,
        run_id: str,
        *,
        at_seq: int | None = None,
        checkpoint_id: str | None = None,
        profile_id: str | None = None,
        profile: dict[str, Json] | None = None,
        new_run_id: str | None = None,
    ) -> RunHandle:
        """A new run that stands where this one stood after an event or a checkpoint, and goes on by itself.

        What was under way there is done anew; what this run committed stays its own. Without a profile the fork keeps
        this run's. The same `new_run_id` and input is the same fork. Raises InvalidInput that names the field, NotFound,
        InvalidData where something of the run is lost; then nothing is made.
        """
        name = new_run_id or f"run_{self.services.ids.new()}"
        where = {"at_seq": at_seq, "checkpoint_id": checkpoint_id}
        asked = fork_request(checked_id(run_id), name, **where, profile=profile, profile_id=profile_id)
        return await asyncio.shield(asyncio.ensure_future(self._fork_alone(asked)))

    async def recover(self, *, resume: bool = False) -> tuple[InterruptedRun, ...]:
        """The runs below the data root that have not ended and that nobody drives, longest waiting first.

        With `resume` each of them goes on, at once; `error` says of a run why it does not, and stops no other. Runs of
        bare graphs are among them, also those that wait for an answer.
        """
        return await recover(self.services, self.resume_run if resume else None)

    async def cancel(self, run_id: str) -> RunHandle:
        """Ask the run to stop; the run that it is, at once. A run that ended is returned unchanged."""
        async with self._alone(checked_id(run_id)):
            return handle_of(await cancel_run(self.services, self._driving, self._asking.for_run, checked_id(run_id)))

    async def wait(self, run_id: str) -> RunRecord:
        """The run's record once it has ended or is no longer driven from here.

        Raises what stopped the driver, where that was not an end that the journal tells.
        """
        active = self._driving.active(run_id)
        if active is not None and active.task is not None:
            await asyncio.wait([active.task])
        record = await in_thread(lambda: self.services.store.load(run_id))
        if active is not None and isinstance(active.failure, TreadleError) and not record.status.is_terminal:
            raise active.failure
        return record

    @overload
    def subscribe(self, run_id: str, *, after_seq: int = 0) -> Subscription: ...
    @overload
    def subscribe(
        self,
        run_id: str,
        handler: Handler,
        *,
        after_seq: int = 0,
        limit: int = PAGE,
        interval_ms: float = 500,
        on_error: OnError | None = None,
    ) -> Subscription: ...
    def subscribe(
        self,
        run_id: str,
        handler: Handler | None = None,
        *,
        after_seq: int = 0,
        limit: int = PAGE,
        interval_ms: float = 500,
        on_error: OnError | None = None,
    ) -> Subscription:
        """Follow a run's events from `after_seq` on, also one that another process drives.

        Without a handler it is an async iterator that ends after the terminal event; with one, each event is handed to
        it until `unsubscribe`. Events are shared with other followers: their payloads are not to be changed.
        """
        subscription = Subscription(self._following, run_id, after_seq, interval_ms, limit)
        if handler is not None:
            subscription.call(handler, on_error)
        return subscription

    async def transitions(self, run_id: str) -> AsyncIterator[TakenEdge]:
        """The edges of the machine as the run takes them, from its first; ends when the run is no longer driven here."""
        active = self._driving.active(run_id)
        told = 0
        while active is not None:
            active.changed.clear()
            ended = self._driving.active(run_id) is not active  # asked first: edges may come while one is looked at
            for edge in active.edges[told:]:
                told += 1
                yield edge
            if ended:
                return
            await active.changed.wait()

    async def forget_chats(self, *chats: dict[str, Json]) -> tuple[ForgottenChat, ...]:
        """Remove all that is kept of chats that are being deleted: their workspaces, `persist/` too, and their runs.

        Each is `{chatRef, stableChatId?}`; without the id the host is asked. The chats themselves stay. All are checked
        before any is touched: WorkspaceInUse where one of their runs is driven. It may be repeated after a crash.
        """
        return await asyncio.shield(asyncio.ensure_future(forget_chats(self.services, chats)))

    async def doctor(self, repair: bool = False) -> DoctorReport:
        """Look at the whole data root; with `repair`, put right what can be without losing anything.

        The report's `problems` are what is left, `repaired` what was done. No run that somebody drives is touched.
        """
        return await in_thread(lambda: doctor(self.services, repair=repair))

    async def resolve_agent_chat_commit(
        self, run_id: str, commit_id: str, *, message_id: str | None = None, error: str | None = None
    ) -> None:
        """A remote host's answer to `chat_commit_requested`; each commit is resolved once."""
        fault = (error or "").strip()
        answer: dict[str, Json] = {"error": fault} if fault else {"messageId": message_id}
        await self._asking.answer("chat_commit", run_id, commit_id, answer)

    async def resolve_persistent_state_metadata_update(
        self, run_id: str, update_id: str, *, error: str | None = None
    ) -> None:
        """A remote host's answer to `persistent_state_metadata_update_requested`."""
        fault = (error or "").strip()
        await self._asking.answer("persist_metadata", run_id, update_id, {"error": fault} if fault else {})

    async def approve_tool_call(
        self,
        run_id: str,
        call_id: str,
        approved: bool,
        reason: str | None = None,
        edited_arguments: dict[str, Json] | None = None,
    ) -> bool:
        """A person's word on the call that waits for it, also of a run that another process drives, or nobody.

        `edited_arguments` is what the call runs with in place of the model's own. True: whoever drives the run has the
        answer, or sees it within a second. False: nobody drives it; the answer is kept for `resume_run`. Raises
        InvalidInput that names a bad field; NotFound where this call does not wait, naming the one that does.
        """
        answer: Json = {"approved": approved, "reason": reason, "editedArguments": edited_arguments}
        return await approving.approve(self.services, self._asking, run_id, call_id, answer)

    @property
    def remembered(self) -> int:
        """How much of its runs this engine holds in memory: changes under way and requests. 0 where no run is driven."""
        return len(self._changing) + self._asking.held

    async def rollback(
        self, run_id: str, checkpoint_id: str, scope: RollbackScope = "workspace"
    ) -> WorkspaceRolledBack | MessageRolledBack:
        """Put back what was at a checkpoint; its moment is right after `checkpoint_created`, of a commit's own
        checkpoint after the commit. The run's status, and what its model was told, stay.

        `workspace`: the run's files, never the chat; the run has ended or stands between its steps. What they held is
        kept by its hash. `committed-message`: the run's message in the chat, never the files; the run has ended.
        Persistent files that it gave back to its chat stay as they are.

        Raises NotFound for an unknown checkpoint; RunBusy while the run is driven; RollbackRefused (an InvalidInput)
        with the remedy; HostFailed where the chat is not as the run left it; EffectUnknown for a file that was changed
        while a rollback was interrupted; InvalidData `agent.content_not_kept`.
        """
        asked = roll_back(self.services, self._driving, self._asking.for_run, checked_id(run_id), checkpoint_id, scope)
        return await asyncio.shield(asyncio.ensure_future(self._changed_alone(checked_id(run_id), asked)))

    def _alone(self, run_id: str) -> asyncio.Lock:
        """Starting, resuming and cancelling one run come one after the other."""
        return self._changing.setdefault(run_id, asyncio.Lock())

    async def _changed_alone(self, run_id: str, change: Awaitable[T]) -> T:
        async with self._alone(run_id):
            return await change

    def _forget(self, run_id: str) -> None:
        self._asking.forget(run_id)

    async def _start_alone(self, request: StartRequest) -> RunHandle:
        if request.run_id is None:
            return await self._start(request)
        async with self._alone(request.run_id):
            return await self._start(request)

    async def _resume_alone(self, run_id: str, force: bool) -> RunHandle:
        async with self._alone(run_id):
            active = self._driving.active(run_id)
            if active is not None:
                return handle_of(active.run.folder.record)
            record = await in_thread(lambda: self.services.store.load(run_id))
            return handle_of(await resume(self.services, self._driving, self._asking.for_run, record, force=force))

    async def _fork_alone(self, asked: ForkRequest) -> RunHandle:
        async with self._alone(asked.new_run_id):
            return handle_of(await fork(self.services, self._driving, self._asking.for_run, asked))

    async def _start(self, request: StartRequest) -> RunHandle:
        stored = await in_thread(lambda: existing(self.services, request))
        if stored is None:
            checked = await checked_start(self.services, request)
            run = await in_thread(lambda: begin_run(self.services, checked, request, self._asking.for_run))
            if run is not None:
                self._driving.begin(run, RunState(run_id=run.id))
                return handle_of(checked.record)
            stored = await in_thread(lambda: existing(self.services, request)) or checked.record
        return handle_of(stored)

    def _journal_of(self, run_id: str) -> reading.PageReader | None:
        active = self._driving.active(run_id)
        return None if active is None else active.run.folder.journal.read

    async def _page(self, run_id: str, after_seq: int, limit: int) -> list[Event]:
        return await self.read_events(run_id, after_seq=after_seq, limit=limit)
