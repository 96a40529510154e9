"""A run is played with its disk refusing at one operation after another; what is left behind is held against laws.

Whatever is refused: the run ends, or stops, with one error that says why; nothing that was journalled is lost; nothing
is done after the refusal but to tell it; nothing half-written is left; and once the disk is healed, a run that did not
end comes to the end that it would have come to.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..engine.engine import Engine
from ..graph.errors import NotFound, TreadleError
from ..graph.events import TERMINAL_EVENTS, Event, EventType
from ..graph.jsontext import Json
from ..graph.paths import ROOTS
from ..graph.status import STATUS_OF_END
from ..storage.connections import SETTINGS
from ..storage.disk import Disk, RealDisk
from ..storage.journal import read_journal
from ..storage.journal_lines import MAX_LIMIT
from ..storage.runs import DATABASE, EVENTS, RunRecord, RunStore
from .faults import KINDS, FaultyDisk, Kind
from .recording_disk import Done, RecordingDisk

Name = Literal["full once", "full until healed", "broken once", "broken until healed"]

KEPT = "chat/"
"""Begins the names of what the chat keeps from run to run."""

_PARTIAL = 20
"""Bytes of an append that a full disk still takes."""


@dataclass(frozen=True, slots=True)
class Mode:
    """How the disk refuses: which operations, with what, and how many of them from the chosen one on (None: all)."""

    kind: Kind
    error: int
    times: int | None
    after_bytes: int | None = None


MODES: dict[Name, Mode] = {
    "full once": Mode("growth", errno.ENOSPC, 1, _PARTIAL),
    "full until healed": Mode("growth", errno.ENOSPC, None, _PARTIAL),
    "broken once": Mode("any", errno.EIO, 1),
    "broken until healed": Mode("any", errno.EIO, None),
}


@dataclass(frozen=True, slots=True)
class Scene:
    """One run of yours, laid out in a folder of its own."""

    data_root: Path
    request: dict[str, Json]
    """The start request; it names its `runId`."""
    open_engine: Callable[[], Engine]
    """A new engine over the data root. Its clock and ids are such that a run played twice is the same, its model
    answers a round the same however often it is asked."""
    shown: tuple[Path, ...] = ()
    """The files outside the data root that a run changes: the chat."""


Setting = Callable[[Path, Disk], Scene]
"""Lays out a scene in an empty folder; engine and host are to use the disk."""


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a run."""

    record: RunRecord | None
    events: tuple[Event, ...]
    files: dict[str, bytes]
    """Of its workspace, of what the chat keeps (`chat/…`), and those that are shown."""

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.events if event.type not in _OF_STOPS]

    @property
    def status(self) -> str:
        return "no run" if self.record is None else str(self.record.status)


_OF_STOPS = frozenset({
    EventType.RUN_RESUMED, EventType.JOURNAL_TAIL_REPAIRED, EventType.TOOL_CALL_FAILED, EventType.CHAT_COMMIT_FAILED,
    EventType.MODEL_CALL_ATTEMPT_FAILED, EventType.PERSISTENT_CHANGES_COMMIT_FAILED,
    EventType.PERSISTENT_STATE_METADATA_UPDATE_FAILED,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Whole:
    """A run that nothing disturbed."""

    before: Left
    left: Left
    log: tuple[Done, ...]

    def points(self, name: Name) -> list[Done]:
        """The operations at which the disk may refuse in this mode."""
        return [done for done in self.log if done.operation in KINDS[MODES[name].kind]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One point: what the disk refused, how the run took it, and how it went on; `faults` are the laws that broke."""

    line: str
    faults: tuple[str, ...]


async def play_whole(setting: Setting, folder: Path) -> Whole:
    """Raises what stops the run."""
    recording = RecordingDisk(RealDisk())
    scene = setting(folder, recording)
    before = _left(scene)
    async with scene.open_engine() as engine:
        await _see_to_its_end(engine, scene)
    return Whole(before, _left(scene), tuple(recording.log))


async def play_refused(setting: Setting, folder: Path, whole: Whole, name: Name, point: int) -> Outcome:
    """Play the run with the disk refusing at a point (an index into `whole.points`), heal the disk, and go on."""
    mode = MODES[name]
    disk = FaultyDisk(RealDisk())
    recording = RecordingDisk(disk)
    scene = setting(folder, recording)
    disk.fail(mode.kind, error=mode.error, after_bytes=mode.after_bytes, skip=point, times=mode.times)
    failure: BaseException | None = None
    async with scene.open_engine() as engine:
        try:
            await _see_to_its_end(engine, scene)
        except Exception as error:  # noqa: BLE001 - what leaks is what is looked for
            failure = error
    disk.heal()
    try:
        return await _judged(_Trial(f"{name}, {point}", scene, mode, whole, recording, _left(scene), failure))
    except TreadleError as error:
        return Outcome("unreadable", (f"{name}, {point}: what is left can't be read: {error}",))


async def _judged(trial: _Trial) -> Outcome:
    """Raises TreadleError where the run can't be read any more."""
    scene, stopped, faults = trial.scene, trial.stopped, trial.faults()
    async with scene.open_engine() as engine:
        try:
            await _go_on(engine, scene)
        except TreadleError as error:
            faults.append(f"it can't go on: {error}")
    final = _left(scene)
    faults += trial.faults_of_the_end(final)
    line = f"{trial.where} -> {stopped.status}, {trial.code}, {_last(stopped)} -> {final.status}"
    return Outcome(line, tuple(f"{trial.name} ({trial.where}): {fault}" for fault in faults))


@dataclass(frozen=True, slots=True)
class _Trial:
    """The run as the refusal left it, before the disk was healed."""

    name: str
    scene: Scene
    mode: Mode
    whole: Whole
    recording: RecordingDisk
    stopped: Left
    failure: BaseException | None

    @property
    def where(self) -> str:
        """What was refused first."""
        refused = next((done for done in self.recording.log if done.error == self.mode.error), None)
        return "nothing was refused" if refused is None else f"{refused.operation} {_short(refused.path, self.scene)}"

    @property
    def code(self) -> str:
        error = self._error()
        return "no error" if error is None else error[0]

    def faults(self) -> list[str]:
        return [*self._unclear(), *self._lost(), *self._done_after(), *self._half_written(), *self._untold()]

    def faults_of_the_end(self, final: Left) -> list[str]:
        """Once healed and gone on with: the end that it had, or the end that it would have had."""
        stopped = self.stopped
        faults = _misnumbered(final)
        if _end(stopped) is not None:
            return [*faults, *_unlike("a run that had ended changed", stopped, final)]
        return [*faults, *_unlike("it went on to another end", self.whole.left, final)]

    def _error(self) -> tuple[str, str] | None:
        """Code and message of what the run, or its driver, says went wrong."""
        last = self.stopped.events[-1] if self.stopped.events else None
        if last is not None and last.type in (EventType.RUN_FAILED, EventType.RUN_PARTIAL_SUCCESS):
            return last.payload["code"], last.payload["message"]
        if isinstance(self.failure, TreadleError):
            return self.failure.error_code, self.failure.message
        return None

    def _unclear(self) -> list[str]:
        error, reason = self._error(), os.strerror(self.mode.error)
        if self.failure is not None and not isinstance(self.failure, TreadleError):
            return [f"{type(self.failure).__name__} leaked: {self.failure}"]
        if error is None:
            ended = _end(self.stopped)
            return [] if ended == EventType.RUN_COMPLETED else [f"nobody says why it stopped at {_last(self.stopped)}"]
        if reason not in error[1] or len(error[1]) <= len(reason):
            return [f"the error does not say what was being done and why it was refused: {error[1]!r}"]
        return []

    def _lost(self) -> list[str]:
        told = [kind for done in self.recording.log if done.error is None for kind in done.events]
        found = [event.type for event in self.stopped.events]
        return [
            *_misnumbered(self.stopped),
            *([] if told == found else [f"journalled {told[-3:]}, found {found[-3:]}"]),
        ]

    def _done_after(self) -> list[str]:
        log = self.recording.log
        refused = next((place for place, done in enumerate(log) if done.error == self.mode.error), len(log))
        if refused == 0 and log[0].path.name == SETTINGS.name:
            return []  # an engine's look, as it is entered, at its housekeeping: no run rests on it. Later looks count
        late = [
            f"{done.operation} {_short(done.path, self.scene)}"
            for done in log[refused:]
            if done.operation in KINDS["change"] - {"truncate"} and done.error is None and not self._tells(done.path)
        ]
        return [f"done after the refusal: {', '.join(late)}"] if late else []

    def _tells(self, path: Path) -> bool:
        """The journal, a run's record, the arguments of a call that failed: where the refusal itself is told."""
        index = RunStore(self.scene.data_root, RealDisk()).root / "index/runs"
        return path.name in (EVENTS, "run.json") or path.parent == index or path.parent.name == "tool-args"

    def _half_written(self) -> list[str]:
        wanted = self.recording.files
        found = {path: path.read_bytes() for path in _all_files(self.scene)}
        strange = [path for path in found if path not in wanted and path not in self.scene.shown]
        altered = [path for path, data in wanted.items() if found.get(path) != data]
        return [
            *(f"{_short(path, self.scene)} was left behind" for path in strange),
            *(f"{_short(path, self.scene)} is not as it was written" for path in altered),
        ]

    def _untold(self) -> list[str]:
        """A run that ended tells everything that it changed of what others see."""
        types = [event.type for event in self.stopped.events]
        if _end(self.stopped) is None:
            return []
        told = types.count(EventType.CHAT_COMMIT_COMPLETED) + types.count(EventType.PERSISTENT_STATE_METADATA_UPDATED)
        done = [done for done in self.recording.log if done.path in self.scene.shown and _writes(done)]
        faults = [] if len(done) == told else [f"it wrote {len(done)} times what is shown, and tells of {told}"]
        if EventType.PERSISTENT_CHANGES_COMMITTED not in types:
            before, after = self.whole.before.files, self.stopped.files
            kept = [path for path in sorted({*before, *after}) if path.startswith(KEPT)]
            faults += [f"{path} was changed, and nobody tells" for path in kept if before.get(path) != after.get(path)]
        return faults


async def _see_to_its_end(engine: Engine, scene: Scene) -> None:
    handle = await engine.start_run_with_prompt_snapshot(scene.request)
    await engine.wait(handle.run_id)


async def _go_on(engine: Engine, scene: Scene) -> None:
    """Resume the run, or start it where there is none; one that has ended stays as it is."""
    run_id: str = scene.request["runId"]
    try:
        await engine.resume_run(run_id)
    except NotFound:
        await engine.start_run_with_prompt_snapshot(scene.request)
    await engine.wait(run_id)


def _left(scene: Scene) -> Left:
    files = {f"shown/{path.name}": path.read_bytes() for path in scene.shown if path.exists()}
    store = RunStore(scene.data_root, RealDisk())
    run_id: str = scene.request["runId"]
    if not store.exists(run_id):
        return Left(None, (), files)
    record = store.load(run_id)
    folder = store.folder(record)
    for root in ROOTS:
        files |= {path.relative_to(folder).as_posix(): path.read_bytes() for path in _below(folder / root)}
    chat = store.chat_folder(record.workspace_id)
    for kept in ("persist", "persistent-states"):
        files |= {f"{KEPT}{path.relative_to(chat).as_posix()}": path.read_bytes() for path in _below(chat / kept)}
    return Left(record, tuple(_events(folder / EVENTS)), files)


def _events(journal: Path) -> list[Event]:
    found: list[Event] = []
    while page := read_journal(journal, after_seq=len(found), limit=MAX_LIMIT):
        found += page
    return found


def _below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _all_files(scene: Scene) -> list[Path]:
    """But the run's database, which is not written through the port, and locks."""
    beside = {path.parent for path in scene.shown}
    found = [path for folder in (scene.data_root, *beside) for path in _below(folder)]
    return [path for path in found if not path.name.startswith(DATABASE) and path.suffix != ".lock"]


def _end(left: Left) -> str | None:
    return next((event.type for event in left.events if event.type in TERMINAL_EVENTS), None)


def _last(left: Left) -> str:
    return left.events[-1].type if left.events else "no event"


def _misnumbered(left: Left) -> list[str]:
    seqs = [event.seq for event in left.events]
    ends = [event.type for event in left.events if event.type in TERMINAL_EVENTS]
    return [
        *([] if seqs == list(range(1, len(seqs) + 1)) else [f"the seqs have gaps: {seqs}"]),
        *([] if len(ends) <= 1 else [f"it ended more than once: {ends}"]),
    ]


def _unlike(what: str, wanted: Left, found: Left) -> list[str]:
    faults: list[str] = []
    end = _end(found)
    if end != _end(wanted):
        faults.append(f"{what}: {end}, not {_end(wanted)}")
    if end is not None and found.status != STATUS_OF_END[EventType(end)]:
        faults.append(f"its journal ends in {end}, its record says {found.status}")
    if wanted.types != found.types:
        faults.append(f"{what}: it told {found.types}")
    differing = sorted(
        path for path in {*wanted.files, *found.files} if wanted.files.get(path) != found.files.get(path)
    )
    return [*faults, *(f"{what}: {path} differs" for path in differing)]


def _writes(done: Done) -> bool:
    return done.error is None and done.operation in ("append", "replace")


def _short(path: Path, scene: Scene) -> str:
    root = RunStore(scene.data_root, RealDisk()).root
    if not path.is_relative_to(root):
        return path.name
    parts = path.relative_to(root).parts
    if parts[0] == "chats":
        parts = ("run", *parts[4:]) if len(parts) > 4 and parts[2] == "runs" else ("chat", *parts[2:])
    return "/".join(part[:8] if len(part) == 64 else part for part in parts)
