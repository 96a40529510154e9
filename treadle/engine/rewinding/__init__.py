"""A run's past: what it changed, going back to where it stood, and a new run that stands where it stood."""
