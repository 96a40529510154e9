"""The demo's run: a fresh sample, the scripted writer behind a real server, and the stage that any run has."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rich.text import Text

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, loads
from ...nodes.snapshot import payload_of
from ...testkit.simulators.registry import SIMULATORS, Simulator, payload_for
from ..options import nearest
from ..stage import Stage
from ..starting import ModelChoice, start_request
from .sample import Sample, fresh_sample
from .script import turns

_TITLE = "Treadle demo: the writer is scripted, with fixed answers from a local server that speaks {format}."
_TRUTH = "All else is real: the HTTP, the state machine, the run folder, the chat file."


def show(root: Path, provider_format: str, *, plain: bool, as_json: bool, yes: bool = False) -> int:
    """Run the demo below a data root, against the simulator of a provider format; the exit code.

    Raises InvalidInput for a format that has none.
    """
    if provider_format not in SIMULATORS:
        raise InvalidInput(f"--format {provider_format} is not known; these are: {', '.join(SIMULATORS)}")
    sample = fresh_sample(root)
    stage = Stage.at(sample.chat, root, plain=plain, as_json=as_json, wire_log="full", yes=yes)
    if not as_json:
        for line in (_TITLE.format(format=provider_format), _TRUTH, f"Chat: {nearest(sample.chat)}", ""):
            stage.console.print(Text(line), soft_wrap=True)
    return asyncio.run(_run(stage, sample, provider_format))


async def _run(stage: Stage, sample: Sample, provider_format: str) -> int:
    async with SIMULATORS[provider_format](turns()) as server, stage.engine() as engine:
        end = await stage.begin(engine, _request(stage, sample, server))
    return stage.close(end)


def _request(stage: Stage, sample: Sample, server: Simulator) -> dict[str, Json]:
    snapshot = loads(sample.prompt.read_bytes())
    payload_of(snapshot).update(payload_for(server))
    return start_request(
        chat=sample.chat, ref=stage.ref, snapshot=snapshot, choice=ModelChoice(), profile=str(sample.profile)
    )
