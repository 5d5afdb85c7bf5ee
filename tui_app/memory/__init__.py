"""What outlives a session: the context board of a repository and branch, and who writes it."""
