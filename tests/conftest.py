"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("treadle", deadline=None)  # tests judge what is done, never how long it takes
settings.load_profile("treadle")
