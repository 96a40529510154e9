"""A real MCP server for tests, a program of its own: `python server.py FOLDER [PORT]`; without a port over stdio.

FOLDER gets what it does: `pid`, `notes` (a line a note), `slow` (`begun`, then `stopped` where it was told to stop).
A file `later` there makes it offer other tools; a file `hostile`, tools that nobody should be given.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import BaseModel

FOLDER = Path(sys.argv[1])
PNG = b"\x89PNG fake"


class Sum(BaseModel):
    total: int


def main() -> None:
    with (FOLDER / "pid").open("a") as pids:
        pids.write(f"{os.getpid()}\n")
    print("a word on standard error", file=sys.stderr)
    server = MCPServer("shed")
    for name, tool in _tools().items():
        server.tool(name=name, annotations=_marks(name), structured_output=None if name == "add" else False)(tool)
    if len(sys.argv) > 2:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("stdio")


def _marks(name: str) -> ToolAnnotations:
    return ToolAnnotations(read_only_hint=name in ("add", "look.up", "env"), idempotent_hint=name == "set")


def _tools() -> dict[str, Callable[..., object]]:
    tools: dict[str, Callable[..., object]] = {
        "add": add, "note": note, "set": set_, "fail": fail, "slow": slow, "die": die, "picture": picture,
        "huge": huge, "env": env, "look.up": look_up,
    }  # fmt: skip
    if (FOLDER / "later").exists():
        del tools["note"]
        tools["add"] = add_three
    if (FOLDER / "hostile").exists():
        tools["two words\u0007"] = look_up
    return tools


def add(a: int, b: int) -> Sum:
    """Add two numbers."""
    return Sum(total=a + b)


def add_three(a: int, b: int, c: int) -> Sum:
    """Add three numbers."""
    return Sum(total=a + b + c)


def note(text: str) -> str:
    """Keep a note."""
    with (FOLDER / "notes").open("a") as notes:
        notes.write(f"{text}\n")
    return f"noted: {text}"


def set_(text: str) -> str:
    """Keep this note alone."""
    return note(text)


def fail() -> str:
    """Never works."""
    raise ToolError("the shed is locked")


async def slow() -> str:
    """Takes for ever."""
    (FOLDER / "slow").write_text("begun")
    try:
        await anyio.sleep_forever()
    finally:
        (FOLDER / "slow").write_text("stopped")
    return "done"


def die(text: str) -> str:
    """Keeps a note, and is no more."""
    note(text)
    os._exit(3)


def picture() -> list[object]:
    """Draws."""
    return ["a drawing:", Image(data=PNG, format="png")]


def huge(count: int) -> str:
    """Says a lot."""
    return "x" * count


def env(name: str) -> str:
    """What the server has in its environment."""
    return os.environ.get(name, "(nothing)")


def look_up(word: str) -> str:
    """Looks a word up."""
    return f"{word}: see elsewhere"


if __name__ == "__main__":
    main()
