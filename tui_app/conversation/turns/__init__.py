"""Turns: prompts, the queue, budgets and goals."""
