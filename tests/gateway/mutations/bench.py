"""A process that runs tests against a changed copy of the tree: `python -m tests.gateway.mutations.bench` in that copy.

Each line it reads asks for one run: {file, old, new, tests}; each line it writes is pytest's exit code and what it said.
The libraries that take long to import are imported once; every run is a fork, which imports the packages anew.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import Phase, settings

_HEAVY = (
    "httpx", "websockets.asyncio.client", "websockets.asyncio.server", "jsonschema", "msgspec", "orjson", "pydantic",
    "rfc8785", "rich.console", "typer", "langgraph.graph", "langchain_core.runnables",
)  # fmt: skip
_SAID = Path("said.txt")
_SAID_CHARS = 4000


def main() -> None:
    for library in _HEAVY:
        import_module(library)
    settings.register_profile(
        "bench", phases=(Phase.explicit, Phase.generate), database=None, deadline=None, derandomize=True
    )
    settings.load_profile("bench")
    for number, line in enumerate(sys.stdin, start=1):
        asked = json.loads(line)
        code = _changed(Path(asked["file"]), asked["old"], asked["new"], asked["tests"], number)
        sys.stdout.write(json.dumps([code, _SAID.read_text("utf-8", "replace")[-_SAID_CHARS:]]) + "\n")
        sys.stdout.flush()


def _changed(file: Path, old: str, new: str, tests: list[str], number: int) -> int:
    """The exit code of the tests while the file says `new`; without `old` nothing is changed, and bytecode is kept."""
    if not old:
        return _run(tests, keeps_bytecode=True)
    before, times = file.read_text("utf-8"), file.stat()
    file.write_text(before.replace(old, new), "utf-8")
    os.utime(
        file, (times.st_atime, times.st_mtime + number)
    )  # or the bytecode of the old text would be taken for its own
    try:
        return _run(tests, keeps_bytecode=False)
    finally:
        file.write_text(before, "utf-8")
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def _run(tests: list[str], *, keeps_bytecode: bool) -> int:
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 99
    try:
        said = os.open(_SAID, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.dont_write_bytecode = not keeps_bytecode
        code = _tested(tests)
        sys.stdout.flush()
    finally:
        os._exit(code)


def _tested(tests: list[str]) -> int:
    found = Path(str(import_module("treadle.gateway").__file__)).resolve()
    if Path.cwd().resolve() not in found.parents:
        sys.stdout.write(f"the packages would be imported from {found}, which is not the copy")
        return 98
    quiet = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--timeout=30"]
    return int(pytest.main([*quiet, "-W", "ignore::pytest.PytestAssertRewriteWarning", *tests]))


if __name__ == "__main__":
    main()
