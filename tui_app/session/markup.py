"""The first line of what somebody said, as the title of a row: the words without the signs of Markdown."""

import re

_FENCE = re.compile(r"(?:```|~~~)[\w+.#-]*")
_HEADING = re.compile(r"#{1,6}\s+(?P<words>\S.*?)(?:\s+#+)?")
# Bold stands between words: a glob (`src/**/*.py`) and a power (`2**3`) are no markup.
_INLINE = re.compile(
    r"(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|(?:(?<=[\s(\[{\"'“‘–—:,;])|^)\*\*(?=[^\s*])(?P<bold>.+?)(?<=[^\s*])\*\*(?=[\s)\]}\"'”’–—:,;.!?…]|$)"
)
LOOKED_AT = 1_000
"""Characters of a line that are looked at: more than any row holds."""


def words_of(text: str) -> str:
    """The first line with any words on it, without Markdown's signs for headings, bold and code.

    What only looks like them stays: ``a*b*c``, ``__init__``, ``#12``.
    """
    lines = (line.strip() for line in text.splitlines())
    said = [line for line in lines if line]
    line = next((line for line in said if not _FENCE.fullmatch(line)), said[0] if said else "")
    shown, rest = line[:LOOKED_AT], line[LOOKED_AT:]
    heading = _HEADING.fullmatch(shown)
    return _bare(heading["words"] if heading else shown) + rest


def _bare(line: str) -> str:
    def bare(found: re.Match[str]) -> str:
        code = found["code"]
        return _bare(found["bold"]) if code is None else code.strip() or code

    return _INLINE.sub(bare, line)
