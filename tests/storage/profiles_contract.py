"""What every store of profiles does, whatever it keeps them in."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from treadle.graph.errors import InvalidInput
from treadle.graph.profiles.parse import shaped
from treadle.graph.profiles.resolved import Profile
from treadle.storage.profiles import ProfileStore

from ..graph.profiles.documents import document

NO_IDS = [
    ("", "agent.profile_id_empty"),
    (" ", "agent.profile_id_empty"),
    ("x" * 129, "agent.profile_id_too_long"),
    ("../x", "agent.profile_id_invalid"),
    ("a/b", "agent.profile_id_invalid"),
    ("a\\b", "agent.profile_id_invalid"),
    ("a\0", "agent.profile_id_invalid"),
    ("A", "agent.profile_id_invalid"),
    (".", "agent.profile_id_invalid"),
    ("\ud800", "agent.profile_id_invalid"),
]


def made(
    profile_id: str = "mine", changes: Mapping[str, object] | None = None, *, description: str | None = None
) -> Profile:
    """The built-in profile under another id, its values not checked; `changes` are by path."""
    own = {"id": profile_id, "displayName": profile_id.title(), "description": description}
    return shaped(document({**own, **(changes or {})}))


class ProfileStoreContract:
    """A subclass gives `store`: empty."""

    def test_a_profile_comes_back_as_it_was(self, store: ProfileStore) -> None:
        mine = made(changes={"instructions.agentSystemPrompt": "Écris.\n日本 🙂", "tools.maxRounds": 10**30})

        store.put(mine)

        assert store.get("mine") == mine
        assert store.get("other") is None

    def test_the_last_one_of_an_id_counts(self, store: ProfileStore) -> None:
        store.put(made(description="old"))
        store.put(made("other"))
        store.put(made(description="new"))

        assert store.get("mine") == made(description="new")
        assert store.get("other") == made("other")

    def test_one_that_was_removed_is_gone(self, store: ProfileStore) -> None:
        store.put(made())
        store.put(made("other"))

        assert [store.remove("mine"), store.remove("mine")] == [True, False]
        assert (store.get("mine"), store.get("other")) == (None, made("other"))

    @pytest.mark.parametrize(("profile_id", "code"), NO_IDS)
    def test_what_is_no_id_names_nothing(self, store: ProfileStore, profile_id: str, code: str) -> None:
        for use in (store.get, store.remove):
            with pytest.raises(InvalidInput) as refused:
                use(profile_id)
            assert refused.value.error_code == code

    def test_an_id_is_trimmed(self, store: ProfileStore) -> None:
        store.put(made())

        assert store.get(" mine\n") == made()
