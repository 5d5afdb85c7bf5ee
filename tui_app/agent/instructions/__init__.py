"""Instructions, skills and agents of a project."""
