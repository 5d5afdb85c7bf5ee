"""Databases that store sessions: SQLite or PostgreSQL."""
