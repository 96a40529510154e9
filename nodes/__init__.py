"""The steps of a run, one a room."""
