"""MCP servers from the user's own settings file: their tools offered to runs, and called."""
