"""The files of a run, one store a room."""
