"""Turns: prompts, the queue and goals."""
