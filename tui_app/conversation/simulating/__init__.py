"""Replaying a conversation under a policy, without any model."""
