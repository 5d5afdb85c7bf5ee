"""Foreign text without what a terminal would act on, for files, prompts and the log."""

import re
import unicodedata

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,16}[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[@-Z\\-_])")
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def without_sequences(text: str) -> str:
    """Drop terminal sequences as a whole: their parameters would be noise."""
    return _ESCAPES.sub("", text)


def plain_text(text: str) -> str:
    """Drop terminal sequences, control characters, direction overrides and half surrogates."""
    text = without_sequences(text).replace("\r\n", "\n").replace("\r", "\n")
    if text.isprintable():
        return text
    return "".join(
        c for c in text if c in "\n\t" or (unicodedata.category(c) not in ("Cc", "Cs") and c not in _BIDI)
    )
