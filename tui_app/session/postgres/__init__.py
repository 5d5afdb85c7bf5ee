"""Sessions in a PostgreSQL database: several machines, one writer for each session."""
