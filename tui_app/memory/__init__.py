"""Memory across sessions: the context board of a repository and branch, and how it is filled."""
