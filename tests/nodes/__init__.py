"""Tests of the steps, one a room."""
