"""Canonical words to provider bytes, and back."""
