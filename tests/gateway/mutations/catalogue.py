"""All rules switched off, format by format."""

from __future__ import annotations

from . import chat, claude, gemini, responses, shared
from .mutation import Mutation

MUTATIONS: tuple[Mutation, ...] = (
    *gemini.MUTATIONS,
    *claude.MUTATIONS,
    *chat.MUTATIONS,
    *responses.MUTATIONS,
    *shared.MUTATIONS,
)
