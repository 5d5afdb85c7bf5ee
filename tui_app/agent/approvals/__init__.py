"""Deciding whether a call of a tool may go ahead: pure functions over what it would do and the rules."""
