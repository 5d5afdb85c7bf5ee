"""Model and effort of a conversation."""
