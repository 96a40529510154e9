"""`treadle wire`: what went out to the model in a round, and what came back."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..graph.jsontext import Json
from .ending import print_json
from .options import AsJson, Data, RunName, existing_data_root
from .reading import read


def wire(
    run: RunName,
    round: Annotated[int, typer.Argument(metavar="ROUND", help="From 1.")],
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """The calls to the model in one round, as they went over the wire, without keys."""
    attempts = read(existing_data_root(data), lambda engine: engine.read_wire(run, round))
    if as_json:
        print_json({"attempts": attempts})
        return
    for attempt in attempts:
        for number, call in enumerate(attempt["calls"], start=1):
            sys.stdout.write(call_text(attempt, number, call))


def call_text(attempt: dict[str, Json], number: int, call: dict[str, Json]) -> str:
    """One call in the order that it happened: the request, then what came of it."""
    request, response = call["request"], call["response"]
    title = f"Round {attempt['round']}, attempt {attempt['attempt']}, call {number}"
    lines = [
        f"== {title}: {call['model']} ({call['providerFormat']}, {call['transport']}), {call['durationMs']} ms",
        f"> {request['method']} {call['endpoint']}",
        *(f"> {name}: {value}" for name, value in request["headers"].items()),
        *_body(request, attempt["level"]),
    ]
    if response is None:
        lines.append(f"< no answer: {call['errorMessage']}")
    else:
        lines.append(f"< {response['status']}")
        lines += [f"< {name}: {value}" for name, value in response["headers"].items()]
        lines += _body(response, attempt["level"])
    return "\n".join([*lines, ""]) + "\n"


def _body(half: dict[str, Json], level: str) -> list[str]:
    if "body" in half:
        return ["", half["body"], ""]
    return [
        "",
        f"({half['bytes']} bytes, SHA-256 {half['sha256']}; the wire log kept {level}: --wire-log full keeps all)",
        "",
    ]
