"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

# tests judge what is done, never how long it takes
settings.register_profile("plain", deadline=None, max_examples=30)
settings.register_profile("whole", deadline=None)  # for the whole gate: pytest --hypothesis-profile=whole
settings.load_profile("plain")
