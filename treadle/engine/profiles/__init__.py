"""Stored profiles as callers use them: chosen for a run, kept, and diagnosed."""
