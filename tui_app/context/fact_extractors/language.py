"""Paragraphs and sentences of what somebody wrote.

They are never reworded: all that happens to them is that runs of white space become one space.
"""

import re
from collections.abc import Iterator

LONGEST_SENTENCE = 1_200
"""Characters; a longer run without an end is pasted material, not a sentence somebody meant as a rule."""

_FENCE = re.compile(r"^\s{0,8}(?:```|~~~)")
_BULLET = re.compile(r"^(?:[-*+•–]|\d{1,3}[.)]|[a-z][.)]|#{1,6})\s+(?:\[[ xX]\]\s+)?")
_END = re.compile(r"(?<=[.!?…])[\"')\]]{0,3}\s+(?=[^\s])|(?<=[。！？；])")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|z\.B|bzw|d\.h|p\.ex|Nr|No|approx)\.|^\d{1,3}\.)$")
_CODE = re.compile(
    r"[;{}]$|^\w*(?:Error|Exception)\b:|^(?:throw|return|const|let|var|def|func|class) \S|:\d{1,6}:\d"
    r"|^/?[\w./-]+:\d{1,6}\b"
)
_REPORTED = re.compile(
    r"(?i:(?:module|package|command|file|variable)\b[\w ,-]{0,40} not found: |failed to \w+[^.:]{0,60}: )"
    r"|(?:\w+ )?(?:[Ee]rror|[Ee]xception|ERROR|FATAL|fatal|panic): |\d{1,6} {1,4}[-+*#] "
)
"""``Warning:`` is no mark of one: people warn as well."""
_MARKED = re.compile(r"`[^`]{1,200}`")
_SPACE = re.compile(r"\s+")
_EMPHASIS = re.compile(r"(`[^`\n]{0,300}`)|\*\*(?=\S)|(?<=\S)\*\*")
"""Code first: what looks like a mark in it is code."""


def paragraphs(text: str) -> Iterator[str]:
    """Yield the prose lines of a text: fenced code left out, hard-wrapped lines joined, bullets removed.

    Args:
        text: What somebody wrote.

    Yields:
        Lines without leading bullet or number, white space normalised.
    """
    fenced = False
    buffer: list[str] = []
    for raw in text.splitlines():
        if _FENCE.match(raw):
            fenced = not fenced
            continue
        line = _SPACE.sub(" ", raw).strip()
        if fenced or not line:
            yield from _flush(buffer)
        elif buffer and _continues(buffer[-1], line):
            buffer.append(line)
        else:
            yield from _flush(buffer)
            buffer.append(_BULLET.sub("", line))
    yield from _flush(buffer)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, verbatim but for white space.

    Args:
        text: What somebody wrote; code in fences is passed over.

    Yields:
        Sentences of at most ``LONGEST_SENTENCE`` characters; longer runs are pasted data and left out.
    """
    for paragraph in paragraphs(text):
        start = 0
        for match in _END.finditer(paragraph):
            if _ABBREVIATION.search(paragraph[max(start, match.start() - 8) : match.start()]):
                continue
            yield from _short(paragraph[start : match.end()])
            start = match.end()
        yield from _short(paragraph[start:])


def looks_pasted(line: str) -> bool:
    """Whether a line is program output or code rather than prose: few letters, or marks of a log or diff."""
    if line.startswith(("$ ", "> ", "➜", "at ", 'File "', "| ", "+ ", "├", "│", "└", "<", "{", "import ")):
        return True
    sample = _MARKED.sub("", line[:300])
    if _CODE.search(sample):
        return True
    letters = sum(char.isalpha() or char in " _-,." for char in sample)
    return letters < 0.6 * len(sample)


def reads_reported(line: str) -> bool:
    """Whether a line is a program's report, or the line of a diff with its number, though worded as prose."""
    return _REPORTED.match(line) is not None


def unmarked(text: str) -> str:
    """The text without marks of emphasis, which say nothing once a line stands alone.

    Where one has no counterpart it may be anything, and all stay.
    """
    marks = sum(match[1] is None for match in _EMPHASIS.finditer(text))
    return text if marks % 2 else _EMPHASIS.sub(_code_of, text)


def _code_of(match: re.Match[str]) -> str:
    return match[1] or ""


def one_line(text: str) -> str:
    """The text with every run of white space as one space."""
    return _SPACE.sub(" ", text).strip()


def clip(text: str, limit: int) -> str:
    """Cut a line at a word boundary and say how much is missing.

    Args:
        text: One line.
        limit: Characters to keep at most.

    Returns:
        The text itself when it is short enough, or when the mark is no shorter than what it stands for; else
        its head with ``…[N characters omitted]…``. A word is never cut in two, so no name appears that was
        not in the source.
    """
    if len(text) <= limit:
        return text
    head = text[: max(0, limit) + 1]
    space = max(head.rfind(" "), head.rfind("\n"))
    kept = head[:space].rstrip() if space > 0 else ""
    shown = f"{kept} …[{len(text) - len(kept)} characters omitted]…".strip()
    return shown if len(shown) < len(text) else text


def _continues(previous: str, line: str) -> bool:
    """Whether a line goes on with the sentence of the line before, as in hard-wrapped text."""
    return (
        len(previous) >= 50
        and line[0].islower()
        and previous[-1] not in ".!?:;。！？"
        and not _BULLET.match(line)
    )


def _flush(buffer: list[str]) -> Iterator[str]:
    if buffer:
        yield " ".join(buffer)
        buffer.clear()


def _short(sentence: str) -> Iterator[str]:
    stripped = sentence.strip()
    if 0 < len(stripped) <= LONGEST_SENTENCE:
        yield stripped
