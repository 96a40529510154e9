"""The traps of the gateway: faults that real systems have, each a test that carries its number."""

from __future__ import annotations

import pytest


def trap(*numbers: int) -> pytest.MarkDecorator:
    return pytest.mark.trap(*numbers)
