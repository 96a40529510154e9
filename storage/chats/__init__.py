"""SillyTavern chat files: read by window, searched, and written into by the save contract."""
