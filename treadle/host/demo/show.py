"""The demo's run: a fresh sample, the scripted writer behind a real server, and the stage that any run has."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rich.text import Text

from ...graph.jsontext import Json, loads
from ...testkit.simulators.chat_completions import ChatCompletionsServer
from ..options import nearest
from ..stage import Stage
from ..starting import ModelChoice, start_request
from .sample import Sample, fresh_sample
from .script import MODEL, replies

_TITLE = "Treadle demo: the writer is scripted, with fixed answers from a local server."
_TRUTH = "All else is real: the HTTP, the state machine, the run folder, the chat file."


def show(root: Path, *, plain: bool, as_json: bool) -> int:
    """Run the demo below a data root; the exit code."""
    sample = fresh_sample(root)
    stage = Stage.at(sample.chat, root, plain=plain, as_json=as_json, wire_log="full")
    if not as_json:
        for line in (_TITLE, _TRUTH, f"Chat: {nearest(sample.chat)}", ""):
            stage.console.print(Text(line), soft_wrap=True)
    return asyncio.run(_run(stage, sample))


async def _run(stage: Stage, sample: Sample) -> int:
    async with ChatCompletionsServer(replies()) as server, stage.engine() as engine:
        end = await stage.begin(engine, _request(stage, sample, server.base_url))
    return stage.close(end)


def _request(stage: Stage, sample: Sample, base_url: str) -> dict[str, Json]:
    return start_request(
        chat=sample.chat,
        ref=stage.ref,
        snapshot=loads(sample.prompt.read_bytes()),
        choice=ModelChoice(base_url, MODEL),
        profile=str(sample.profile),
    )
