"""Audits and simulations of recorded conversations."""
