"""Compactions of a conversation, automatic or manual."""
