"""What every shelf of skills does, wherever it keeps them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from treadle.storage.skills.shelf import ShelvedSkill, SkillFile, SkillNotFound, SkillRefused, SkillShelf

Packages = Mapping[str, Mapping[str, bytes]]
StockShelf = Callable[[Packages], SkillShelf]


def skill_md(name: str, body: str = "") -> bytes:
    return f"---\nname: {name}\ndescription: What {name} is for.\n---\n{body}".encode()


ANY_BYTES = bytes(range(256))
PACKAGES: Packages = {
    "style": {
        "SKILL.md": skill_md("style"),
        "references/tone.md": "Ruhig, 静か, 🙂\r\n".encode(),
        "a.bin": ANY_BYTES,
        "empty.md": b"",
    },
    "lore-2": {"SKILL.md": skill_md("lore-2")},
}


class SkillShelfContract:
    """A subclass gives `stock`: it makes a shelf that holds packages, and nothing else."""

    @pytest.fixture
    def shelf(self, stock: StockShelf) -> SkillShelf:
        return stock(PACKAGES)

    def test_an_empty_shelf_has_no_skills(self, stock: StockShelf) -> None:
        assert list(stock({}).skills()) == []

    def test_skills_are_told_by_name_with_what_they_are_for(self, shelf: SkillShelf) -> None:
        assert list(shelf.skills()) == [
            ShelvedSkill("lore-2", "What lore-2 is for."), ShelvedSkill("style", "What style is for."),
        ]  # fmt: skip

    def test_the_files_of_a_skill_are_told_by_path_with_their_size(self, shelf: SkillShelf) -> None:
        files = PACKAGES["style"]

        assert list(shelf.files("style")) == [SkillFile(path, len(files[path])) for path in sorted(files)]

    @pytest.mark.parametrize("path", list(PACKAGES["style"]))
    def test_a_file_comes_back_byte_for_byte(self, shelf: SkillShelf, path: str) -> None:
        assert shelf.read("style", path) == PACKAGES["style"][path]

    def test_a_skill_that_is_not_there_is_not_found(self, shelf: SkillShelf) -> None:
        with pytest.raises(SkillNotFound) as listed:
            shelf.files("none")
        with pytest.raises(SkillNotFound) as read:
            shelf.read("none", "SKILL.md")

        assert listed.value.error_code == read.value.error_code == "skill.not_found"

    @pytest.mark.parametrize("name", ["Style", "../style", "style/../style", "", "*", "."])
    def test_a_name_that_no_skill_can_have_is_refused_or_not_found(self, shelf: SkillShelf, name: str) -> None:
        with pytest.raises((SkillNotFound, SkillRefused)):
            shelf.files(name)
        with pytest.raises((SkillNotFound, SkillRefused)):
            shelf.read(name, "SKILL.md")

    @pytest.mark.parametrize("path", ["none.md", "references/none.md", "references/tone.md/x"])
    def test_a_file_that_is_not_there_is_not_found(self, shelf: SkillShelf, path: str) -> None:
        with pytest.raises(SkillNotFound) as caught:
            shelf.read("style", path)

        assert caught.value.error_code == "skill.not_found"

    @pytest.mark.parametrize(
        "path", ["", "references", "..", "../lore-2/SKILL.md", "/SKILL.md", "\\SKILL.md", "C:/SKILL.md", "a\0b"]
    )
    def test_a_path_that_names_no_file_of_the_skill_is_refused(self, shelf: SkillShelf, path: str) -> None:
        with pytest.raises(SkillRefused) as caught:
            shelf.read("style", path)

        assert caught.value.error_code == "skill.invalid_request"
