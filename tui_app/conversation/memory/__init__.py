"""What is remembered across the sessions of a repository."""
