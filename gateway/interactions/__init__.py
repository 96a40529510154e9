"""What Gemini's Interactions need beside their format: input, media, settings."""
