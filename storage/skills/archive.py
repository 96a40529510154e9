"""A skill as a zip: read without trust in what it says of itself, and written so that it reads back the same.

`zipfile` reads the directory of the archive; the contents are inflated here, against a bound on what really comes out.
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping

from .package import check_size, check_total, is_junk, skill_path
from .shelf import SkillRefused

MOST_ENTRIES = 1000
MOST_RATIO = 100
"""How many bytes one byte of the archive may become."""
EXTENSIONS = (".zip", ".ttskill")

_DIRECTORY_BYTES = 4 * 1024 * 1024  # far more than the most entries need
_HEADER_BYTES = 30
_LENGTHS = struct.Struct("<HH")  # of the name and of the extra field, at the end of a local header
_ENCRYPTED, _UTF8 = 0x1, 0x800
_UNREADABLE = (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, OSError, struct.error, OverflowError)
"""What zipfile ends in where a directory lies or is cut off; the bytes are in memory, so no disk's fault is among them."""


def unpacked(data: bytes) -> list[tuple[str, bytes]]:
    """The files of the archive by path, in its order, without what a Mac adds; raises SkillRefused."""
    files: list[tuple[str, bytes]] = []
    total = 0
    for entry in _entries(data):
        name = _name(entry)
        if is_junk(name) or _is_folder(entry, name):
            continue
        files.append((name, _inflated(data, entry, name)))
        total += len(files[-1][1])
        check_total(total)
    return files


def packed(files: Mapping[str, bytes]) -> bytes:
    """A zip of the files in the order of paths, with no time and no system in it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, content in sorted(files.items()):
            info = zipfile.ZipInfo(path)  # of 1980, as it says nothing else
            info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED if _may_be_deflated(content) else zipfile.ZIP_STORED
            archive.writestr(info, content)
    return out.getvalue()


def _entries(data: bytes) -> list[zipfile.ZipInfo]:
    try:
        with zipfile.ZipFile(_Guarded(data)) as archive:
            entries = archive.infolist()
    except _UNREADABLE as error:
        raise SkillRefused(f"the archive can't be read as a zip ({error}); make it anew") from error
    if len(entries) > MOST_ENTRIES:
        raise SkillRefused(f"the archive has {len(entries)} entries; it may have {MOST_ENTRIES}")
    check_total(sum(entry.file_size for entry in entries))  # before any of it is inflated
    return entries


class _Guarded(io.BytesIO):
    """The archive's bytes; a directory that is far too long is not read."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _DIRECTORY_BYTES:
            raise zipfile.BadZipFile(f"its directory has {size} bytes")
        return super().read(size)


def _name(entry: zipfile.ZipInfo) -> str:
    """The entry's path in its one spelling. A name without the mark for UTF-8 is taken for that all the same, as
    Macs write it so; raises SkillRefused where it is not."""
    name = entry.orig_filename
    if not entry.flag_bits & _UTF8:
        try:
            name = _raw_name(entry).decode("utf-8")
        except UnicodeError as error:
            raise SkillRefused(f"the archive's entry {name!r} has a name that is not UTF-8; make it anew") from error
    if name.rstrip("/") != name and not name.strip("/"):
        return skill_path(name)  # which says what is wrong
    return skill_path(name.rstrip("/")) + ("/" if name.endswith("/") else "")


def _raw_name(entry: zipfile.ZipInfo) -> bytes:
    return entry.orig_filename.encode("utf-8" if entry.flag_bits & _UTF8 else "cp437")


def _is_folder(entry: zipfile.ZipInfo, name: str) -> bool:
    """Raises SkillRefused for a link, and for anything else that is no plain file or folder."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    folder = name.endswith("/") or kind == stat.S_IFDIR
    if kind == stat.S_IFLNK:
        raise SkillRefused(f"{name} is a link; a skill may hold files alone: put the file itself in")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or (folder and entry.file_size):
        raise SkillRefused(f"{name} is no plain file; a skill may hold files alone")
    return folder


def _inflated(data: bytes, entry: zipfile.ZipInfo, name: str) -> bytes:
    _check_declared(entry, name)
    start = _content_start(data, entry, name)
    raw = memoryview(data)[start : start + entry.compress_size]
    if len(raw) != entry.compress_size:
        raise SkillRefused(f"{name} is cut off in the archive; make it anew")
    if entry.compress_type == zipfile.ZIP_STORED:
        content, ended, left = bytes(raw[: entry.file_size + 1]), len(raw) == entry.file_size, b""
    else:
        inflator = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            content = inflator.decompress(raw, entry.file_size + 1)
        except zlib.error as error:
            raise SkillRefused(f"{name} is damaged in the archive ({error}); make it anew") from error
        ended, left = inflator.eof, inflator.unused_data
    if len(content) > entry.file_size:
        raise SkillRefused(f"{name} holds more than the {entry.file_size} bytes that the archive says; make it anew")
    if len(content) < entry.file_size or not ended or left or zlib.crc32(content) != entry.CRC:
        raise SkillRefused(f"{name} is damaged in the archive: it is not what its size and checksum say; make it anew")
    return content


def _check_declared(entry: zipfile.ZipInfo, name: str) -> None:
    if entry.flag_bits & _ENCRYPTED:
        raise SkillRefused(f"{name} is encrypted; make the archive without a password")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise SkillRefused(f"{name} is compressed by method {entry.compress_type}; use the usual one (deflate)")
    check_size(name, entry.file_size)
    if entry.file_size // max(1, entry.compress_size) > MOST_RATIO:
        raise SkillRefused(
            f"{name} has {entry.file_size} bytes in {entry.compress_size}, more than {MOST_RATIO} times as many; "
            "store it uncompressed"
        )


def _content_start(data: bytes, entry: zipfile.ZipInfo, name: str) -> int:
    """Where the content begins, by the entry's own header, which must name it as the directory does."""
    offset = entry.header_offset
    header = data[offset : offset + _HEADER_BYTES] if offset >= 0 else b""
    if len(header) < _HEADER_BYTES or header[:4] != b"PK\x03\x04":
        raise SkillRefused(f"{name} has no header in the archive; make it anew")
    lengths: tuple[int, int] = _LENGTHS.unpack_from(header, _HEADER_BYTES - _LENGTHS.size)
    name_bytes, extra_bytes = lengths
    start = offset + _HEADER_BYTES
    if data[start : start + name_bytes] != _raw_name(entry):
        raise SkillRefused(f"{name} has another name in its own header; make the archive anew")
    return start + name_bytes + extra_bytes


def _may_be_deflated(content: bytes) -> bool:
    deflator = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
    size = len(deflator.compress(content)) + len(deflator.flush())
    return size < len(content) and len(content) // max(1, size) <= MOST_RATIO
