"""Instructions, skills and agents that a project brings along."""
