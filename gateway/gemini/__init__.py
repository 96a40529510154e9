"""What Gemini's generateContent needs beside its format: contents and settings."""
