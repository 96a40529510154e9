"""One kind of case a room: `KEYS`, what its `given` may hold, and `run`, which does it for real and says what it saw."""
