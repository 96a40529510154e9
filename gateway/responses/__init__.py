"""What OpenAI's Responses need beside their format: items, events, settings, sessions over a WebSocket."""
