"""Contestant (a): the engine as users run it, every durable write on but the wire log, which (b) does not keep."""

from __future__ import annotations

from pathlib import Path

from measuring import Measured, folder_figures, measured
from work import Laps, instant_model, start_request

from treadle.engine.engine import Engine
from treadle.graph.status import RunStatus


async def run_machine(folder: Path, rounds: int) -> Measured:
    """One run of so many rounds below `folder`."""
    laps = Laps()
    async with Engine(folder, None, transport=instant_model(rounds, laps), wire_log="off") as engine:
        handle = await engine.start_run_with_prompt_snapshot(start_request(rounds))
        record = await engine.wait(handle.run_id)
        run_folder = engine.services.store.folder(record)
    if record.status is not RunStatus.COMPLETED:
        raise SystemExit(f"the engine's run ended {record.status}; see {run_folder}")
    return measured(laps, rounds, folder_figures(run_folder, database=run_folder / "run.sqlite"))
