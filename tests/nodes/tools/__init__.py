"""Tests of the tools, one a room."""
