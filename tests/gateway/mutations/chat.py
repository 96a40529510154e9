"""The rules of chat completions switched off."""

from __future__ import annotations

from .mutation import Mutation

_FORMAT = "gateway/formats/openai_compatible.py"
_NATIVE = "gateway/chat/native.py"
_CALLS = "gateway/calls.py"
_DIALECTS = "gateway/connections/dialects.py"
_STREAM = "gateway/chat/stream.py"
_OVERRIDES = "gateway/connections/overrides.py"

MUTATIONS = (
    Mutation(
        21,
        _FORMAT,
        "    if tool_calls:\n        return Finish.TOOL_CALLS",
        '    if tool_calls and word != "stop":\n        return Finish.TOOL_CALLS',
    ),
    Mutation(22, _FORMAT, '"length": Finish.LENGTH', '"length": Finish.STOP'),
    Mutation(
        22,
        _CALLS,
        "    except ValueError:\n        return given, True",
        "    except ValueError:\n        return {}, False",
    ),
    Mutation(22, "nodes/call.py", "if seat.answer.finish is Finish.LENGTH:", "if False:"),
    Mutation(
        23,
        _CALLS,
        "if not given.strip():\n        return {}, False",
        "if not given.strip():\n        return given, True",
    ),
    Mutation(23, _NATIVE, "if not isinstance(given, str) or not given.strip()", "if not isinstance(given, str)"),
    Mutation(24, _NATIVE, "return dumps(arguments_text(held)).decode()", "return dumps(raw).decode()"),
    Mutation(24, _NATIVE, "wire_name(name) == name and not arguments(given)[1]", "wire_name(name) == name"),
    Mutation(
        24,
        "graph/messages.py",
        'return dumps({"_invalid_arguments": call.arguments}).decode()',
        "return dumps(call.arguments).decode()",
    ),
    Mutation(
        25, _NATIVE, 'if dialect.echo_reasoning == "all" and message.get("reasoning_content") is None:', "if False:"
    ),
    Mutation(25, _NATIVE, 'if dialect.echo_reasoning == "all" and "reasoning_content" not in keys:', "if False:"),
    Mutation(25, _DIALECTS, '"deepseek": Dialect(echo_reasoning="all"', '"deepseek": Dialect(echo_reasoning="auto"'),
    Mutation(26, _NATIVE, 'return dialect.echo_reasoning == "none" and found.key', "return False and found.key"),
    Mutation(26, _NATIVE, 'if dialect.echo_reasoning == "none" and not', "if False and not"),
    Mutation(26, _DIALECTS, '"groq": Dialect(echo_reasoning="none")', '"groq": Dialect()'),
    Mutation(26, _DIALECTS, '"api.cerebras.ai": "groq"', '"api.cerebras.ai": "cerebras"'),
    Mutation(27, _FORMAT, 'for source in ("reasoning_content", "reasoning"):', 'for source in ("reasoning_content",):'),
    Mutation(
        28, _FORMAT, '"reasoning.summary": "summary"}', '"reasoning.summary": "summary", "reasoning.encrypted": "data"}'
    ),
    Mutation(28, _NATIVE, "return message if _is_clean(", "return without_reasoning(message) if _is_clean("),
    Mutation(
        28, "treadle/views.py", '"assistant": cut(', '"message": response["message"],\n            "assistant": cut('
    ),
    Mutation(29, _FORMAT, "native = calls.own_native(message, NATIVE, connection)", "native = None"),
    Mutation(29, _NATIVE, 'if found.key == "function" else found.raw)', 'if found.key == "function" else "0")'),
    Mutation(30, _NATIVE, 'if "content" not in keys:', "if False:"),
    Mutation(30, _NATIVE, 'return \'""\' if dialect.empty_content == "string" else "null"', 'return "null"'),
    Mutation(
        30,
        _FORMAT,
        'pairs = [(b"role", b\'"assistant"\'), (b"content", content)]',
        'pairs = [(b"role", b\'"assistant"\')] + ([(b"content", content)] if message.text else [])',
    ),
    Mutation(
        65, _STREAM, "        self.top.take(", '        if chunk.value.get("choices"):\n            self.top.take('
    ),
    Mutation(65, _STREAM, "if self.finish is None:", "if self.finish is None or not self.done:"),
    Mutation(65, _STREAM, "if self.finish is None:", "self.finish = self.finish or '\"stop\"'\n        if False:"),
    Mutation(
        66, _OVERRIDES, 'if not isinstance(given, str) or not (given == "none"', 'if False and not (given == "none"'
    ),
    Mutation(66, _OVERRIDES, ' or given.endswith("_tools"))', ")"),
    Mutation(68, _OVERRIDES, "if key.lower() in _OURS or", "if"),
)
