"""A run's past: what changed between two of its moments, and going back to one."""
