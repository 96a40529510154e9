"""How much longer `treadle demo` takes than importing the graph runtime does, in the same process.

Each run is a fresh interpreter that imports the graph runtime with a stop-watch, then runs the demo; the whole process
is timed from outside. What is over the import is Treadle's own: its start, the run, its server, its waits. One run
before, uncounted, compiles every module, as installing does. The import is the floor: it tells how fast the machine is.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

_PROGRAM = """
import sys, time
began = time.perf_counter()
import treadle.graph.build
took = time.perf_counter() - began
sys.argv = ["treadle", "demo", "--plain", "--data", sys.argv[1]]
from treadle.host.cli import main
try:
    main()
finally:
    print(took, file=sys.stderr)
"""


class Measured(NamedTuple):
    """Seconds of one run."""

    whole: float
    runtime_import: float

    @property
    def over(self) -> float:
        return self.whole - self.runtime_import


def measure(bytecode: str) -> Measured:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        ran = subprocess.run(
            [sys.executable, "-c", _PROGRAM, folder],
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
            env=environment,
        )
        whole = time.perf_counter() - began
    return Measured(whole, float(ran.stderr.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeat", type=int, default=5, help="runs; the one with the least over the import is shown")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as bytecode:
        measure(bytecode)
        runs = [measure(bytecode) for _ in range(options.repeat)]
    best = min(runs, key=lambda run: run.over)
    load = os.getloadavg()[0]
    if options.json:
        told = {"whole": best.whole, "runtimeImport": best.runtime_import, "over": best.over, "load": load}
        print(json.dumps({**told, "runs": [run._asdict() for run in runs]}))
        return
    print(f"{'whole s':>10} {'import s':>10} {'over s':>10}")
    for run in runs:
        print(f"{run.whole:10.2f} {run.runtime_import:10.2f} {run.over:10.2f}")
    print(f"least over the import: {best.over:.2f} s ({best.over / best.runtime_import:.2f} of it); load {load:.1f}")


if __name__ == "__main__":
    main()
