"""Text about which a person decides, shown so that nothing in it can hide."""

import re
import unicodedata

UNSEEN = re.compile(
    r"[\xad\u034f\u200d\u115f\u1160\u180b-\u180f\u2061-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f\uffa0\ufff9-\ufffb"
    r"\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff]"
)
"""Signs without a shape of their own: they hide words, or change the width of what stands before them."""


def visible(text: str) -> str:
    r"""A line in which every sign that a screen would hide or act on is written out, as ``\x1b``.

    Removing it, as elsewhere, would let a command look like another one.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(sign if _is_shown(sign) else _written_out(sign) for sign in text)


def _is_shown(sign: str) -> bool:
    if sign == " ":
        return True
    hidden = unicodedata.category(sign).startswith(("C", "Z")) or UNSEEN.match(sign)
    return sign.isprintable() and not hidden


def _written_out(sign: str) -> str:
    if sign == "\t":
        return "    "
    return sign.encode("unicode_escape", "surrogatepass").decode("ascii")
