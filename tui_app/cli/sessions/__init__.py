"""Commands that work with sessions."""
