"""`treadle graph`: the machine as Mermaid, JSON, SVG or PNG, drawn from its tables without a network."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, assert_never

import typer

from ..graph.drawing import as_json, mermaid
from ..graph.errors import InvalidInput, StorageFailed
from .svg import png, svg


class Format(StrEnum):
    MERMAID = "mermaid"
    JSON = "json"
    SVG = "svg"
    PNG = "png"


def graph(
    format: Annotated[Format, typer.Option("--format", "-f", help="What to draw it as.")] = Format.MERMAID,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write there instead of to the screen.")
    ] = None,
) -> None:
    """Draw the machine that every run follows."""
    drawing = drawn(format)
    if output is not None:
        _write(output, drawing)
    elif format is Format.PNG and sys.stdout.isatty():
        raise InvalidInput("a PNG can't be shown on a terminal; name a file with --output")
    else:
        sys.stdout.buffer.write(drawing)
        sys.stdout.flush()


def drawn(format: Format) -> bytes:
    """The drawing's bytes; raises InvalidInput where PNG is asked for and its renderer is not installed."""
    match format:
        case Format.MERMAID:
            return mermaid().encode()
        case Format.JSON:
            return (json.dumps(as_json(), indent=2) + "\n").encode()
        case Format.SVG:
            return svg().encode()
        case Format.PNG:
            return png()
        case _:
            assert_never(format)


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except FileNotFoundError as error:
        raise InvalidInput(f"the folder of {path} does not exist; make it first") from error
    except OSError as error:
        raise StorageFailed(f"writing {path}: {error.strerror or error}") from error
