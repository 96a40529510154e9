"""A zip is read without trust in what it says of itself, and written so that it reads back the same."""

from __future__ import annotations

import base64
import stat
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.storage.disk import RealDisk
from treadle.storage.skills.archive import MOST_ENTRIES, MOST_RATIO, packed, unpacked
from treadle.storage.skills.imports import imported
from treadle.storage.skills.package import MOST_BYTES, MOST_FILE_BYTES, packaged
from treadle.storage.skills.shelf import SkillRefused

from .samples import FILES, linked, lying, skill_md, zipped

MD = ("SKILL.md", skill_md())


def test_what_is_packed_is_unpacked_byte_for_byte_in_the_order_of_paths() -> None:
    assert unpacked(packed(FILES)) == sorted(FILES.items())


def test_the_same_files_are_the_same_archive() -> None:
    assert packed(dict(reversed(FILES.items()))) == packed(FILES)


def test_a_file_that_shrinks_too_well_is_stored_so_that_the_archive_is_accepted() -> None:
    files = {**FILES, "zeros.bin": bytes(1024 * 1024)}

    assert dict(unpacked(packed(files))) == files


def test_folders_and_what_macs_add_are_passed_over() -> None:
    data = zipped([("references/", b""), MD, ("__MACOSX/._SKILL.md", b"x"), (".DS_Store", b"x"), ("a/._b", b"x")])

    assert unpacked(data) == [MD]


def test_a_name_in_utf8_without_the_mark_for_it_is_read_as_macs_write_it() -> None:
    data = zipped([("\u65e5.md", b"x")])
    marked = bytearray(data)
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.index(signature) + at
        marked[place : place + 2] = b"\0\0"

    assert unpacked(bytes(marked)) == [("\u65e5.md", b"x")]
    with pytest.raises(SkillRefused, match="not UTF-8"):
        unpacked(bytes(marked).replace("\u65e5".encode(), b"\x82\xa0\xff"))


@pytest.mark.parametrize(
    "name",
    ["../x.md", "/x.md", "C:\\x.md", "..\\x.md", "a/../../x.md", "//srv/x", "a/.git/x", "x:y", "nul", "../", "/"],
)
def test_a_name_that_leads_elsewhere_is_refused_and_named(name: str) -> None:
    with pytest.raises(SkillRefused, match="the path"):
        unpacked(zipped([MD, (name, b"" if name.endswith("/") else b"evil")]))


def test_links_devices_and_folders_with_contents_are_refused() -> None:
    def piped(info: zipfile.ZipInfo) -> None:
        info.external_attr = (stat.S_IFIFO | 0o644) << 16

    with pytest.raises(SkillRefused, match="l is a link"):
        unpacked(zipped([MD, ("l", b"/etc/passwd")], change={"l": linked}))
    with pytest.raises(SkillRefused, match="p is no plain file"):
        unpacked(zipped([MD, ("p", b"")], change={"p": piped}))
    with pytest.raises(SkillRefused, match="d/ is no plain file"):
        unpacked(zipped([MD, ("d/", b"x")]))


def test_an_encrypted_entry_is_refused() -> None:
    data = bytearray(zipped([MD]))
    data[data.index(b"PK\x01\x02") + 8] |= 1

    with pytest.raises(SkillRefused, match=r"SKILL\.md is encrypted"):
        unpacked(bytes(data))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_unusual_compression_is_refused(method: int) -> None:
    with pytest.raises(SkillRefused, match="deflate"):
        unpacked(zipped([MD], method=method))


def test_too_many_entries_are_refused() -> None:
    with pytest.raises(SkillRefused, match=f"{MOST_ENTRIES + 1} entries"):
        unpacked(zipped((f"{n}", b"") for n in range(MOST_ENTRIES + 1)))


def test_a_directory_that_is_far_too_long_is_not_even_read() -> None:
    with pytest.raises(SkillRefused, match="its directory has"):
        unpacked(zipped(((f"{n:0>200}", b"") for n in range(18_000)), method=zipfile.ZIP_STORED))


def test_sizes_that_are_declared_are_held_to_the_limits() -> None:
    with pytest.raises(SkillRefused, match="big has"):
        unpacked(zipped([MD, ("big", bytes(MOST_FILE_BYTES + 1))]))
    with pytest.raises(SkillRefused, match=f"more than {MOST_RATIO} times"):
        unpacked(zipped([MD, ("bomb", bytes(1024 * 1024))]))
    many = zipped(((f"{n}", b"x") for n in range(20)), method=zipfile.ZIP_STORED)
    for n in range(20):
        many = lying(many, f"{n}".encode(), MOST_FILE_BYTES)
    with pytest.raises(SkillRefused, match=str(MOST_BYTES)):
        unpacked(many)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_content_that_is_longer_than_it_says_is_refused_unread(method: int) -> None:
    data = zipped([MD, ("liar", bytes(range(256)) * 64)], method=method)

    with pytest.raises(SkillRefused, match="liar holds more than the 5 bytes"):
        unpacked(lying(data, b"liar", 5))


def test_a_content_that_is_shorter_than_it_says_is_refused() -> None:
    with pytest.raises(SkillRefused, match="liar is damaged"):
        unpacked(lying(zipped([MD, ("liar", b"abc" * 50)]), b"liar", 151))


def test_a_content_that_was_changed_is_refused() -> None:
    data = zipped([MD, ("a.txt", b"plain words")], method=zipfile.ZIP_STORED)

    with pytest.raises(SkillRefused, match=r"a\.txt is damaged"):
        unpacked(data.replace(b"plain words", b"other words"))


def test_an_entry_with_two_names_is_refused() -> None:
    data = zipped([MD, ("a.txt", b"x")])
    place = data.index(b"a.txt")

    with pytest.raises(SkillRefused, match="another name"):
        unpacked(data[:place] + b"b.txt" + data[place + 5 :])


@pytest.mark.parametrize("data", [b"", b"PK", b"not a zip at all", b"PK\x05\x06" + bytes(18), packed(FILES)[:-30]])
def test_what_is_no_zip_or_an_empty_one_is_refused_or_empty(data: bytes) -> None:
    try:
        assert unpacked(data) == []
    except SkillRefused as refused:
        assert "zip" in refused.message


SAMPLE = packed(FILES)


@given(
    cuts=st.lists(
        st.tuples(st.integers(0, len(SAMPLE) - 1), st.integers(0, 255), st.booleans()), min_size=1, max_size=8
    ),
    end=st.integers(0, len(SAMPLE)),
)
def test_a_garbled_zip_gives_its_files_or_is_refused(cuts: list[tuple[int, int, bool]], end: int) -> None:
    garbled = bytearray(SAMPLE)
    for place, byte, insert in cuts:
        garbled[place : place + (0 if insert else 1)] = bytes([byte])
    for data in (bytes(garbled), SAMPLE[:end]):
        try:
            found = unpacked(data)
        except SkillRefused as refused:
            assert refused.message
        else:
            assert all(len(content) <= MOST_FILE_BYTES for _, content in found)


PATHS = (
    st.text(alphabet="ab.é日_- ", min_size=1, max_size=8)
    .map(str.strip)
    .filter(lambda name: name and name[-1] not in ". ")
)


@given(more=st.dictionaries(PATHS.map(lambda name: f"f/{name}.x"), st.binary(max_size=300), max_size=6))
def test_what_is_exported_and_imported_again_has_the_same_hash(more: dict[str, bytes]) -> None:
    try:
        package = packaged([MD, *more.items()])
    except SkillRefused as refused:
        assert "one name" in refused.message or "leave it out" in refused.message
        return

    for _ in range(2):
        data = packed(package.files)
        text = base64.b64encode(data).decode()
        again = imported({"kind": "archiveBase64", "fileName": "a.zip", "contentBase64": text}, RealDisk()).package
        assert (again.sha256, again.files) == (package.sha256, package.files)
        package = again
