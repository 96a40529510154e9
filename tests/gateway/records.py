"""Records of connections as tests need them, and a store that holds them in memory."""

from __future__ import annotations

from collections.abc import Mapping

from treadle.graph.jsontext import Json


class MemoryConnections:
    """A `ConnectionStore` in memory."""

    def __init__(self, records: Mapping[str, Json] | None = None, settings: Json = None) -> None:
        self._records = dict(records or {})
        self._settings = settings

    def get(self, connection_id: str) -> Json | None:
        return self._records.get(connection_id)

    def settings(self) -> Json | None:
        return self._settings


def record(**changes: Json) -> dict[str, Json]:
    """A record of a server of one's own; each change replaces a whole block."""
    whole: dict[str, Json] = {
        "schemaVersion": 1,
        "kind": "tauritavern.llmConnection",
        "id": "work",
        "displayName": "At work",
        "provider": {"chatCompletionSource": "custom", "customApiFormat": "claude_messages"},
        "endpoint": {"baseUrl": "https://llm.test/v1"},
        "model": "writer",
    }
    return {key: value for key, value in (whole | changes).items() if value is not ...}


def of_source(source: str, **changes: Json) -> dict[str, Json]:
    """A record of a known source, which needs no address."""
    return record(provider={"chatCompletionSource": source}, endpoint={}, **changes)


def settings(**changes: Json) -> dict[str, Json]:
    return {"schemaVersion": 1, "kind": "tauritavern.llmSettings", **changes}
