"""Consent before a tool runs: questions, modes, guards."""
