"""Where sessions are kept: SQLite or PostgreSQL."""
