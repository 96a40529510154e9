"""Whether what is on disk is whole: one run against its own journal, and a data root as a whole."""
