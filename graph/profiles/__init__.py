"""Agent profiles: their shape, their rules, and the form that a run freezes."""
