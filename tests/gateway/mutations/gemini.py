"""Gemini's rules switched off."""

from __future__ import annotations

from .mutation import Mutation

_CONTENTS = "gateway/gemini/contents.py"
_FORMAT = "gateway/formats/gemini.py"
_SCHEMA = "gateway/schemas/gemini.py"
_SETTINGS = "gateway/gemini/settings.py"
_ERRORS = "gateway/errors.py"

MUTATIONS = (
    Mutation(
        1,
        _CONTENTS,
        "pieces += _results(held, asked)",
        "pieces += (piece for one in held for piece in _results([one], asked))",
    ),
    Mutation(1, _CONTENTS, "order = {call: place for", "order = {call: -place for"),
    Mutation(2, _CONTENTS, "native = calls.own_native(message, provider, connection)", "native = None"),
    Mutation(3, _CONTENTS, "signed=signed and place == 0", "signed=signed"),
    Mutation(3, _CONTENTS, "signed=signed and place == 0", "signed=False"),
    Mutation(
        4,
        _CONTENTS,
        "    content = native.value\n",
        '    content = dumps({**value, "parts": [part for part in parts if part.get("text") != ""]})\n',
    ),
    Mutation(5, _CONTENTS, "if call in echoed else", "if False else"),
    Mutation(6, _CONTENTS, "if call in echoed else", "if True else"),
    Mutation(6, _CONTENTS, 'b\'{"functionCall":{"name":%b,"args"', 'b\'{"functionCall":{"id":"x","name":%b,"args"'),
    Mutation(7, _FORMAT, "    if positional is not None:\n", "    if True:\n"),
    Mutation(8, _FORMAT, "if word in _BROKEN:", "if False:"),
    Mutation(8, _FORMAT, 'if content is None and word == "MAX_TOKENS":', "if content is None:"),
    Mutation(9, _FORMAT, "if isinstance(reason, str) and reason:", "if False:"),
    Mutation(48, "gateway/custody.py", "if response.tool_calls and not any(", "if False and not any("),
    Mutation(48, _FORMAT, "COUNTED = True", "COUNTED = False"),
    Mutation(
        50,
        _SETTINGS,
        "return connection.url(f\"{_version(connection, '/v1beta')}/{name}:generateContent\")",
        "return connection.url(f\"{_version(connection, '/v1beta')}/{name}:generateContent\")"
        " + f'?key={connection.api_key.reveal() if connection.api_key else None}'",
    ),
    Mutation(50, "gateway/gateway.py", 'setdefault("endpoint", without_query(url))', 'setdefault("endpoint", url)'),
    Mutation(52, "gateway/wire.py", "if is_list(value) and len(value) == 1", "if False and len(value) == 1"),
    Mutation(54, _ERRORS, 'if any("perday" in quota.lower()', 'if any("never" in quota.lower()'),
    Mutation(54, _ERRORS, "math.ceil(round(seconds * 1000, 6))", "int(seconds * 1000)"),
    Mutation(54, _ERRORS, "return _positive(delay[:-1]) if", "return None if"),
    Mutation(57, _SCHEMA, "if schema is not False", 'if name not in ("title", "default")'),
    Mutation(
        57, _SCHEMA, "for keyword, value in said.items() if keyword in KNOWN}", "for keyword, value in said.items()}"
    ),
    Mutation(58, _SCHEMA, "    elif path:\n", "    elif False:\n"),
    Mutation(
        58, _SCHEMA, "required if is_list(required) and not path else []", "required if is_list(required) else []"
    ),
    Mutation(58, _SCHEMA, "if isinstance(name, str) and name in properties]", "if isinstance(name, str)]"),
)
