"""What the tests of `engine.profiles` share: profiles to save, presets that are there, files put in by hand."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest

from treadle.engine.services import Services
from treadle.graph.errors import TreadleError
from treadle.graph.jsontext import Json

from ...graph.profiles.documents import document

PRESETS = {("openai", "Tea"), ("openai", "Coffee"), ("kobold", "Old"), ("koboldhorde", "New")}


def preset_exists(api_id: str, name: str) -> bool:
    return (api_id, name) in PRESETS


class KeptPresets:
    """A `PresetStore` of empty presets."""

    def get(self, api_id: str, name: str) -> Json | None:
        return {} if preset_exists(api_id, name) else None


def mine(changes: dict[str, object] | None = None, profile_id: str = "mine") -> dict[str, Json]:
    return document({"id": profile_id, "displayName": "Mine", **(changes or {})})


def by_ref(api: str, name: str, **more: Json) -> dict[str, object]:
    return {"preset": {"mode": "ref", "ref": {"apiId": api, "name": name}, **more}}


def put(services: Services, name: str, text: str) -> None:
    services.profiles.folder.mkdir(parents=True, exist_ok=True)
    (services.profiles.folder / name).write_text(text, "utf-8")


async def code_of(asked: Awaitable[object]) -> str:
    with pytest.raises(TreadleError) as refused:
        await asked
    return refused.value.error_code
