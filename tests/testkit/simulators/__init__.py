"""Tests of the provider simulators."""
