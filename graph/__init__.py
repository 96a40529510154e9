"""The vocabulary of a run, and the machine that it follows."""
