"""The agent of a conversation and its sub-agents."""
