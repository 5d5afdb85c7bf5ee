"""The agent view: messages, where it may be cut, and how it is rewritten."""
