"""Summaries written by a model, by extraction, or as a plain marker."""
