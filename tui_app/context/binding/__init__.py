"""Binding: the source of each statement in a model's notes, and the ledger's knowledge about it."""
