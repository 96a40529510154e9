"""Prompts made of frozen inputs and a preset: the question, the request that answers it, and the plain assembler."""
