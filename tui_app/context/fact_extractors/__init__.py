"""Extractors of facts: each module knows one kind, and reads nothing but a ``Reading``."""
