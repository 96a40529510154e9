"""`treadle demo`: a whole run over real HTTP on loopback, with nothing scripted but the writer's words."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from rich.text import Text

from ..graph.jsontext import Json, loads
from ..testkit.simulators.chat_completions import ChatCompletionsServer
from .demo.sample import Sample, fresh_sample
from .demo.script import MODEL, replies
from .options import AsJson, Data, Yes, data_root, nearest
from .stage import Stage
from .starting import ModelChoice, start_request

_TITLE = "Treadle demo: the writer is scripted, with fixed answers from a local server."
_TRUTH = "All else is real: the HTTP, the state machine, the run folder, the chat file."


def demo(
    data: Data = None,
    plain: Annotated[
        bool, typer.Option("--plain", metavar="", help="Print plain lines, as where there is no terminal.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Watch a run work, without a key and without a network."""
    root = data_root(data)
    sample = fresh_sample(root)
    stage = Stage.at(sample.chat, root, plain=plain, as_json=as_json)
    if not as_json:
        stage.console.print(Text(_TITLE), soft_wrap=True)
        stage.console.print(Text(_TRUTH), soft_wrap=True)
        stage.console.print(Text(f"Chat: {nearest(sample.chat)}"), soft_wrap=True)
        stage.console.print()
    raise typer.Exit(asyncio.run(_demo(stage, sample)))


async def _demo(stage: Stage, sample: Sample) -> int:
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
