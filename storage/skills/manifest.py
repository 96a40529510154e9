"""SKILL.md: its front matter by a real YAML parser, and the text below it.

The YAML is composed and never constructed: a node knows its line, an alias is a second way to the same node, and no
tag makes anything, so nothing in it can grow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from ...graph.jsontext import is_list
from ...graph.paths import fault
from .shelf import SkillRefused

MANIFEST = "SKILL.md"
MOST_BYTES = 1024 * 1024
MOST_FRONT_BYTES = 64 * 1024
"""Of the front matter alone: a page of it is much, and a YAML parser is slow."""
NAME_BYTES = 128

_NAME = re.compile(r"[a-z0-9_-]+")
_TOP_KEY = re.compile(r"([\w-]+)\s*:")
_STRING = "tag:yaml.org,2002:str"
_NULL = "tag:yaml.org,2002:null"
_FIRST_LINE = 2
"""Where the front matter begins: below the opening `---`."""

Node = Any
"""A node of the parser's, which its types leave open: `tag`, `value`, `start_mark`."""


@dataclass(frozen=True, slots=True)
class Manifest:
    name: str
    description: str
    body: str
    """Below the front matter, with `\\n` at the ends of lines."""
    license: str | None = None
    author: str | None = None
    version: str | None = None
    tags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """What was left out, and how to mend it."""


@dataclass(frozen=True, slots=True)
class _Field:
    node: Node
    line: int
    """Where its key stands, from 0 at the first line of the front matter."""

    @property
    def is_null(self) -> bool:
        return str(self.node.tag) == _NULL

    @property
    def text(self) -> str | None:
        """None for what YAML takes for something else: a number, a date, a list."""
        return self.node.value if isinstance(self.node.value, str) and str(self.node.tag) == _STRING else None

    @property
    def place(self) -> str:
        return f"{MANIFEST} line {self.line + _FIRST_LINE}"

    def needed_text(self, key: str) -> str:
        """The text, trimmed; raises SkillRefused."""
        if self.text is None:
            raise _wrong(key, self.line, "must be text; put it in quotes")
        return self.text.strip()


def manifest_of(data: bytes) -> Manifest:
    """Raises SkillRefused; the message names the field, the line and the remedy."""
    front, body = _parted(_text(data))
    fields = _fields(_composed(front))
    warnings: list[str] = []
    metadata = _metadata(fields.get("metadata"), warnings)
    return Manifest(
        name=checked_name(_required(fields, "name"), f"{fields['name'].place}: name"),
        description=_required(fields, "description"),
        body=body,
        license=_license(fields.get("license")),
        author=_soft_text(metadata, "author", warnings),
        version=_soft_text(metadata, "version", warnings),
        tags=_tags(metadata.get("tags"), warnings),
        warnings=tuple(warnings),
    )


def checked_name(name: str, where: str = "name") -> str:
    """The name of a skill, trimmed; raises SkillRefused. A device's name is no folder's on some systems."""
    trimmed = name.strip()
    wrong = not _NAME.fullmatch(trimmed) or len(trimmed) > NAME_BYTES
    if wrong or fault(trimmed, "the store", "my-skill"):
        shown = trimmed if len(trimmed) <= NAME_BYTES else f"{trimmed[:NAME_BYTES]}…"
        raise SkillRefused(
            f"{where} {shown!r} must be 1 to {NAME_BYTES} of a-z 0-9 _ -, and no name that some systems keep for devices",
            details={"path": "name"},
        )
    return trimmed


def _text(data: bytes) -> str:
    if len(data) > MOST_BYTES:
        raise SkillRefused(f"{MANIFEST} has {len(data)} bytes; it may have {MOST_BYTES}: move text into other files")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SkillRefused(f"{MANIFEST} line {line} is not UTF-8 (byte {error.start}); save it as UTF-8") from error
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _parted(text: str) -> tuple[str, str]:
    """The front matter without its fences, and the body."""
    if not text.startswith("---\n"):
        raise SkillRefused(
            f"{MANIFEST} line 1 must be --- and nothing else; the front matter (name, description) begins there"
        )
    end = text.find("\n---", 3)
    if end < 0:
        raise SkillRefused(f"{MANIFEST} has no closing --- line; the front matter must end with one")
    closing, _, body = text[end + 1 :].partition("\n")
    if closing.rstrip() != "---":
        line = text.count("\n", 0, end) + 2
        raise SkillRefused(
            f"{MANIFEST} line {line} begins with --- and goes on; the front matter must end with --- alone"
        )
    front = text[4 : end + 1]
    if len(front.encode()) > MOST_FRONT_BYTES:
        raise SkillRefused(f"the front matter of {MANIFEST} has more than {MOST_FRONT_BYTES} bytes; move text below it")
    return front, body


def _composed(front: str) -> Node:
    parser: Any = YAML(typ="safe", pure=True)  # which leaves the type of what it composes open
    try:
        return parser.compose(front)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        at: int = mark.line if mark is not None else front.count("\n", 0, getattr(error, "position", 0))
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or type(error).__name__
        raise _wrong(
            _field_at(front, at),
            at,
            f"is not valid YAML ({problem}); put a value that holds ': ', '#', quotes or brackets in quotes",
        ) from error
    except RecursionError as error:
        raise SkillRefused(f"the front matter of {MANIFEST} is nested too deeply") from error


def _fields(root: Node) -> dict[str, _Field]:
    """The top-level values by key; raises SkillRefused for a key that stands twice, at any depth."""
    if root is None or not _is_mapping(root):
        raise SkillRefused(f"{MANIFEST} line {_FIRST_LINE}: the front matter must hold name: … and description: …")
    for mapping in _mappings(root):
        seen: set[str] = set()
        for key, _ in mapping.value:
            name = _key(key)
            if name in seen:
                raise _wrong(name, key.start_mark.line, "stands twice; remove one")
            seen.add(name)
    return _by_key(root)


def _mappings(root: Node) -> Iterator[Node]:
    """Every mapping once, however many aliases lead to it."""
    waiting, seen = [root], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen or not is_list(node.value):
            continue
        seen.add(id(node))
        if _is_mapping(node):
            yield node
            waiting += [member for pair in node.value for member in pair]
        else:
            waiting += node.value


def _required(fields: dict[str, _Field], key: str) -> str:
    field = fields.get(key)
    if field is None or field.is_null:
        raise _wrong(key, 0 if field is None else field.line, f"is missing; add {key}: …")
    text = field.needed_text(key)
    if not text:
        raise _wrong(key, field.line, "must not be blank")
    return text


def _license(field: _Field | None) -> str | None:
    return None if field is None or field.is_null else field.needed_text("license") or None


def _metadata(field: _Field | None, warnings: list[str]) -> dict[str, _Field]:
    if field is None or field.is_null:
        return {}
    if _is_mapping(field.node):
        return _by_key(field.node)
    warnings.append(f"{field.place}: metadata is no mapping and is left out")
    return {}


def _soft_text(metadata: dict[str, _Field], key: str, warnings: list[str]) -> str | None:
    field = metadata.get(key)
    if field is None or field.is_null:
        return None
    if field.text is None:
        warnings.append(f"{field.place}: metadata.{key} is not text and is left out; put it in quotes to keep it")
    return (field.text or "").strip() or None


def _tags(field: _Field | None, warnings: list[str]) -> tuple[str, ...]:
    if field is None or field.is_null:
        return ()
    if not is_list(field.node.value) or _is_mapping(field.node):
        warnings.append(f"{field.place}: metadata.tags is no list and is left out")
        return ()
    texts = [(_Field(item, 0).text or "").strip() for item in field.node.value]
    if not all(texts):
        warnings.append(f"{field.place}: metadata.tags holds what is no text, which is left out")
    return tuple(sorted({text for text in texts if text}))


def _by_key(mapping: Node) -> dict[str, _Field]:
    return {_key(key): _Field(value, key.start_mark.line) for key, value in mapping.value}


def _key(node: Node) -> str:
    """A key's text; one that is a list or mapping is known by its place alone."""
    return node.value if isinstance(node.value, str) else f"{node.start_mark.line}:{node.start_mark.column}"


def _is_mapping(node: Node) -> bool:
    return type(node).__name__ == "MappingNode"


def _field_at(front: str, line: int) -> str:
    """The top-level key whose value holds this line."""
    for text in reversed(front.split("\n")[: line + 1]):
        match = _TOP_KEY.match(text)
        if match:
            return match[1]
    return "the front matter"


def _wrong(field: str, line: int, message: str) -> SkillRefused:
    return SkillRefused(f"{MANIFEST} line {line + _FIRST_LINE}: {field} {message}", details={"path": field})
