# ruff: noqa: UP031 - JSON is written with the braces it has
"""Answers that hold one thing each that a replay may lose, and what became of it in the next request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from treadle.graph.jsontext import Json, is_list, is_object, loads

EXACT, SAME, ALTERED, LOST = "byte for byte", "same value", "altered", "lost"

_NAME = "workspace_read_file"
_MARK = "MARK"
_NUMBER = '{"path":"MARK.md","ratio":1.10}'
_BIG = '{"path":"MARK.md","seed":123456789012345678901234567890}'
_ORDER = '{"zeta":1,"path":"MARK.md","alpha":{"y":1,"x":2}}'
_PLAIN = '{"path":"a.md"}'
_LONE = '"MARK half \\ud83d."'
_SIGNATURE = '"MARKaa+/bg=="'
_USAGE = (
    '{"input_tokens":5,"input_tokens_details":{"cached_tokens":0},"output_tokens":7,'
    '"output_tokens_details":{"reasoning_tokens":0},"total_tokens":12}'
)
_NEW = '{"note":"MARK","of":[1,2]}'


@dataclass(frozen=True, slots=True)
class Probe:
    format: str
    what: str
    reply: str
    watched: str
    """The slice of the reply that the next request should hold, exactly as written."""
    mark: str = _MARK
    """A word of it that stands nowhere else."""
    ordered: bool = False
    """Whether the order of keys is what is watched."""
    host: str | None = None
    """The host that speaks so, where libraries know it apart from its format."""

    @property
    def talk(self) -> str:
        return self.host or self.format


def outcome(probe: Probe, body: bytes) -> str:
    """What became of the watched slice in a request's body.

    Alike are what receivers take for alike: the value of argument text however it is printed; of Google's JSON, names in
    either spelling and bytes in either alphabet of base64.
    """
    if probe.watched.encode() in body:
        return EXACT
    if probe.mark.encode() not in body:
        return LOST
    wanted = _told(loads(probe.watched), probe)
    found = (_told(value, probe) for value in _within(loads(body)))
    return SAME if wanted in found else ALTERED


def probes() -> list[Probe]:
    return [*_claude(), *_gemini(), *_responses(), *_chat()]


def _claude() -> Iterator[Probe]:
    thinking = '{"type":"thinking","thinking":"Read it.","signature":"MARK+sig/=="}'
    redacted = '{"type":"redacted_thinking","data":"MARK+data/=="}'

    def reply(*blocks: str, given: str = _PLAIN) -> str:
        use = '{"type":"tool_use","id":"toolu_1","name":"%s","input":%s}' % (_NAME, given)
        usage = '"usage":{"input_tokens":5,"output_tokens":7}'
        head = '"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5"'
        content = ",".join([*blocks, use])
        return '{%s,"content":[%s],"stop_reason":"tool_use","stop_sequence":null,%s}' % (head, content, usage)

    yield Probe("claude_messages", "thinking with its signature", reply(thinking), thinking)
    yield Probe("claude_messages", "redacted_thinking", reply(redacted), redacted)
    new = '{"type":"text","text":"Reading.","x_new":%s}' % _NEW
    yield Probe("claude_messages", "unknown key of a block", reply(new), _NEW)
    yield from _arguments("claude_messages", lambda given: (reply(given=given), given))
    yield Probe("claude_messages", "lone surrogate", reply('{"type":"text","text":%s}' % _LONE), _LONE)


def _gemini() -> Iterator[Probe]:
    def reply(*parts: str, given: str = _PLAIN, signed: str = "", after: str = "") -> str:
        call = '{"functionCall":{"id":"fc_1","name":"%s","args":%s}%s}' % (_NAME, given, signed)
        held = ",".join([*parts, call]) + after
        usage = '"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":7,"totalTokenCount":12}'
        content = '{"parts":[%s],"role":"model"}' % held
        candidate = '{"content":%s,"finishReason":"STOP","index":0}' % content
        return '{"candidates":[%s],%s,"modelVersion":"gemini-3-pro-preview","responseId":"r1"}' % (candidate, usage)

    signed = ',"thoughtSignature":%s' % _SIGNATURE
    call = '{"functionCall":{"id":"fc_1","name":"%s","args":%s}%s}' % (_NAME, _PLAIN, signed)
    yield Probe("gemini", "thoughtSignature on a functionCall", reply(signed=signed), call)
    empty = '{"text":"","thoughtSignature":%s}' % _SIGNATURE
    yield Probe("gemini", "thoughtSignature on an empty text", reply(after="," + empty), empty)
    yield Probe("gemini", "unknown key of a part", reply('{"text":"Reading.","xNew":%s}' % _NEW), _NEW)
    yield from _arguments("gemini", lambda given: (reply(given=given), given))
    yield Probe("gemini", "lone surrogate", reply('{"text":%s}' % _LONE), _LONE)


def _responses() -> Iterator[Probe]:
    def reply(
        *, data: str = '"enc"', ids: tuple[str, str, str] = ("rs_1", "msg_1", "fc_1"), more: str = "",
        text: str = '"Reading."', given: str = _PLAIN,
    ) -> str:  # fmt: skip
        reasoning = '{"id":"%s","type":"reasoning","summary":[],"encrypted_content":%s}' % (ids[0], data)
        spoken = '{"type":"output_text","text":%s,"annotations":[]}' % text
        message = '{"id":"%s","type":"message","role":"assistant","status":"completed"%s,"content":[%s]}' % (
            ids[1], more, spoken,
        )  # fmt: skip
        call = '{"id":"%s","type":"function_call","status":"completed","call_id":"call_1","name":"%s","arguments":%s}' % (
            ids[2], _NAME, _text(given),
        )  # fmt: skip
        head = '"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"gpt-5.2","error":null'
        rest = '"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"usage":%s' % _USAGE
        return '{%s,"output":[%s],%s}' % (head, f"{reasoning},{message},{call}", rest)

    yield Probe("openai_responses", "encrypted_content of reasoning", reply(data='"MARK+enc/=="'), '"MARK+enc/=="')
    for place, name in enumerate(("reasoning", "message", "function_call")):
        ids = ["rs_1", "msg_1", "fc_1"]
        ids[place] += _MARK
        given = reply(ids=(ids[0], ids[1], ids[2]))
        yield Probe("openai_responses", f"id of the {name} item", given, f'"{ids[place]}"')
    phase = reply(more=',"phase":"commentary"')
    yield Probe("openai_responses", "phase of a message", phase, '"commentary"', "commentary")
    yield Probe("openai_responses", "unknown key of an item", reply(more=',"x_new":%s' % _NEW), _NEW)
    yield from _arguments("openai_responses", lambda given: (reply(given=given), _text(given)))
    yield Probe("openai_responses", "lone surrogate", reply(text=_LONE), _LONE)


def _chat() -> Iterator[Probe]:
    def reply(more: str = "", *, text: str = '"Reading."', given: str = _PLAIN, extra: str = "") -> str:
        function = '{"name":"%s","arguments":%s}' % (_NAME, _text(given))
        call = '{"id":"call_1","type":"function","function":%s%s}' % (function, extra)
        message = '{"role":"assistant","content":%s,"tool_calls":[%s]%s}' % (text, call, more)
        choice = '{"index":0,"finish_reason":"tool_calls","message":%s}' % message
        usage = '"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}'
        head = '"id":"c1","object":"chat.completion","created":1,"model":"openai/gpt-5.2","provider":"OpenAI"'
        return '{%s,"choices":[%s],%s}' % (head, choice, usage)

    details = (
        '[{"type":"reasoning.encrypted","data":"MARK+enc/==","id":"rs_1","format":"openai-responses-v1","index":0}]'
    )
    given = reply(',"reasoning_details":%s' % details)
    yield Probe("openai_compatible", "reasoning_details", given, details, host="openrouter")
    extra = '{"google":{"thought_signature":"MARK+sig/=="}}'
    yield Probe("openai_compatible", "extra_content of a call", reply(extra=',"extra_content":%s' % extra), extra)
    yield Probe("openai_compatible", "unknown key of a message", reply(',"x_new":%s' % _NEW), _NEW)
    yield from _arguments("openai_compatible", lambda given: (reply(given=given), _text(given)))
    yield Probe("openai_compatible", "lone surrogate", reply(text=_LONE), _LONE)


def _arguments(name: str, made: Callable[[str], tuple[str, str]]) -> Iterator[Probe]:
    """A call's arguments: how a number is spelled, one past 64 bits, and the order of keys."""
    for what, given in (("spelling of 1.10", _NUMBER), ("integer past 64 bits", _BIG), ("order of keys", _ORDER)):
        reply, watched = made(given)
        yield Probe(name, f"arguments: {what}", reply, watched, ordered=given == _ORDER)


def _text(value: str) -> str:
    return json.dumps(value)


def _within(value: Json) -> Iterator[Json]:
    """The value and all that it holds."""
    yield value
    if is_object(value):
        for held in value.values():
            yield from _within(held)
    elif is_list(value):
        for held in value:
            yield from _within(held)


def _told(value: Json, probe: Probe) -> object:
    """The value with its types, so that 1, 1.0 and true are three."""
    if is_object(value):
        pairs = [(_camel(key) if probe.format == "gemini" else key, held) for key, held in value.items()]
        told = [(key, _told(_standard(held) if key == "thoughtSignature" else held, probe)) for key, held in pairs]
        return ("object", tuple(told if probe.ordered else sorted(told, key=lambda pair: pair[0])))
    if is_list(value):
        return ("list", tuple(_told(held, probe) for held in value))
    if isinstance(value, str) and value.startswith("{") and probe.mark in value:
        return ("text", _told(loads(value), probe))
    return (type(value).__name__, value)


def _camel(key: str) -> str:
    first, *others = key.split("_")
    return first + "".join(word.title() for word in others)


def _standard(signature: Json) -> Json:
    return signature.replace("-", "+").replace("_", "/") if isinstance(signature, str) else signature
