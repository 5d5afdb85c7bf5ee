"""Dialogues with the person: each flow asks with screens and tells the session the outcome."""
