"""Rules of Interactions, and of all formats, switched off."""

from __future__ import annotations

from .mutation import Mutation

_INTERACTIONS = "gateway/formats/gemini_interactions.py"
_CHAT = "gateway/formats/openai_compatible.py"
_ERRORS = "gateway/errors.py"
_CALLS = "gateway/calls.py"
_GATEWAY = "gateway/gateway.py"
_WIRE = "gateway/wire.py"
_JSON = "graph/jsontext.py"

MUTATIONS = (
    Mutation(31, _CALLS, "for name in (tool.name, tool.model_name)", "for name in (tool.name,)"),
    Mutation(31, _CALLS, "if _WIRE_NAME.fullmatch(name):", "if name:"),
    Mutation(31, "gateway/schemas/rules.py", '"name": spec.model_name,', '"name": spec.name,'),
    Mutation(31, _INTERACTIONS, '"name": calls.wire_name(call.model_name)}', '"name": call.name}'),
    Mutation(
        49,
        "gateway/settings.py",
        '_PLAIN = (\n    "temperature"',
        '_PLAIN = (\n    "_tauritavern_provider_state", "temperature"',
    ),
    Mutation(
        49,
        "gateway/connections/secret.py",
        "text = text.replace(value, _MASK).replace(dumps(value)[1:-1].decode(), _MASK)",
        "pass",
    ),
    Mutation(49, "gateway/connections/secret.py", "replace(dumps(value)[1:-1], _MASK.encode())", "replace(b'-', b'-')"),
    Mutation(51, _CHAT, 'return body.value if body.value.get("error") else None', "return None"),
    Mutation(
        51, _ERRORS, "status = next((code for code in numbers if", "status = 200 or next((code for code in numbers if"
    ),
    Mutation(
        51,
        _ERRORS,
        'return ModelFailed(f"the model\'s server answered with {what}", code=',
        "return ModelFailed(what or ",
    ),
    Mutation(53, _ERRORS, '("insufficient_quota", ', "("),
    Mutation(55, _ERRORS, "    if exact is not None:\n", "    if False:\n"),
    Mutation(55, _ERRORS, "seconds = _seconds_until(header, now)", "seconds = None"),
    Mutation(55, _ERRORS, r'r"\s*\d{1,12}(\.\d*)?\s*"', r'r"\s*-?\d{1,12}(\.\d*)?\s*"'),
    Mutation(56, _ERRORS, "retryable=True, details=details)\n\n\ndef malformed", "details=details)\n\n\ndef malformed"),
    Mutation(56, _ERRORS, "return text[:PREVIEW_BYTES].decode", "return text.decode"),
    Mutation(56, _ERRORS, "text = scrub(body[:65536].decode(", "text = (body[:65536].decode("),
    Mutation(56, _WIRE, '        raise Unreadable("an empty body")', '        data = b"{}"'),
    Mutation(59, "gateway/interactions/input.py", 'OUTPUTS = "outputs"', 'OUTPUTS = "output"'),
    Mutation(59, _INTERACTIONS, "slice_of(body.raw, schema)", 'slice_of(body.raw, "steps")'),
    Mutation(
        60,
        _INTERACTIONS,
        'if block["type"] == "function_call"]',
        'if block["type"] == "function_call" and block.get("id")]',
    ),
    Mutation(
        60,
        _CALLS,
        'if not isinstance(value, str) or not value.strip():\n        raise CallInvalid(f"{where} has no id',
        'if False:\n        raise CallInvalid(f"{where} has no id',
    ),
    Mutation(61, _JSON, "return _DECODER.decode(data)", "return orjson.loads(data)"),
    Mutation(
        61,
        _JSON,
        'else data.decode("utf-8", "surrogatepass")',
        'else data.decode("utf-8").replace("\\\\ud83d", "?")',
    ),
    Mutation(62, _CHAT, 'id=text_of(body.value.get("id")),', 'id=text_of(body.value.get("id")) or "chatcmpl",'),
    Mutation(
        63,
        _GATEWAY,
        '        body = b"".join(pieces)\n',
        '        self._refusals[str(len(self._refusals))] = ""\n'
        '        pieces = (b" " * len(self._refusals), *pieces)\n'
        '        body = b"".join(pieces)\n',
    ),
    Mutation(64, "gateway/sse.py", 'elif field == "data":', 'elif field in ("data", ""):'),
    Mutation(64, "gateway/sse.py", 'data.decode("utf-8").removeprefix(_BOM)', 'data.decode("ascii", "replace")'),
)
