"""What a case may expect, one subject a room: each key has a check that yields what is wrong, in words."""
