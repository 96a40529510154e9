"""Thin shells that carry provider bytes over the network."""
