"""Numbers of the log as people write them: ``#12``, or ``12``."""

_DIGITS = 18
"""So many digits no log has; Python itself refuses to read some thousands of them."""


def log_number(text: str) -> int | None:
    """The number a text stands for; None where it is none, or none that a log could have.

    Args:
        text: What was written, with or without the sign and blanks around it.
    """
    digits = text.strip().removeprefix("#")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _DIGITS:
        return None
    return int(digits)
