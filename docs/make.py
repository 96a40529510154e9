"""Writes into the pages what the code says: tables, the profile, a real run.

    python docs/make.py            bring the pages up to date
    python docs/make.py --check    name the pages that are not, and end with 1

`--pages DIR` takes the pages of another folder.

What is made stands between `<!-- made by docs/make.py: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import error_pieces
import pieces
import tool_pieces
from run_pieces import run_pieces

from treadle.graph.jsontext import dumps
from treadle.graph.profiles.fields import published_schema

FOLDER = Path(__file__).resolve().parent
SCHEMA = "profile.schema.json"

PIECES: dict[str, Callable[[], list[str]]] = {
    "transitions": pieces.transitions,
    "retry transitions": pieces.retry_transitions,
    "outcomes": pieces.outcomes,
    "statuses": pieces.statuses,
    "events": pieces.events,
    "error tree": error_pieces.error_tree,
    "codes": error_pieces.codes,
    "tools": tool_pieces.tools,
    "common codes": tool_pieces.common_codes,
    "formats": pieces.formats,
    "default profile": pieces.default_profile,
    "profile fields": pieces.profile_fields,
    "profile codes": pieces.profile_codes,
    "profile starter": pieces.profile_starter,
    "skill limits": pieces.skill_limits,
}

_MADE = re.compile(r"(<!-- made by docs/make\.py: ([a-z ]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write into the pages what the code says.")
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 where a page is stale")
    parser.add_argument("--pages", type=Path, default=FOLDER, metavar="DIR", help="the folder of the pages")
    arguments = parser.parse_args()
    only_check: bool = arguments.check
    stale = [(path, text) for path, text in made_pages(arguments.pages) if not _holds(path, text)]
    for path, text in stale:
        print(f"{'stale' if only_check else 'written'}: {path.name}")
        if not only_check:
            path.write_text(text, "utf-8", newline="\n")
    if stale and only_check:
        raise SystemExit("run: python docs/make.py")


def made_pages(folder: Path) -> list[tuple[Path, str]]:
    """Every page with made parts as it should be; raises SystemExit for a part that no page or no function has."""
    ready = {name: make() for name, make in PIECES.items()} | asyncio.run(run_pieces())
    used: set[str] = set()

    def filled(match: re.Match[str]) -> str:
        name = match[2]
        if name not in ready:
            raise SystemExit(f"there is no part named {name!r}; there are: {', '.join(ready)}")
        used.add(name)
        return f"{match[1]}\n" + "\n".join(ready[name]) + f"\n\n{match[4]}"

    pages = [(path, path.read_text("utf-8")) for path in sorted(folder.glob("*.md"))]
    made = [(path, _MADE.sub(filled, text)) for path, text in pages if _MADE.search(text)]
    unused = ready.keys() - used
    if unused:
        raise SystemExit(f"no page shows: {', '.join(sorted(unused))}")
    return [*made, (folder / SCHEMA, dumps(published_schema(), pretty=True).decode() + "\n")]


def _holds(path: Path, text: str) -> bool:
    return path.exists() and path.read_text("utf-8") == text


if __name__ == "__main__":
    main()
