"""What a server answered to a call, as the model is told it: text, bounded; of all else it is said what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...graph.jsontext import Json, dumps, is_object
from ...graph.mcp_tools import McpAnswer

MOST_CHARS = 80_000
"""Of an answer's text, and of its structured part as JSON."""

ERROR_CHARS = 4_000
"""Of a fault's text: it stands in the journal, too."""

_URI_CHARS = 500


def answer_of(result: Json) -> McpAnswer:
    """`result`: a `tools/call` result in the protocol's own JSON."""
    is_error = result.get("isError") is True
    notes: list[str] = []
    structured = result.get("structuredContent")
    size = 0 if structured is None else len(dumps(structured))
    if size > MOST_CHARS:
        structured = None
        notes.append(f"(the structured part is left out: {size} bytes of JSON, and {MOST_CHARS} may be shown)")
    text = "\n\n".join(_texts(result.get("content") or ()))
    if not text.strip() and structured is not None:
        text = dumps(structured).decode()
    text = _cut(text, ERROR_CHARS if is_error else MOST_CHARS)
    shown = "\n\n".join([*([text] if text.strip() else []), *notes])
    return McpAnswer(shown or "(the tool answered with nothing)", structured, is_error)


def _texts(blocks: Sequence[Json]) -> Iterator[str]:
    for block in blocks:
        match block.get("type"):
            case "text":
                yield block["text"]
            case "image" | "audio" as kind:
                yield _left_out(kind, block.get("mimeType"), block.get("data"))
            case "resource" if is_object(block.get("resource")) and "text" in block["resource"]:
                yield f"{_uri(block['resource'])}:\n{block['resource']['text']}"
            case "resource":
                held: Json = block.get("resource") or {}
                yield _left_out(f"resource {_uri(held)}", held.get("mimeType"), held.get("blob"))
            case "resource_link":
                yield f"(a link to the resource {_uri(block)}, which is not read)"
            case kind:
                yield f"(a part of kind {str(kind)[:40]!r} is left out)"


def _left_out(what: str, mime_type: Json, data: Json) -> str:
    text = data if isinstance(data, str) else ""
    size = len(text) * 3 // 4 - text[-2:].count("=")
    return f"({what} is left out: {str(mime_type or 'of no type')[:100]}, {size} bytes)"


def _uri(resource: Json) -> str:
    return str(resource.get("uri"))[:_URI_CHARS]


def _cut(text: str, limit: int) -> str:
    whole = text.encode("utf-8", "replace").decode()  # a lone surrogate is no text that a model can be sent
    if len(whole) <= limit:
        return whole
    return f"{whole[:limit]}\n\n(cut: {len(whole) - limit} more characters are not shown)"
