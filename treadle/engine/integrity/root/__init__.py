"""A data root as a whole: what a crash left behind or somebody damaged, and the repairs that lose nothing."""
