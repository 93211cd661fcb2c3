"""One voice, one call."""
