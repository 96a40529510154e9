"""The tools a model may call, one a room."""
