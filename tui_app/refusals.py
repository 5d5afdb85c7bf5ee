"""Errors whose text is for the user."""


class Refusal(Exception):
    """Raised when a request is refused; the text gives the user the reason, in sentences."""
