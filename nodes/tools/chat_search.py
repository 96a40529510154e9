"""`chat.search`: where words stand in the chat's messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from ...graph.jsontext import Json
from ...graph.messages import Annotations, ToolSpec
from ...graph.ports import ChatMessage, ChatRole
from ...graph.text import count_chars, count_words
from ..arguments.given import Given, given, integer, refused, schema, shown, string
from ..chat import CURRENT, frozen
from ..chat_words import first_match, sought
from ..files import counted
from ..tool import Answer, Bench

LIMIT = 20
MOST_LIMIT = 50
MOST_SCAN = 100_000
SNIPPET = 200
"""Characters of a message that are shown of a hit."""
BEFORE = 40
"""Of them, before the first match."""

_ROLES: tuple[ChatRole, ...] = get_args(ChatRole)

SPEC = ToolSpec(
    name="chat.search",
    title="Search the chat",
    description=(
        "Find messages of this chat by the words of a query, in any order and letter case; the best matches come "
        f"first, of equal ones the newest. Of each only about {SNIPPET} characters are shown: read a message with "
        "chat_read_messages before you rely on it."
    ),
    input_schema=schema(
        {
            "query": string("Words to look for."),
            "limit": integer(f"Most messages to show: 1 to {MOST_LIMIT}, default {LIMIT}."),
            "role": string("Only messages of this role. Default: all.", one_of=_ROLES),
            "start_message": integer("First message to search, counted from 0. Default: the chat's first."),
            "end_message": integer("Last message to search, itself included. Default: the chat's last."),
            "scan_limit": integer(f"Search only the newest messages, this many: 1 to {MOST_SCAN}. Default: all."),
        },
        required=("query",),
    ),
    annotations=Annotations(read_only=True, source_kind="chat"),
)

JUDGES = frozenset({"role"})
"""It is taken in any letter case."""


@dataclass(frozen=True, slots=True)
class Arguments:
    query: str
    limit: int = LIMIT
    role: ChatRole | None = None
    start_message: int = 0
    end_message: int | None = None
    scan_limit: int | None = None

    def within(self, visible: int) -> range:
        """The messages to search, of the first `visible`."""
        oldest = 0 if self.scan_limit is None else max(0, visible - self.scan_limit)
        last = visible if self.end_message is None else min(visible, self.end_message + 1)
        return range(max(self.start_message, oldest), last)


def run(arguments: Json, bench: Bench) -> Answer:
    asked = _asked(given(arguments))
    words = sought(asked.query)
    with frozen(bench) as chat:
        found = chat.search(words, asked.within(bench.chat_messages), role=asked.role, limit=asked.limit)
        messages = chat.read([hit.index for hit in found])
    whole = sum(words.values())
    # A message that another program took away between the two looks is not there to be shown.
    hits = [_hit(asked.query, hit.weight / whole, messages[hit.index]) for hit in found if hit.index in messages]
    return Answer(
        content=_content(asked.query, hits),
        structured={"query": asked.query, "hits": hits},
        resource_refs=tuple(hit["ref"] for hit in hits),
    )


def _asked(fields: Given) -> Arguments:
    asked = Arguments(
        query=fields.text("query"),
        limit=_between(fields, "limit", MOST_LIMIT) or LIMIT,
        role=_role(fields),
        start_message=fields.number("start_message", 0),
        end_message=fields.optional_number("end_message"),
        scan_limit=_between(fields, "scan_limit", MOST_SCAN),
    )
    if asked.end_message is not None and asked.start_message > asked.end_message:
        raise refused(
            f"start_message {shown(asked.start_message)} comes after end_message {asked.end_message}; it must not."
        )
    return asked


def _between(fields: Given, key: str, most: int) -> int | None:
    """A whole number of 1 to `most`; None where it is absent."""
    value = fields.optional_number(key)
    if value is not None and not 1 <= value <= most:
        raise refused(f"{key} must be 1 to {most}, not {shown(value)}.")
    return value


def _role(fields: Given) -> ChatRole | None:
    if "role" not in fields.fields:
        return None
    role = fields.raw("role").strip().lower()
    if role not in _ROLES:
        raise refused(f"role must be one of {', '.join(_ROLES)}, not {shown(fields.fields['role'])}.")
    return role


def _hit(query: str, score: float, message: ChatMessage) -> dict[str, Json]:
    snippet = _snippet(query, message.text)
    return {
        "index": message.index, "role": message.role, "score": score, "snippet": snippet,
        "chars": count_chars(snippet), "words": count_words(snippet), "ref": f"{CURRENT}#{message.index}",
    }  # fmt: skip


def _snippet(query: str, text: str) -> str:
    if len(text) <= SNIPPET:
        return text
    start = max(0, first_match(query, text) - BEFORE)
    end = start + SNIPPET
    return f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}"


def _content(query: str, hits: list[dict[str, Json]]) -> str:
    if not hits:
        return f'Nothing was found in the chat for "{query}".'
    advice = "Read a message with chat_read_messages before you rely on it."
    return "\n\n".join(
        [
            f'{counted(len(hits), "message")} found for "{query}". {advice}',
            *(
                f"message {hit['index']} {hit['role']} score {hit['score']:.3f} ref {hit['ref']}\n{hit['snippet']}"
                for hit in hits
            ),
        ]
    )
