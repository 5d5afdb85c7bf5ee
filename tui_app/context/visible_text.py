"""Text about which a person decides, shown so that nothing in it can hide."""

import unicodedata


def visible(text: str) -> str:
    r"""A line in which every sign that a screen would hide or act on is written out, as ``\x1b``.

    Removing it, as elsewhere, would let a command look like another one.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(sign if _is_shown(sign) else _written_out(sign) for sign in text)


def _is_shown(sign: str) -> bool:
    return sign == " " or (sign.isprintable() and not unicodedata.category(sign).startswith(("C", "Z")))


def _written_out(sign: str) -> str:
    if sign == "\t":
        return "    "
    return sign.encode("unicode_escape", "surrogatepass").decode("ascii")
