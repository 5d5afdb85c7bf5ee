"""Memory across the sessions of a repository."""
