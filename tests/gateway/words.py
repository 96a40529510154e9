"""Small real things that the gateway's tests share: specs, a connection, a secret store, a clock, JSON strategies."""

from __future__ import annotations

import json
from collections.abc import Mapping

from hypothesis import strategies as st

from treadle.gateway.connections.connection import Connection, Dialect
from treadle.gateway.connections.secret import Secret
from treadle.gateway.connections.sources import connection_from_payload
from treadle.graph.jsontext import Json
from treadle.graph.messages import ToolSpec

KEY = "sk-canary-7f3a9"

READ = ToolSpec("workspace.read_file", "Read", "Read a file", {"type": "object", "properties": {"path": {}}})
LIST = ToolSpec("workspace.list_files", "List", "List files", {"type": "object", "properties": {}})
TOOLS = (READ, LIST)


class MemorySecrets:
    """A `SecretStore` in memory."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def get(self, reference: str) -> str | None:
        return self._values.get(reference)


def payload(**changes: Json) -> dict[str, Json]:
    return {"chat_completion_source": "custom", "custom_url": "http://localhost:9/v1", "model": "m", **changes}


def connect(secrets: Mapping[str, str] | None = None, **changes: Json) -> Connection:
    return connection_from_payload(payload(**changes), MemorySecrets(secrets))


def connection(dialect: Dialect | None = None, model: str = "m", source: str = "custom") -> Connection:
    return Connection(
        source=source,
        format="openai_compatible",
        base_url="http://localhost:9/v1",
        model=model,
        api_key=Secret(KEY),
        dialect=dialect or Dialect(),
    )


def written(value: Json, *, spaced: bool = False, ascii_only: bool = True) -> str:
    """JSON text in one of several spellings."""
    separators = (", ", " : ") if spaced else (",", ":")
    return json.dumps(value, ensure_ascii=ascii_only, separators=separators)


def json_texts(inner: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[str]:
    """JSON values as text, in spellings that no parser and printer would keep: `1.10`, `1e2`, `-0.0`, lone surrogates."""
    numbers = st.sampled_from(
        ["0", "-0", "-0.0", "1.10", "1e2", "1E+2", "18446744073709551616", "-9223372036854775809", "0.1e-7"]
    ) | st.integers().map(str)
    strings = st.one_of(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(_quoted),
        st.sampled_from(['"\\ud83d"', '"\\ud83d\\ude00"', '"\\u00e9"', '"\\/"', '"\\u0000"', '"half \\udc00 here"']),
    )
    leaves = st.one_of(numbers, strings, st.sampled_from(["true", "false", "null", "[]", "{}", "[ ]", "{ }"]))
    space = st.sampled_from(["", " ", "\n", "\t ", "\r\n"])

    def grown(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        item = st.tuples(space, children, space).map("".join)
        pair = st.tuples(space, strings, space, st.just(":"), item).map("".join)
        return st.one_of(
            st.lists(item, max_size=4).map(lambda items: "[" + ",".join(items) + "]"),
            st.lists(pair, max_size=4).map(lambda pairs: "{" + ",".join(pairs) + "}"),
        )

    return st.recursive(leaves if inner is None else inner, grown, max_leaves=6)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
