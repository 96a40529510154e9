"""How Treadle counts text: Unicode scalar values, and words in which each CJK unit is one."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterable

_CJK = (
    (0x1100, 0x11FF), (0x3040, 0x309F), (0x30A0, 0x30FF), (0x3130, 0x318F), (0x3400, 0x4DBF), (0x4E00, 0x9FFF),
    (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0xFF66, 0xFF9F), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF), (0x2CEB0, 0x2EBEF), (0x30000, 0x3134F),
)  # fmt: skip


def count_chars(text: str) -> int:
    """Unicode scalar values."""
    return len(text)


def count_words(text: str) -> int:
    """Words: each CJK unit, and each run of alphanumerics between other characters."""
    if text.isascii():
        return len(text.encode().translate(_ASCII_SPACED).split())
    return len(_WORD.findall(text))


def is_alphanumeric(char: str) -> bool:
    """Unicode Alphabetic or Numeric, which is wider than `str.isalnum`: vowel signs and circled letters count."""
    return char.isalnum() or _is_alphabetic_mark(ord(char))


def cut(text: str, max_chars: int) -> dict[str, object]:
    """The first `max_chars` characters, with totals of the whole."""
    return {
        "text": text[:max_chars],
        "totalChars": count_chars(text),
        "totalWords": count_words(text),
        "truncated": len(text) > max_chars,
    }


def narration(said: str, max_chars: int) -> dict[str, object] | None:
    """What a model said beside its tool calls, cut; None where it said nothing."""
    text = said.strip()
    return {"source": "assistantText", **cut(text, max_chars)} if text else None


def sha256_text(text: str) -> str:
    """64 lower-case hex digits of the SHA-256 of the UTF-8 bytes."""
    return sha256_bytes(text.encode("utf-8", "surrogatepass"))


def sha256_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def is_binary(data: bytes) -> bool:
    """More than a quarter of it is NUL: UTF-8 by the letter, perhaps, but UTF-16 without its mark or no text at all."""
    return data.count(0) * 4 > len(data)


def _is_alphabetic_mark(point: int) -> bool:
    row = bisect_right(_MARK_STARTS, point) - 1
    return row >= 0 and point <= _MARK_ENDS[row]


# Vowel signs, circled letters and the like: Alphabetic in Unicode 14, yet no letters to Python, whose tables lack the
# property Other_Alphabetic. Code points and ranges, hexadecimal.
_MARKS = """
345 5b0-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-657 659-65f 670 6d6-6dc 6e1-6e4 6e7-6e8 6ed 711 730-73f 7a6-7b0
816-817 81b-823 825-827 829-82c 8d4-8df 8e3-8e9 8f0-903 93a-93b 93e-94c 94e-94f 955-957 962-963 981-983 9be-9c4
9c7-9c8 9cb-9cc 9d7 9e2-9e3 a01-a03 a3e-a42 a47-a48 a4b-a4c a51 a70-a71 a75 a81-a83 abe-ac5 ac7-ac9 acb-acc
ae2-ae3 afa-afc b01-b03 b3e-b44 b47-b48 b4b-b4c b56-b57 b62-b63 b82 bbe-bc2 bc6-bc8 bca-bcc bd7 c00-c03 c3e-c44
c46-c48 c4a-c4c c55-c56 c62-c63 c81-c83 cbe-cc4 cc6-cc8 cca-ccc cd5-cd6 ce2-ce3 d00-d03 d3e-d44 d46-d48 d4a-d4c
d57 d62-d63 d81-d83 dcf-dd4 dd6 dd8-ddf df2-df3 e31 e34-e3a e4d eb1 eb4-eb9 ebb-ebc ecd f71-f81 f8d-f97 f99-fbc
102b-1036 1038 103b-103e 1056-1059 105e-1060 1062-1064 1067-106d 1071-1074 1082-108d 108f 109a-109d 1712-1713
1732-1733 1752-1753 1772-1773 17b6-17c8 1885-1886 18a9 1920-192b 1930-1938 1a17-1a1b 1a55-1a5e 1a61-1a74
1abf-1ac0 1acc-1ace 1b00-1b04 1b35-1b43 1b80-1b82 1ba1-1ba9 1bac-1bad 1be7-1bf1 1c24-1c36 1de7-1df4 24b6-24e9
2de0-2dff a674-a67b a69e-a69f a802 a80b a823-a827 a880-a881 a8b4-a8c3 a8c5 a8ff a926-a92a a947-a952 a980-a983
a9b4-a9bf a9e5 aa29-aa36 aa43 aa4c-aa4d aa7b-aa7d aab0 aab2-aab4 aab7-aab8 aabe aaeb-aaef aaf5 abe3-abea fb1e
10376-1037a 10a01-10a03 10a05-10a06 10a0c-10a0f 10d24-10d27 10eab-10eac 11000-11002 11038-11045 11073-11074
11082 110b0-110b8 110c2 11100-11102 11127-11132 11145-11146 11180-11182 111b3-111bf 111ce-111cf 1122c-11234
11237 1123e 112df-112e8 11300-11303 1133e-11344 11347-11348 1134b-1134c 11357 11362-11363 11435-11441
11443-11445 114b0-114c1 115af-115b5 115b8-115be 115dc-115dd 11630-1163e 11640 116ab-116b5 1171d-1172a
1182c-11838 11930-11935 11937-11938 1193b-1193c 11940 11942 119d1-119d7 119da-119df 119e4 11a01-11a0a
11a35-11a39 11a3b-11a3e 11a51-11a5b 11a8a-11a97 11c2f-11c36 11c38-11c3e 11c92-11ca7 11ca9-11cb6 11d31-11d36
11d3a 11d3c-11d3d 11d3f-11d41 11d43 11d47 11d8a-11d8e 11d90-11d91 11d93-11d96 11ef3-11ef6 16f4f 16f51-16f87
16f8f-16f92 16ff0-16ff1 1bc9e 1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a 1e947 1f130-1f149
1f150-1f169 1f170-1f189
"""
_MARK_STARTS = tuple(int(span.partition("-")[0], 16) for span in _MARKS.split())
_MARK_ENDS = tuple(int(span.rpartition("-")[2], 16) for span in _MARKS.split())


def _character_class(spans: Iterable[tuple[int, int]]) -> str:
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in spans)


_UNIT = _character_class(_CJK)
_MARK = _character_class(zip(_MARK_STARTS, _MARK_ENDS, strict=True))
_ASCII_SPACED = bytes(code if chr(code).isalnum() and code < 128 else ord(" ") for code in range(256))
_WORD = re.compile(rf"[{_UNIT}]|(?:[^\W_{_UNIT}]|[{_MARK}])+")
