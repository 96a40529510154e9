"""The demo's run: a fresh sample and its skill, the scripted writer behind a real server, and the stage that any run has."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from rich.text import Text

from ...graph.errors import InvalidInput
from ...graph.jsontext import Json, loads
from ...nodes.snapshot import payload_of
from ...testkit.simulators.registry import SIMULATORS, Simulator, payload_for
from ..options import nearest
from ..stage import Stage
from ..starting import ModelChoice, start_request
from .sample import Sample, bundled_skill, fresh_sample
from .script import SKILL, turns

_TITLE = "Treadle demo: the writer is scripted, with fixed answers from a local server that speaks {format}."
_TRUTH = "All else is real: the HTTP, the state machine, the run folder, the chat file."
_ALONE = "Its profile asks before anything is published; with no terminal to ask at, the demo says yes itself."


def show(root: Path, provider_format: str, *, plain: bool, as_json: bool, yes: bool = False) -> int:
    """Run the demo below a data root, against the simulator of a provider format; the exit code.

    Where a call needs a person's word, the person at the terminal is asked, unless `yes` says it; with no terminal the
    demo says it too. Raises InvalidInput for a format that has no simulator.
    """
    if provider_format not in SIMULATORS:
        raise InvalidInput(f"--format {provider_format} is not known; these are: {', '.join(SIMULATORS)}")
    alone = not yes and not sys.stdin.isatty()
    sample = fresh_sample(root)
    stage = Stage.at(sample.chat, root, plain=plain, as_json=as_json, wire_log="full", yes=yes or alone)
    if not as_json:
        told = [_TITLE.format(format=provider_format), _TRUTH, *([_ALONE] if alone else [])]
        for line in (*told, f"Chat: {nearest(sample.chat)}", ""):
            stage.console.print(Text(line), soft_wrap=True)
    return asyncio.run(_run(stage, sample, provider_format))


async def _run(stage: Stage, sample: Sample, provider_format: str) -> int:
    async with SIMULATORS[provider_format](turns()) as server, stage.engine() as engine:
        await engine.skills.install_import({"input": bundled_skill(SKILL), "conflictStrategy": "skip"})
        end = await stage.begin(engine, _request(stage, sample, server))
    return stage.close(end)


def _request(stage: Stage, sample: Sample, server: Simulator) -> dict[str, Json]:
    snapshot = loads(sample.prompt.read_bytes())
    payload_of(snapshot).update(payload_for(server))
    return start_request(
        chat=sample.chat, ref=stage.ref, snapshot=snapshot, choice=ModelChoice(), profile=str(sample.profile)
    )
