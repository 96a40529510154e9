"""A provider's answer in the words of another: for cases that are about what follows the call, not about the wire."""

from __future__ import annotations

from treadle.graph.jsontext import Json, dumps, is_list, is_object, loads
from treadle.testkit.replies import Call, Reply, calls, text

from .faults import CaseFault, a_list, an_object, shown


def chat_completions(model_reply: Json) -> list[Reply]:
    """`model_reply` (a body's text, a body, or a list of them) as chat completions that make the same calls."""
    given = model_reply if is_list(model_reply) else [model_reply]
    return [_chat_completion(body) for body in given]


def _chat_completion(given: Json) -> Reply:
    body = an_object(loads(given) if isinstance(given, str) else given, "model_reply")
    if is_object(body.get("error")):
        raise CaseFault("model_reply is an error; give it as a turn of a model_turns case")
    if "choices" in body:
        return Reply(given.encode("utf-8", "surrogatepass")) if isinstance(given, str) else Reply(dumps(body))
    if body.get("type") == "message":
        return _from_claude(body)
    raise CaseFault(f"model_reply is neither a chat completion nor a Claude message: {shown(body)}")


def _from_claude(body: dict[str, Json]) -> Reply:
    said: list[str] = []
    made: list[Call] = []
    for block in a_list(body.get("content"), "model_reply.content"):
        match block:
            case {"type": "text", "text": str() as words}:
                said.append(words)
            case {"type": "tool_use", "id": str() as call_id, "name": str() as name, "input": arguments}:
                made.append(Call(name, arguments, id=call_id))
            case {"type": "thinking" | "redacted_thinking"}:
                pass  # private to the provider, and of no matter here
            case other:
                raise CaseFault(f"model_reply holds a block that has no chat-completions word: {shown(other)}")
    finish = "length" if body.get("stop_reason") == "max_tokens" else "tool_calls" if made else "stop"
    words = "".join(said)
    return calls(*made, text=words or None, finish_reason=finish) if made else text(words, finish)
