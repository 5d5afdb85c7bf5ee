"""The two views folded from the log: the agent's and the user's."""
