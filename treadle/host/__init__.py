"""How people and programs reach a run."""
