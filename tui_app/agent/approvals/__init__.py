"""Rulings on tool calls: pure functions of what a call would do and the rules."""
