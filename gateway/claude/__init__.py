"""What Claude's Messages need beside their format: blocks, turns, settings, the cache, answers, the stream."""
