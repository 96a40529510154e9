"""`chat.read_messages`: messages of the chat by their indexes, whole or in part."""

from __future__ import annotations

from dataclasses import dataclass

from ...graph.errors import ToolRefused
from ...graph.jsontext import Json
from ...graph.messages import Annotations, ToolSpec
from ...graph.ports import ChatMessage
from ..arguments.given import array, given, integer, schema, shown
from ..chat import CURRENT, frozen
from ..files import counted
from ..ranges import FIELDS, MOST_ITEMS, MOST_TOTAL, MOST_WHOLE, Part, Range, asked_range, check_total, part
from ..tool import Answer, Bench

SPEC = ToolSpec(
    name="chat.read_messages",
    title="Read messages of the chat",
    description=(
        f"Read messages of this chat by their indexes; chat_search finds them. At most {MOST_ITEMS} messages and "
        f"{MOST_TOTAL} characters in one call; a message of more than {MOST_WHOLE} characters must be read in parts, "
        "with start_char and max_chars."
    ),
    input_schema=schema(
        {
            "messages": array(
                f"Messages to read: 1 to {MOST_ITEMS}.",
                schema(
                    {"index": integer("The message's index; the chat's first message has 0."), **FIELDS},
                    required=("index",),
                ),
            )
        },
        required=("messages",),
    ),
    annotations=Annotations(read_only=True, source_kind="chat"),
)


@dataclass(frozen=True, slots=True)
class Item:
    """One message that is asked for."""

    index: int
    range: Range


@dataclass(frozen=True, slots=True)
class Arguments:
    messages: tuple[Item, ...]


def run(arguments: Json, bench: Bench) -> Answer:
    asked = _asked(arguments)
    visible = bench.chat_messages
    with frozen(bench) as chat:
        for item in asked.messages:
            if item.index >= visible:
                raise _not_found(item.index, visible)
        messages = chat.read({item.index for item in asked.messages})
    read = [(_found(messages.get(item.index), item, visible), item) for item in asked.messages]
    parts = [(message, _part(message, item)) for message, item in read]
    check_total((each for _, each in parts), code="chat.read_too_large")
    return Answer(
        content="\n\n".join(
            [
                f"{counted(len(parts), 'message')} read; the chat has {counted(visible, 'message')}.",
                *(_block(message, each) for message, each in parts),
            ]
        ),
        structured={"totalMessages": visible, "messages": [_structured(message, each) for message, each in parts]},
        resource_refs=tuple(_ref(message, each) for message, each in parts),
    )


def _asked(arguments: Json) -> Arguments:
    items = given(arguments).items("messages", MOST_ITEMS)
    return Arguments(tuple(Item(fields.required_number("index"), asked_range(fields)) for fields in items))


def _found(message: ChatMessage | None, item: Item, visible: int) -> ChatMessage:
    if message is None:
        raise _not_found(item.index, visible)
    return message


def _not_found(index: int, visible: int) -> ToolRefused:
    there = f"its messages have the indexes 0 to {visible - 1}" if visible else "it has no messages yet"
    return ToolRefused("chat.message_not_found", f"The chat has no message {shown(index)}: {there}.")


def _part(message: ChatMessage, item: Item) -> Part:
    return part(message.text, item.range, name=f"Message {message.index}", code="chat.invalid_message_range")


def _ref(message: ChatMessage, read: Part) -> str:
    return f"{CURRENT}#{message.index}:chars={read.start_char}..{read.end_char}"


def _block(message: ChatMessage, read: Part) -> str:
    head = (
        f"message {message.index} {message.role}{f' {message.name}' if message.name else ''} "
        f"chars {read.start_char}-{read.end_char} of {read.total_chars}, words {read.words} of {read.total_words}, "
        f"ref {_ref(message, read)}"
        f"{f' send_date {message.send_date}' if message.send_date else ''}{' truncated' if read.truncated else ''}"
    )
    return f"{head}\n{read.text}"


def _structured(message: ChatMessage, read: Part) -> dict[str, Json]:
    return {
        "index": message.index, "role": message.role, "name": message.name, "sendDate": message.send_date,
        **read.to_json(), "text": read.text, "ref": _ref(message, read),
    }  # fmt: skip
