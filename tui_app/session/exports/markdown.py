"""Text as Markdown that nothing inside can break out of."""

import re

_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)$")


def inline(text: str) -> str:
    """One line in which no character means anything to Markdown."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """One line of code."""
    return f"`{' '.join(text.replace('`', chr(39)).split()) or '?'}`"


def quote(text: str) -> str:
    """A block quote."""
    return "\n".join(f"> {line}".rstrip() for line in text.strip("\n").split("\n"))


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any inside."""
    text = text.strip("\n")
    runs = [len(run) for run in re.findall(r"`+", text)]
    fence = "`" * max(3, max(runs, default=0) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def contained(text: str) -> str:
    """Keep an answer's Markdown, but close its open fence and take raw HTML at the start of lines."""
    lines: list[str] = []
    fence = ""
    for raw in text.split("\n"):
        line = raw
        mark = _FENCE.match(line)
        if fence:
            if mark and mark["mark"].startswith(fence) and not mark["info"].strip():
                fence = ""
        elif mark:
            fence = mark["mark"]
        elif line.lstrip().startswith("<"):
            line = line.replace("<", "\\<", 1)
        lines.append(line)
    return "\n".join([*lines, fence] if fence else lines)
