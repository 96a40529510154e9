"""`python -m treadle.testkit.crashes MODULE:PLAY`: kill a play everywhere, and say what did not hold."""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from ...graph.errors import InvalidInput, TreadleError
from ...graph.jsontext import dumps
from .harness import Struck, crash_everywhere
from .play import Play


def main() -> int:
    """1 where an invariant did not hold, 2 for what was given wrong."""
    asked = _arguments()
    done = 0

    def tell(struck: Struck) -> None:
        nonlocal done
        done += 1
        if struck.faults:
            print(struck, file=sys.stderr, flush=True)
        if asked.progress and done % asked.progress == 0:
            print(f"{asked.play}: {done} points", file=sys.stderr, flush=True)

    try:
        play, share = _play(asked.play), _share(asked.share)
        folder = asked.folder or Path(tempfile.mkdtemp(prefix="crashes-"))
        report = crash_everywhere(play, folder, sample=asked.sample, seed=asked.seed, share=share, tell=tell)
    except TreadleError as error:
        print(error, file=sys.stderr)
        return 2
    told = {"play": asked.play, "points": report.points, "faults": len(report.faults), "seconds": report.seconds}
    print(dumps(told).decode(), flush=True)
    return 1 if report.faults else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m treadle.testkit.crashes", description=__doc__)
    parser.add_argument("play", metavar="MODULE:PLAY", help="where the play is: a module, and the name in it")
    parser.add_argument("--folder", type=Path, help="where it is played; a new temporary folder unless given")
    parser.add_argument("--sample", type=int, help="kill it at so many points only, one of each sort first")
    parser.add_argument("--seed", type=int, default=0, help="what chooses the sample and the second kills")
    parser.add_argument("--share", default="1/1", help="2/3: the second third of the points")
    parser.add_argument("--progress", type=int, default=0, metavar="N", help="say a word every N points")
    return parser.parse_args()


def _play(name: str) -> Play:
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInput(f"there is no play {name}: {error}") from error
    if not isinstance(found, Play):
        raise InvalidInput(f"{name} is no Play, but {type(found).__name__}")
    return found


def _share(text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise InvalidInput(f"--share is like 2/3, not {text}")
    return int(number), int(of)


if __name__ == "__main__":
    sys.exit(main())
