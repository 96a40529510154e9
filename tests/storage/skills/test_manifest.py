"""SKILL.md: what is accepted as people write it, and refusals that name the field, the line and the remedy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.storage.skills.manifest import MOST_BYTES, MOST_FRONT_BYTES, NAME_BYTES, checked_name, manifest_of
from treadle.storage.skills.shelf import SkillRefused


def md(front: str, body: str = "Body\n") -> bytes:
    return f"---\n{front}---\n{body}".encode()


def test_the_fields_the_tags_and_the_body_are_read() -> None:
    found = manifest_of(
        md(
            "name: fog-lore\ndescription: 'Fog: what it is'\nlicense: MIT\nallowed-tools: [Read]\n"
            'metadata: {author: Odile, version: "1.0", tags: [weather, fog, fog]}\n',
            "# Fog\n---\nmore\n",
        )
    )

    assert (found.name, found.description, found.license) == ("fog-lore", "Fog: what it is", "MIT")
    assert (found.author, found.version, found.tags) == ("Odile", "1.0", ("fog", "weather"))
    assert (found.body, found.warnings) == ("# Fog\n---\nmore\n", ())


@pytest.mark.parametrize(
    ("block", "description"),
    [
        ("|-\n  One.\n  Two: three.", "One.\nTwo: three."),
        (">\n  One,\n  still one.", "One, still one."),
        ('"with \\"quotes\\": and more"', 'with "quotes": and more'),
        ("'yes'", "yes"),
        ("yes", "yes"),
        ("日本語 🦊", "日本語 🦊"),
        ("a #tag", "a"),
    ],
)
def test_a_description_in_any_yaml_form_is_its_text(block: str, description: str) -> None:
    assert manifest_of(md(f"name: a\ndescription: {block}\n")).description == description


@pytest.mark.parametrize(("mark", "end"), [(b"\xef\xbb\xbf", b"\n"), (b"", b"\r\n"), (b"\xef\xbb\xbf", b"\r\n")])
def test_a_byte_order_mark_and_crlf_change_nothing(mark: bytes, end: bytes) -> None:
    plain = md("name: a\ndescription: d\n", "one\n\ntwo\n")

    assert manifest_of(mark + plain.replace(b"\n", end)) == manifest_of(plain)


def test_a_closing_fence_at_the_very_end_is_enough() -> None:
    assert manifest_of(b"---\nname: a\ndescription: d\n---").body == ""


REFUSED: list[tuple[bytes, tuple[str, ...]]] = [
    (b"", ("line 1", "must be ---")),
    (b"# Title\n", ("line 1", "must be ---")),
    (b"\n---\nname: a\n---\n", ("line 1",)),
    (b"---\nname: a\ndescription: d\n", ("no closing ---",)),
    (b"---\nname: a\n---- x\n---\n", ("line 3", "begins with ---")),
    (b"---\n---\nbody", ("line 2", "name")),
    (md("- a\n- b\n"), ("line 2", "must hold name")),
    (md("just text\n"), ("line 2", "must hold name")),
    (md("description: d\n"), ("name is missing", "add name")),
    (md("name: a\n"), ("description is missing",)),
    (md("name: a\ndescription:\n"), ("line 3", "description is missing")),
    (md("name: a\ndescription: ''\n"), ("line 3", "description must not be blank")),
    (md("name: a\ndescription: [x]\n"), ("line 3", "description must be text", "quotes")),
    (md("name: a\ndescription: 2024-01-01\n"), ("line 3", "description must be text")),
    (md("name: 12\ndescription: d\n"), ("line 2", "name must be text")),
    (md("name: true\ndescription: d\n"), ("line 2", "name must be text")),
    (md("name: !tag a\ndescription: d\n"), ("line 2", "name must be text")),
    (md("name: My Skill\ndescription: d\n"), ("line 2", "name", "a-z 0-9 _ -")),
    (md("name: con\ndescription: d\n"), ("name", "devices")),
    (md("name: a\ndescription: Two axes: Standards and Spec\n"), ("line 3", "description", "quotes")),
    (md("name: a\ndescription: d\n\tmore: x\n"), ("line 4",)),
    (md("name: a\ndescription: 'never closed\n"), ("description", "not valid YAML")),
    (md("name: a\ndescription: d\nname: b\n"), ("line 4", "name stands twice")),
    (md("name: a\ndescription: d\nx:\n  y: 1\n  y: 2\n"), ("line 6", "y stands twice")),
    (md("name: *who\ndescription: d\n"), ("line 2", "name", "alias")),
    (md("name: a\ndescription: d\nlicense: [MIT]\n"), ("line 4", "license must be text")),
    (md("name: a\ndescription: \x07\n"), ("line 3", "description")),
    (b"---\nname: a\ndescription: caf\xe9\n---\n", ("line 3", "UTF-8")),
    (md("x: " + "[" * 3000 + "\n"), ("nested too deeply",)),
    (md("x: " + "y" * MOST_FRONT_BYTES + "\n"), (str(MOST_FRONT_BYTES), "front matter")),
    (md("name: a\ndescription: d\n", "x" * MOST_BYTES), (str(MOST_BYTES),)),
]


@pytest.mark.parametrize(("data", "words"), REFUSED, ids=[f"{at}-{row[1][0]}" for at, row in enumerate(REFUSED)])
def test_what_is_wrong_is_named_with_its_line(data: bytes, words: tuple[str, ...]) -> None:
    with pytest.raises(SkillRefused) as refused:
        manifest_of(data)

    assert [word for word in words if word not in refused.value.message] == []
    assert refused.value.error_code == "skill.invalid_request"


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ("{version: 1.0}", ("line 4", "metadata.version", "quotes")),
        ("{author: [x]}", ("line 4", "metadata.author")),
        ("{tags: fog}", ("line 4", "metadata.tags")),
        ("{tags: [fog, 1, '']}", ("line 4", "metadata.tags")),
        ("text", ("line 4", "metadata")),
    ],
)
def test_metadata_of_another_kind_is_left_out_and_told(metadata: str, words: tuple[str, ...]) -> None:
    found = manifest_of(md(f"name: a\ndescription: d\nmetadata: {metadata}\n"))

    (warning,) = found.warnings
    assert [word for word in words if word not in warning] == []
    assert (found.author, found.version) == (None, None)
    assert found.tags in ((), ("fog",))


def test_aliases_that_would_grow_without_end_cost_nothing() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40)]
    rows += ["m: &m {k: v}", *(f"m{n}: {{<<: [*m, *m, *m]}}" for n in range(20)), "self: &self [*self]"]

    assert manifest_of(md("name: a\ndescription: d\n" + "\n".join(rows) + "\n")).name == "a"


@pytest.mark.parametrize("name", ["", " ", "A", "a.b", "a/b", "..", "é", "a" * (NAME_BYTES + 1), "nul", "a\0"])
def test_a_name_that_no_skill_can_have_is_refused(name: str) -> None:
    with pytest.raises(SkillRefused, match="name"):
        checked_name(name)


def test_a_name_is_trimmed_and_may_have_all_its_bytes() -> None:
    assert checked_name(f" {'a' * NAME_BYTES} ") == "a" * NAME_BYTES


FRONT = st.one_of(
    st.text(),
    st.text(alphabet="nameb: \n-[]{}&*!|>'\"#%@`,?\t~<=0123"),
    st.lists(st.sampled_from(["name: a", "description: d", "metadata:", " tags: [x]", "? y", "- z", "<<: *x", "&x", "---"])).map(
        "\n".join
    ),
)  # fmt: skip


@given(front=FRONT)
def test_any_front_matter_is_read_or_refused_with_the_file_named(front: str) -> None:
    data = f"---\n{front}\n---\nBody\n".encode("utf-8", "surrogatepass")

    try:
        found = manifest_of(data)
    except SkillRefused as refused:
        assert "SKILL.md" in refused.message
    else:
        assert found.name
        assert found.description.strip()


@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_with_the_file_named(data: bytes) -> None:
    for given_bytes in (data, b"---\nname: a\n" + data):
        try:
            manifest_of(given_bytes)
        except SkillRefused as refused:
            assert "SKILL.md" in refused.message
