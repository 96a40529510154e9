"""`state_roundtrip`: values put into a checkpoint by the graph's saver, and taken out again."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from treadle.graph.errors import TreadleError
from treadle.graph.jsontext import Json, loads
from treadle.storage.database import RunDatabase
from treadle.storage.saver import RunFolderSaver

from ..clock import HarnessClock
from ..observed import Observed
from .journal_write import same

KEYS = frozenset({"values"})


def run(given: dict[str, Json]) -> Observed:
    went = {name: _went(_value(spelled)) for name, spelled in given["values"].items()}
    changed = [name for name, how in went.items() if how == "changed"]
    return Observed(sent=[], facts={"silent_change": bool(changed), "equal_or_loud": not changed, "changed": changed})


def _value(spelled: Json) -> Json:
    """A number in JSON's spelling, or the inside of a JSON string; what is no text is itself."""
    if not isinstance(spelled, str):
        return spelled
    try:
        number = loads(spelled)
    except ValueError:
        number = None
    return number if isinstance(number, int | float) and not isinstance(number, bool) else loads(f'"{spelled}"')


def _went(value: Json) -> str:
    """`equal`, `loud` or `changed`."""
    with TemporaryDirectory() as folder:
        database = RunDatabase(Path(folder) / "run.sqlite", clock=HarnessClock())
        saver = RunFolderSaver.in_one_file(database)
        config: RunnableConfig = {"configurable": {"thread_id": "run", "checkpoint_ns": ""}}
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"value": value}
        checkpoint["channel_versions"] = {"value": 1}
        metadata: Any = {"source": "loop", "step": 1, "parents": {}}
        try:
            saver.put(config, checkpoint, metadata, {"value": 1})
            found = saver.get_tuple(config)
        except TreadleError:
            return "loud"
        finally:
            database.close()
    back = None if found is None else found.checkpoint["channel_values"].get("value")
    return "equal" if same(back, value) else "changed"
