"""Claude's rules switched off."""

from __future__ import annotations

from .mutation import Mutation

_BLOCKS = "gateway/claude/blocks.py"
_TURNS = "gateway/claude/turns.py"
_CACHE = "gateway/claude/cache.py"
_FORMAT = "gateway/formats/claude_messages.py"
_ERRORS = "gateway/errors.py"
_GATEWAY = "gateway/gateway.py"

MUTATIONS = (
    Mutation(10, _BLOCKS, "native = own_native(message, provider, connection)", "native = None"),
    Mutation(
        10,
        _BLOCKS,
        "items = (native.value,) if content else ()",
        "items = (dumps(content),) if content else ()",
    ),
    Mutation(
        11,
        _BLOCKS,
        "items = (native.value,) if content else ()",
        'items = (dumps([block for block in content if block.get("thinking") != ""]),)',
    ),
    Mutation(11, _FORMAT, "if thought.strip()]", "]"),
    Mutation(12, _TURNS, "if last is None or last.role is not Role.USER:", "if True:"),
    Mutation(12, _TURNS, "turn.blocks.insert(turn.results, ", "turn.blocks.insert(0, "),
    Mutation(12, _TURNS, "turn.blocks.insert(turn.results, ", "turn.blocks.insert(len(turn.blocks), "),
    Mutation(13, "gateway/claude/settings.py", 'if choice == "auto" or thinking:', 'if choice == "auto":'),
    Mutation(
        14,
        _BLOCKS,
        "return Fragment(message.role, _said(message), calls=held)",
        "return Fragment(message.role, _said(message)[-len(held) :], calls=held)",
    ),
    Mutation(15, _BLOCKS, 'dumps(block | {"is_error": True} if result.is_error else block)', "dumps(block)"),
    Mutation(16, _GATEWAY, "if response.finish is not Finish.PAUSE or response.tool_calls:", "if True:"),
    Mutation(16, _GATEWAY, 'reply = replace(delivered.reply, body=b"\\n".join(bodies))', "reply = delivered.reply"),
    Mutation(
        16, _TURNS, "self._turns[-1].role is Role.ASSISTANT and not self._turns[-1].native", "self._turns[-1].role"
    ),
    Mutation(17, _BLOCKS, '(b"id", dumps(wire_id(call.id)))', '(b"id", dumps(call.id))'),
    Mutation(17, _BLOCKS, "dict.fromkeys((wire_id(result.call_id), result.call_id))", "(result.call_id,)"),
    Mutation(18, _TURNS, "if not self._turns or self._turns[-1].native or not", "if not self._turns or not"),
    Mutation(18, _FORMAT, "if not said[-1].native:", "if True:"),
    Mutation(18, _CACHE, "dict.fromkeys([(0, len(turns[0].blocks) - 1), seen])", "[(n, 0) for n in range(len(turns))]"),
    Mutation(19, _CACHE, "    blocks = value_of(to_text(content))\n", "    return True\n    blocks = []\n"),
    Mutation(20, _ERRORS, '("overloaded_error", "overloaded", "server_error"', '("server_error"'),
    Mutation(20, _ERRORS, "return Kind.TRANSIENT if status >= 500 else Kind.REJECTED", "return Kind.REJECTED"),
    Mutation(22, _FORMAT, '"max_tokens": Finish.LENGTH', '"max_tokens": Finish.STOP'),
    Mutation(48, _FORMAT, "        _check_signed(content)\n", "        pass\n"),
    Mutation(
        64,
        "gateway/claude/stream.py",
        'self.input.append(str(delta.value.get("partial_json", "")))',
        'self.input.append(_checked(str(delta.value.get("partial_json", ""))))',
    ),
    Mutation(67, _TURNS, "if held.role is not Role.SYSTEM), len(fragments))", "), len(fragments))"),
    Mutation(
        67,
        _TURNS,
        "            self._user().blocks += fragment.items\n",
        "            if fragment.role is not Role.DEVELOPER:\n                self._user().blocks += fragment.items\n",
    ),
)
