"""The rules that the traps guard, each switched off in one line or a few, and the process that runs tests without them."""
