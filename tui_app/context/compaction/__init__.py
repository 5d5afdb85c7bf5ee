"""Compactions: plan, write, check and apply summaries of old history."""
