"""`treadle demo`: a whole run over real HTTP on loopback, with nothing scripted but the writer's words."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import AsJson, Data, Yes, data_root


def demo(
    provider_format: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="The provider format to speak: openai_compatible, openai_responses, claude_messages, gemini or "
            "gemini_interactions.",
        ),
    ] = "openai_compatible",
    data: Data = None,
    plain: Annotated[
        bool, typer.Option("--plain", metavar="", help="Print plain lines, as where there is no terminal.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Watch a run work, without a key and without a network."""
    from .demo.show import show  # here and not above, so that the help comes at once

    raise typer.Exit(show(data_root(data), provider_format, plain=plain, yes=yes, as_json=as_json))
