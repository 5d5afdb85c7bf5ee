"""Modal screens above the chat."""
