"""A response as OpenAI's Responses writes it: its items with their ids, its document, and its events in order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import count

from ...graph.jsontext import Json, dumps, is_object, loads
from ..replies import Call
from ..turns import Usage
from .responses_rules import Asked
from .responses_script import Answer, Item, Reasoning, Say

_CREATED = 1700000000
_DELTA = 16
"""Characters in one delta of an argument text; a text of more than a hundred deltas goes in a hundred."""


class Writer:
    """Makes items and responses; what it numbers is never numbered the same again."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def response_id(self) -> str:
        return f"resp_{next(self._numbers):06}"

    def items(self, answer: Answer, *, encrypted: bool) -> tuple[bytes, ...]:
        return tuple(self._item(item, encrypted=encrypted) for item in answer.items)

    def _item(self, item: Item, *, encrypted: bool) -> bytes:
        if isinstance(item, bytes):
            return item
        number = f"{next(self._numbers):06}"
        match item:
            case Reasoning():
                return _spelled(_reasoning(item, number, encrypted=encrypted))
            case Say():
                part: Json = {"type": item.kind, "refusal": item.text}
                if item.kind == "output_text":
                    part = {"type": item.kind, "annotations": [], "logprobs": [], "text": item.text}
                message = {"id": f"msg_{number}", "type": "message", "status": "completed"}
                return _spelled({**message, "content": [part], "role": "assistant"})
            case Call():
                return _spelled(_call(item, number))


def _reasoning(item: Reasoning, number: str, *, encrypted: bool) -> dict[str, Json]:
    summary = [{"type": "summary_text", "text": item.summary}] if item.summary else []
    made: dict[str, Json] = {"id": f"rs_{number}", "type": "reasoning"}
    if encrypted:
        made["encrypted_content"] = f"gAAAA{hashlib.sha256(number.encode()).hexdigest()}=="
    return {**made, "summary": summary}


def _call(item: Call, number: str) -> dict[str, Json]:
    given = item.arguments if isinstance(item.arguments, str) else dumps(item.arguments).decode()
    head = {"id": f"fc_{number}", "type": "function_call", "status": "completed", "arguments": given}
    call_id = f"call_{number}" if item.id is None else item.id
    return {**head, "call_id": call_id, "name": item.name.replace(".", "_"), **item.extra}


def _spelled(item: dict[str, Json]) -> bytes:
    """Spelled as a client's own printer would hardly do: spaces, and letters past ASCII as escapes."""
    return json.dumps(item, ensure_ascii=True).encode()


def document(asked: Asked, response_id: str, answer: Answer, output: Sequence[bytes]) -> bytes:
    """The whole response; `output` is spliced in."""
    failed = {"code": answer.reason or "server_error", "message": "The model failed to answer."}
    ending: dict[str, Json] = {
        "status": answer.status,
        "error": failed if answer.status == "failed" else None,
        "incomplete_details": {"reason": answer.reason} if answer.status == "incomplete" else None,
        "usage": _usage(answer.usage),
    }
    return _document(asked, response_id, {**ending, **answer.extras}, output)


def events(asked: Asked, response_id: str, answer: Answer, output: Sequence[bytes]) -> Iterator[bytes]:
    """The response's events, numbered; the last one holds the whole response."""
    numbers = count()
    begun = _document(asked, response_id, {"status": "in_progress"}, ())
    yield _event("response.created", numbers, response=begun)
    yield _event("response.in_progress", numbers, response=begun)
    for place, raw in enumerate(output):
        at = {"output_index": place}
        item = loads(raw)
        yield _event("response.output_item.added", numbers, at, item=dumps(_begun(item)))
        for kind, more in _inner(item):
            yield _event(kind, numbers, {"item_id": item.get("id"), **at, **more})
        yield _event("response.output_item.done", numbers, at, item=raw)
    yield _event(f"response.{answer.status}", numbers, response=document(asked, response_id, answer, output))


def _document(asked: Asked, response_id: str, ending: dict[str, Json], output: Sequence[bytes]) -> bytes:
    body = asked.body
    head: dict[str, Json] = {
        "id": response_id,
        "object": "response",
        "created_at": _CREATED,
        "status": None,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": body["model"],
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": asked.previous,
        "store": False,
        "usage": None,
        **ending,
    }
    return dumps(head)[:-1] + b',"output":[' + b",".join(output) + b"]}"


def _usage(usage: Usage) -> Json:
    output = usage.output + usage.thinking
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": usage.thinking},
        "total_tokens": usage.input + output,
    }


def _event(kind: str, numbers: Iterator[int], keys: dict[str, Json] | None = None, **spliced: bytes) -> bytes:
    head = dumps({"type": kind, "sequence_number": next(numbers), **(keys or {})})[:-1]
    return head + b"".join(b',"%s":%s' % (name.encode(), raw) for name, raw in spliced.items()) + b"}"


def _begun(item: dict[str, Json]) -> dict[str, Json]:
    """An item when it is announced: empty, and its encrypted content not yet what it will be."""
    begun = dict(item)
    if "status" in item:
        begun["status"] = "in_progress"
    for key in ("arguments", "content", "summary"):
        if key in item:
            begun[key] = "" if key == "arguments" else []
    if "encrypted_content" in item:
        begun["encrypted_content"] = "gAAAApartial"
    return begun


def _inner(item: dict[str, Json]) -> Iterator[tuple[str, dict[str, Json]]]:
    match item.get("type"):
        case "function_call":
            yield from _texts("response.function_call_arguments", "arguments", str(item.get("arguments")), {})
        case "message":
            for place, part in enumerate(item.get("content", [])):
                at: dict[str, Json] = {"content_index": place}
                yield "response.content_part.added", {**at, "part": _emptied(part)}
                key = "refusal" if part.get("type") == "refusal" else "text"
                kind = "response.refusal" if key == "refusal" else "response.output_text"
                yield from _texts(kind, key, str(part.get(key)), at)
                yield "response.content_part.done", {**at, "part": part}
        case "reasoning":
            for place, part in enumerate(item.get("summary", [])):
                at = {"summary_index": place}
                yield "response.reasoning_summary_part.added", {**at, "part": _emptied(part)}
                yield from _texts("response.reasoning_summary_text", "text", str(part.get("text")), at)
                yield "response.reasoning_summary_part.done", {**at, "part": part}
        case _:
            return


def _texts(kind: str, key: str, text: str, at: dict[str, Json]) -> Iterator[tuple[str, dict[str, Json]]]:
    step = max(_DELTA, -(-len(text) // 100))
    for start in range(0, len(text), step):
        yield f"{kind}.delta", {**at, "delta": text[start : start + step]}
    yield f"{kind}.done", {**at, key: text}


def _emptied(part: Json) -> Json:
    return (
        {key: "" if key in ("text", "refusal") else value for key, value in part.items()} if is_object(part) else part
    )
