"""What chat completions need beside their format: the replayed turn, the stream."""
