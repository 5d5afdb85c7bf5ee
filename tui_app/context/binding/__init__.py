"""Binding: where each statement of a model's notes comes from, and what the ledger knows of it."""
