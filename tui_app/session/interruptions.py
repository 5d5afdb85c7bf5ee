"""Marks that other programs write in the person's name when an answer was stopped: the model reads them."""

import re

INTERRUPTED = "Interrupted by the person"
"""What a person is shown of one."""
_MARK = re.compile(r"\s*\[Request interrupted by user[^\]\n]{0,40}\]\s*")


def is_interruption(text: str) -> bool:
    """Whether a prompt is such a mark, and nothing that anybody typed."""
    return _MARK.fullmatch(text) is not None
