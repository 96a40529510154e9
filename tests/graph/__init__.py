"""Tests of the vocabulary and of the machine."""
