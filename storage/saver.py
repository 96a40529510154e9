"""LangGraph's checkpoints in the run's own SQLite file, written inline: a thread is a run, its file is the run's.

Law 1: what a checkpoint holds comes back equal, or saving fails; nothing is replaced in silence.
Law 2: a driver that lost its lease saves nothing.
Law 3: only what the graph saved is stored; the caller's config and its metadata, which may hold secrets, are not.
"""

from __future__ import annotations

import dataclasses
import sqlite3
import zlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple, cast

import ormsgpack
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Send

from ..graph.errors import InvalidInput, RunFailed
from .database import RunDatabase

_Row = tuple[str, str, str, str | None, bytes]
_Pending = list[PendingWrite]
_Writes = dict[int, tuple[str, Any]]
"""A task's writes, channel and value by their index; the special channels have negative ones."""

_ROW = "SELECT thread, ns, id, parent, body FROM checkpoints"
_CHILD = (
    "SELECT body FROM checkpoints WHERE thread = ? AND ns = ? AND id > ? AND parent = ? AND carries ORDER BY id LIMIT 1"
)
_TASK = "SELECT body FROM writes WHERE thread = ? AND ns = ? AND id = ? AND task = ?"
_TASKS = "SELECT task, path, body FROM writes WHERE thread = ? AND ns = ? AND id = ?"
_PUT = "INSERT OR REPLACE INTO checkpoints (thread, ns, id, parent, run, carries, body) VALUES (?, ?, ?, ?, ?, ?, ?)"
_PUT_ONE = "INSERT OR REPLACE INTO checkpoints (thread, ns, id, parent, run, carries, body) SELECT ?, ?, ?, ?, ?, ?, ?"
_PUT_TASK = "INSERT OR REPLACE INTO writes (thread, ns, id, task, path, body) VALUES (?, ?, ?, ?, ?, ?)"


class _Task(NamedTuple):
    """What one task wrote at a checkpoint; an empty body says only that others wrote there at once."""

    checkpoint: str
    task: str = ""
    path: str = ""
    body: bytes = b""


class StateNotExact(RunFailed):
    """The run's state holds a value that can't be saved exactly."""

    code = "agent.state_not_exact"


class ExactSerializer(JsonPlusSerializer):
    """LangGraph's own bytes, but a lone surrogate is an error here, not a question mark."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Raises StateNotExact for lone surrogates, integers past 64 bits, and what no serializer knows."""
        if obj is None or isinstance(obj, bytes | bytearray):
            return super().dumps_typed(obj)
        try:
            return "msgpack", ormsgpack.packb(obj, default=self._foreign, option=_EXACT)
        except ormsgpack.MsgpackEncodeError as error:
            raise StateNotExact(f"The run's state can't be saved exactly: {error.__cause__ or error}") from error

    def _foreign(self, obj: Any) -> Any:
        """An interrupt, a Send, an exception, a record: packed as LangGraph does, once its texts are known to be exact."""
        self.dumps_typed(_parts(obj))
        return ormsgpack.unpackb(super().dumps_typed(obj)[1], ext_hook=ormsgpack.Ext, option=ormsgpack.OPT_NON_STR_KEYS)


def _parts(obj: Any) -> list[Any]:
    """The values inside an object that LangGraph's serializer takes apart."""
    if isinstance(obj, Send):
        return [obj.node, obj.arg]
    if isinstance(obj, tuple | set | frozenset | deque):
        return list(cast(Iterable[Any], obj))
    if isinstance(obj, Enum):
        return [obj.value]
    if dataclasses.is_dataclass(obj) and not isinstance(obj, type):
        return [getattr(obj, field.name) for field in dataclasses.fields(obj)]
    dump = getattr(obj, "model_dump", None)
    return [dump()] if dump else []


_EXACT = (
    ormsgpack.OPT_NON_STR_KEYS
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
)


class RunFolderSaver(BaseCheckpointSaver[int]):
    """One saver for all runs: `locate` gives the database of a thread id, which is a run id.

    For fencing it must be the very object that took the run's lease. Calls block for about 0.1 ms, the async ones too.
    What a lone task wrote is stored with the checkpoint that it leads to, in one commit; a crash between the two runs
    the task again. Channel versions are plain integers. Every method raises what RunDatabase raises.
    """

    def __init__(self, locate: Callable[[str], RunDatabase]) -> None:
        super().__init__(serde=ExactSerializer())
        self._locate = locate
        self._only: RunDatabase | None = None
        self._waiting: dict[tuple[str, str], _Task] = {}
        """By thread and namespace: the first task's writes at the newest checkpoint, until the next one."""

    @classmethod
    def in_one_file(cls, database: RunDatabase) -> RunFolderSaver:
        """All threads in one database, for any graph: writes are stored at once."""
        saver = cls(lambda _: database)
        saver._only = database
        return saver

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        thread, ns, wanted = _place(config)
        database = self._locate(thread)
        if wanted:
            found = database.rows(f"{_ROW} WHERE thread = ? AND ns = ? AND id = ?", (thread, ns, wanted))
        else:
            found = database.rows(f"{_ROW} WHERE thread = ? AND ns = ? ORDER BY seq DESC LIMIT 1", (thread, ns))
        return self._tuple(database, cast(_Row, found[0])) if found else None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Newest first. Without a config: of all threads, where they share one file; raises InvalidInput elsewhere."""
        database, where, values = self._search(config, before)
        numbers = database.rows(f"SELECT seq FROM checkpoints {where} ORDER BY id DESC", values)
        for (number,) in numbers:
            if limit is not None and limit <= 0:
                return
            for row in database.rows(f"{_ROW} WHERE seq = ?", (number,)):
                found = self._tuple(database, cast(_Row, row))
                metadata = cast(dict[str, Any], found.metadata)
                if all(metadata.get(key) == value for key, value in (filter or {}).items()):
                    limit = None if limit is None else limit - 1
                    yield found

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        thread, ns, parent = _place(config)
        waited = self._waiting.pop((thread, ns), None)
        carried = waited if waited and waited.body and waited.checkpoint == parent else None
        packed = self.serde.dumps_typed([{**checkpoint, "id": ""}, metadata, carried and carried[1:]])[1]
        run = cast(dict[str, Any], metadata).get("run_id")
        row = (thread, ns, checkpoint["id"], parent, run, carried is not None, _squeezed(packed))
        if waited is None or carried:
            self._locate(thread).save_row(_PUT_ONE, row)
        else:
            with self._locate(thread).saving() as connection:
                connection.execute(_PUT, row)
                self._store(connection, thread, ns, waited)
        return _config(thread, ns, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        thread, ns, checkpoint_id = _place(config)
        packed = [(WRITES_IDX_MAP.get(channel, index), channel, value) for index, (channel, value) in enumerate(writes)]
        task = _Task(str(checkpoint_id), task_id, task_path, self.serde.dumps_typed(packed)[1])
        tasks = [task]
        if self._only is None:
            first = self._waiting.setdefault((thread, ns), task)
            if first is task and all(index >= 0 for index, _, _ in packed):
                return
            tasks = [task] if first is task else [first, task]
            self._waiting[thread, ns] = _Task(task.checkpoint)
        with self._locate(thread).saving() as connection:
            for each in tasks:
                self._store(connection, thread, ns, each)

    def delete_thread(self, thread_id: str) -> None:
        for place in [place for place in self._waiting if place[0] == thread_id]:
            self._waiting.pop(place, None)
        database = self._locate(thread_id)
        if database.rows("SELECT 1"):
            with database.saving() as connection:
                _delete(connection, "thread = ?", (thread_id,))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """These threads, and the checkpoints whose metadata names one of these runs."""
        for run_id in run_ids:
            self.delete_thread(run_id)
            database = self._locate(run_id)
            for place in database.rows("SELECT thread, ns, id FROM checkpoints WHERE run = ?", (run_id,)):
                with database.saving() as connection:
                    _delete(connection, "thread = ? AND ns = ? AND id = ?", place)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        source = self._locate(source_thread_id)
        columns = "ns, id, parent, run, carries, body"
        checkpoints = source.rows(
            f"SELECT {columns} FROM checkpoints WHERE thread = ? ORDER BY seq", (source_thread_id,)
        )
        writes = source.rows("SELECT ns, id, task, path, body FROM writes WHERE thread = ?", (source_thread_id,))
        waiting = [(place[1], task) for place, task in self._waiting.items() if place[0] == source_thread_id]
        if checkpoints or writes:
            with self._locate(target_thread_id).saving() as connection:
                connection.executemany(_PUT, [(target_thread_id, *row) for row in checkpoints])
                connection.executemany(_PUT_TASK, [(target_thread_id, *row) for row in writes])
                for ns, task in waiting:
                    self._store(connection, target_thread_id, ns, task)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """`keep_latest` keeps the newest checkpoint of each namespace, or all where it needs its forebears; or `delete`."""
        if strategy not in ("keep_latest", "delete"):
            raise InvalidInput(f"There is no strategy {strategy!r}; use 'keep_latest' or 'delete'.")
        for thread in thread_ids:
            if strategy == "delete":
                self.delete_thread(thread)
                continue
            database = self._locate(thread)
            for (ns,) in database.rows("SELECT DISTINCT ns FROM checkpoints WHERE thread = ?", (thread,)):
                latest = self.get_tuple(_config(thread, ns))
                if latest is not None and "counters_since_delta_snapshot" not in latest.metadata:
                    kept: str = latest.checkpoint["id"]
                    with database.saving() as connection:
                        _delete(connection, "thread = ? AND ns = ? AND id < ?", (thread, ns, kept))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.get_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        for found in self.list(config, filter=filter, before=before, limit=limit):
            yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self.put_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        self.delete_thread(thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        self.delete_for_runs(run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.copy_thread(source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self.prune(thread_ids, strategy=strategy)

    def _search(
        self, config: RunnableConfig | None, before: RunnableConfig | None
    ) -> tuple[RunDatabase, str, tuple[str, ...]]:
        """The database, the WHERE clause and its values."""
        conditions: dict[str, str | None] = {}
        database = self._only
        if config is not None:
            place = config.get("configurable", {})
            thread = str(place["thread_id"])
            conditions = {
                "thread = ?": thread,
                "ns = ?": place.get("checkpoint_ns"),
                "id = ?": place.get("checkpoint_id"),
            }
            database = self._locate(thread)
        if database is None:
            raise InvalidInput("Each thread has its own file here: name a thread_id.")
        if before is not None:
            conditions["id < ?"] = before.get("configurable", {}).get("checkpoint_id")
        given = {condition: value for condition, value in conditions.items() if value is not None}
        return database, f"WHERE {' AND '.join(given)}" if given else "", tuple(given.values())

    def _tuple(self, database: RunDatabase, row: _Row) -> CheckpointTuple:
        thread, ns, checkpoint_id, parent, body = row
        checkpoint, metadata, _ = self._unpack(zlib.decompress(body))
        checkpoint["id"] = checkpoint_id
        parent_config = _config(thread, ns, parent) if parent else None
        pending = self._pending(database, thread, ns, checkpoint_id)
        return CheckpointTuple(_config(thread, ns, checkpoint_id), checkpoint, metadata, parent_config, pending)

    def _pending(self, database: RunDatabase, thread: str, ns: str, checkpoint_id: str) -> _Pending:
        """What was written at a checkpoint: stored at once, carried by the checkpoint it led to, or still waiting."""
        tasks = database.rows(_TASKS, (thread, ns, checkpoint_id))
        for (body,) in database.rows(_CHILD, (thread, ns, checkpoint_id, checkpoint_id)):
            tasks.append(self._unpack(zlib.decompress(body))[2])
        waiting = self._waiting.get((thread, ns))
        if waiting and waiting.body and waiting.checkpoint == checkpoint_id:
            tasks.append(waiting[1:])
        found = {
            (path, task, index): (channel, value)
            for task, path, body in reversed(tasks)
            for index, channel, value in self._unpack(body)
        }
        return [(key[1], *found[key]) for key in sorted(found)]

    def _store(self, connection: sqlite3.Connection, thread: str, ns: str, task: _Task) -> None:
        """Of a task's two writes with one index the first stays, but a special channel takes the last."""
        if not task.body:
            return
        key = (thread, ns, task.checkpoint, task.task)
        new: _Writes = {index: (channel, value) for index, channel, value in self._unpack(task.body)}
        for (body,) in connection.execute(_TASK, key).fetchall():
            new.update({i: (channel, value) for i, channel, value in self._unpack(body) if i >= 0 or i not in new})
        body = self.serde.dumps_typed([(index, *new[index]) for index in sorted(new)])[1]
        connection.execute(_PUT_TASK, (*key, task.path, body))

    def _unpack(self, packed: bytes) -> Any:
        return self.serde.loads_typed(("msgpack", packed))


def _squeezed(packed: bytes) -> bytes:
    """Deflated with a window of 4 KB: a checkpoint is smaller, and setting up a large one takes longer than the work."""
    deflate = zlib.compressobj(1, zlib.DEFLATED, 12, 5)
    return deflate.compress(packed) + deflate.flush()


def _place(config: RunnableConfig) -> tuple[str, str, str | None]:
    place = config.get("configurable", {})
    return str(place["thread_id"]), place.get("checkpoint_ns", ""), place.get("checkpoint_id")


def _config(thread: str, ns: str, checkpoint_id: str | None = None) -> RunnableConfig:
    place = {"thread_id": thread, "checkpoint_ns": ns}
    return {"configurable": place if checkpoint_id is None else {**place, "checkpoint_id": checkpoint_id}}


def _delete(connection: sqlite3.Connection, where: str, values: Sequence[object]) -> None:
    connection.execute(f"DELETE FROM checkpoints WHERE {where}", values)
    connection.execute(f"DELETE FROM writes WHERE {where}", values)
