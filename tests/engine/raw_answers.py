"""Answers written by hand in each provider's shape, so that a test can put any bytes into them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

MODELS = {
    "openai_compatible": "scripted-writer",
    "openai_responses": "gpt-scripted-1",
    "claude_messages": "claude-scripted-4",
    "gemini": "gemini-3-scripted",
    "gemini_interactions": "gemini-3-scripted",
}
NAMES = tuple(MODELS)
LIST = ("c1", "workspace_list_files")


@dataclass(frozen=True, slots=True)
class Spoken:
    """An answer: its whole body, and those of its bytes that must go back to the provider."""

    body: str
    native: str

    @property
    def event(self) -> str:
        """The body as the event that ends a turn of a Responses socket."""
        return f'{{"type":"response.completed","response":{self.body}}}'


def spoken(form: str, odd: Sequence[str] = (), calls: Sequence[tuple[str, str]] = (LIST,), space: str = "") -> Spoken:
    """An answer with these calls, by id and alias; each JSON text of `odd` is somewhere among its native content.

    `space` stands between the blocks.
    """
    native, document = _WRITTEN[form](list(odd), list(calls), f"{space},{space}")
    return Spoken(document, native)


def _keys(odd: list[str]) -> str:
    """Unknown members, to be put behind others."""
    return "".join(f',"odd{place}" : {text}' for place, text in enumerate(odd))


def _chat(odd: list[str], calls: list[tuple[str, str]], comma: str) -> tuple[str, str]:
    asked = comma.join(
        f'{{"type":"function","extra_content":[{",".join(odd)}],"id":"{ident}",'
        f'"function":{{"arguments": "{{}}","name":"{name}"}}}}'
        for ident, name in calls
    )
    native = f'{{"role":"assistant" {_keys(odd)},"content":null,"tool_calls":[{asked}],"reasoning_details":[]}}'
    finish = "tool_calls" if calls else "stop"
    return native, (
        f'{{"id":"chatcmpl-1"{_keys(odd)},"model":"m","choices":[{{"finish_reason":"{finish}","message":{native}}}]}}'
    )


def _responses(odd: list[str], calls: list[tuple[str, str]], comma: str) -> tuple[str, str]:
    items = [f'{{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gA"{_keys(odd)}}}']
    items += [f'{{"odd" :{text},"type":"odd_call"}}' for text in odd]
    items += [
        f'{{"id":"fc_{ident}","call_id":"{ident}","type":"function_call"{_keys(odd)},"name":"{name}","arguments":"{{ }}"}}'
        for ident, name in calls
    ]
    native = comma.join(items)
    return native, f'{{"id":"resp_1"{_keys(odd)},"status":"completed","model":"m","output":[{native}]}}'


def _claude(odd: list[str], calls: list[tuple[str, str]], comma: str) -> tuple[str, str]:
    blocks = [f'{{"type":"thinking","thinking":"","signature":"c2ln"{_keys(odd)}}}']
    blocks += [f'{{"odd" :{text},"type":"odd_block"}}' for text in odd]
    blocks += [
        f'{{"input":{{"odd":[{",".join(odd)}]}},"type":"tool_use","id":"{ident}","name":"{name}"{_keys(odd)}}}'
        for ident, name in calls
    ]
    native = f"[{comma.join(blocks)}]"
    finish = "tool_use" if calls else "end_turn"
    return native, (
        f'{{"type":"message","role":"assistant","id":"msg_1"{_keys(odd)},"model":"m","stop_reason":"{finish}",'
        f'"content": {native}}}'
    )


def _gemini(odd: list[str], calls: list[tuple[str, str]], comma: str) -> tuple[str, str]:
    parts = [f'{{"text":"","thoughtSignature":"c2ln"{_keys(odd)}}}']
    parts += [f'{{"oddPart" :{text}}}' for text in odd]
    parts += [
        f'{{"functionCall":{{"args":{{"odd":[{",".join(odd)}]}},"name":"{name}","id":"{ident}"}},"thoughtSignature":"c2ln"}}'
        for ident, name in calls
    ]
    native = f'{{"parts":[{comma.join(parts)}]{_keys(odd)},"role":"model"}}'
    return native, (
        f'{{"responseId":"r1"{_keys(odd)},"modelVersion":"m","candidates":[{{"finishReason":"STOP","content":{native}}}]}}'
    )


def _interactions(odd: list[str], calls: list[tuple[str, str]], comma: str) -> tuple[str, str]:
    steps = [f'{{"type":"thought","signature":"c2ln"{_keys(odd)}}}']
    steps += [f'{{"odd" :{text},"type":"odd_step"}}' for text in odd]
    steps += [
        f'{{"arguments":{{"odd":[{",".join(odd)}]}},"type":"function_call","id":"{ident}","name":"{name}"{_keys(odd)}}}'
        for ident, name in calls
    ]
    status = "requires_action" if calls else "completed"
    document = f'{{"id":"v1_1"{_keys(odd)},"model":"m","status":"{status}","steps":[{comma.join(steps)}]}}'
    return ",".join(steps), document


_WRITTEN: dict[str, Callable[[list[str], list[tuple[str, str]], str], tuple[str, str]]] = {
    "openai_compatible": _chat,
    "openai_responses": _responses,
    "claude_messages": _claude,
    "gemini": _gemini,
    "gemini_interactions": _interactions,
}
