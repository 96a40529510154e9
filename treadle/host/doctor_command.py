"""`treadle doctor`: whether a data root is whole, and the repairs that lose nothing."""

from __future__ import annotations

from typing import Annotated

import typer

from .ending import print_json
from .integrity_texts import show_doctor
from .options import AsJson, Data, existing_data_root
from .reading import read


def doctor(
    repair: Annotated[
        bool, typer.Option("--repair", metavar="", help="Do what is safe and loses nothing; the rest is only told.")
    ] = False,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Check a data root: runs, index, leftovers of crashes, settings. Exit 1 where problems remain."""
    report = read(existing_data_root(data), lambda engine: engine.doctor(repair=repair))
    if as_json:
        print_json(report.to_json())
    else:
        show_doctor(report)
    raise typer.Exit(0 if report.ok else 1)
