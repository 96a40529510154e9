"""Files of prose to search, in English and in Chinese, always the same: a word in most lines, a word in few, one in none."""

from __future__ import annotations

import random
from pathlib import Path

COMMON, RARE, COMMON_CHINESE, RARE_CHINESE, ABSENT = "river", "zeppelin", "河边", "齐柏林", "quasar"
QUERIES = (RARE, COMMON, f"{COMMON} {RARE}", RARE_CHINESE, COMMON_CHINESE, ABSENT)

_WORDS = f"the {COMMON} door tide kettle lantern window harbour old grey night morning road letter glass".split()
_PHRASES = ("她看着", "窗外的雨", "想起", "很久以前", "那个夜晚", COMMON_CHINESE, "灯光", "门", "海")
_LINES = 60
_EVERY = 97
"""In one file of so many stand the rare words."""


def write(folder: Path, count: int, seed: int) -> int:
    """So many files below `folder`, fifty to a folder; how many bytes they have together."""
    made = random.Random(seed)
    return sum(_write(folder / f"{number // 50:03}" / f"{number:05}.md", number, made) for number in range(count))


def _write(path: Path, number: int, made: random.Random) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [_line(made, chinese=number % 3 == 0) for _ in range(_LINES)]
    if number % _EVERY == 0:
        lines[_LINES // 2] = f"The {RARE.title()} rose over the roofs, {RARE_CHINESE}号"
    data = "\n".join(lines).encode()
    path.write_bytes(data)
    return len(data)


def _line(made: random.Random, *, chinese: bool) -> str:
    if chinese:
        return "".join(made.choices(_PHRASES, k=12)) + "。"
    return " ".join(made.choices(_WORDS, k=14)).capitalize() + "."
