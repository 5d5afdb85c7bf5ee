"""Errors whose words are for the user."""


class Refusal(Exception):
    """What was asked for is not done; the text tells the user why, in sentences."""
