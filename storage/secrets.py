"""Where keys come from: the environment, by the name that a reference gives."""

from __future__ import annotations

import os

PREFIX = "env:"


class EnvironmentSecrets:
    """References are `env:NAME`; the value never leaves this object but as the answer to `get`."""

    def get(self, reference: str) -> str | None:
        """The variable's value; None where it is unset or empty, or the reference is of another kind."""
        if not reference.startswith(PREFIX):
            return None
        return os.environ.get(reference.removeprefix(PREFIX)) or None
