"""Faults from the field, each a JSON file: given, run for real, and compared with what is expected."""
