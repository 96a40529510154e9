"""Tests of the crash harness, and the four plays that Treadle itself is killed in."""
