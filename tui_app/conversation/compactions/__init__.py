"""Compactions of a conversation, by themselves or by hand."""
