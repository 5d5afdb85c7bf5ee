"""The statements of a summary: sentences, lines of lists and rows of tables, with what stands above them."""

import re
from collections.abc import Iterator

from tui_app.context.user_text import words
from tui_app.records import frozen

_CODE = re.compile(r"`([^`\n]{1,300})`")
_URL = re.compile(r"https?://[^\s<>\"'`)\]}]+")
_SPACED = r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
"""A letter or digit of a script that puts spaces around names."""
_PATH = re.compile(
    rf"(?<!{_SPACED})(?<![/@.-])(?:~|\.{{1,2}})?/?(?:(?:{_SPACED}|[.@+-])+/)+(?:{_SPACED}|[.@+-])*"
    rf"|(?<!{_SPACED})(?<![/@.-])(?:{_SPACED}|[@+-])(?:{_SPACED}|[.@+-])*\.[A-Za-z][A-Za-z0-9_]{{0,7}}(?!{_SPACED}|[(/])"
)
_SHAPED = re.compile(
    r"(?a)(?<![\w/.-])(?:[a-z0-9]+(?:_[a-z0-9]+)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z]+[0-9]*[A-Z]\w*"
    r"|(?:[A-Z][a-z0-9]+){2,}|\w+_\w+)(?:\(\))?(?![\w/])|(?<![\w/])@[\w-]+/[\w.-]*\w"
    r"|(?<![\w-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}(?![\w-])"
)
_COMMAND = re.compile(
    r"(?m)^\s*(?:[-*] )?\$ (.+)$|(?<![\w/.-])((?:npm|pnpm|yarn|npx|cargo|docker|kubectl|terraform|pip"
    r"|poetry|mvn"
    r"|gradle)(?: (?:run|exec))? (?!and\b|or\b|is\b|was\b|has\b)[a-z][\w:.-]*)"
)
"""What is a command without code marks around it."""
_ENDINGS = words(
    "py js ts tsx jsx mjs cjs rs go java kt c h cc cpp hpp cs rb php swift scala sh bash zsh ps1 sql html "
    "css scss json jsonl yaml yml toml ini cfg conf env lock txt md rst csv tsv xml svg png jpg gif pdf "
    "mdx less sass adoc tex zig sol clj "
    "log diff patch ipynb vue svelte astro dart lua pl r ex exs erl hs ml nix tf proto graphql gradle "
    "cmake mk bat"
)
_WORDS = words("e.g i.e node.js next.js vue.js three.js express.js d3.js asp.net")
_NUMBER = re.compile(r"(?<![\w#./:-])[-+]?\d+(?:[.,]\d+)*(?![\w/]*[A-Za-z_]{3})|(?<=[:=#L])\d+(?!\w)")
_GROUPED = re.compile(r"[,'’\u202f\u00a0](?=\d{3}(?!\d))")
_HANDLE = re.compile(r"(?i)(?<!\bpr )(?<!issue )(?<!request )(?<!ticket )#-?\d{1,12}")
_TEENS = [
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_UNITS = ["one", *_TEENS[:8]]
_NUMBER_WORDS = {
    **{word: number for number, word in enumerate(_TEENS, 2)},
    **{word: 10 * number for number, word in enumerate(_TENS, 2)},
    **{f"{ten}-{one}": 10 * i + j for i, ten in enumerate(_TENS, 2) for j, one in enumerate(_UNITS, 1)},
    "dozen": 12,
    "two dozen": 24,
}
_WORDED = re.compile(
    rf"(?i)(?<![\w-])({'|'.join(sorted(_NUMBER_WORDS, key=len, reverse=True))})(?![\w-])"
    r"(?=\s+(?:\w+\s+){0,2}(?:tests?|failures?|errors?|cases|specs|pass\w*|fail\w*))"
)


@frozen
class Name:
    """A name where it stands in a statement."""

    text: str
    start: int
    end: int
    is_path: bool = False


def names_in(text: str) -> list[Name]:
    """The names of a statement, in order: what stands in code marks, and what has the form of code."""
    found: list[Name] = []
    taken = text
    for pattern in (_CODE, _COMMAND, _URL, _PATH, _SHAPED):
        for match in pattern.finditer(taken):
            name = (match.lastindex and match[match.lastindex]) or match[0].rstrip(".:")
            if not name.strip() or (pattern is _PATH and not _is_path(name)):
                continue
            is_path = pattern is _PATH or (pattern is _CODE and _is_path(name))
            found.append(Name(name, match.start(), match.start() + len(match[0]), is_path))
            taken = taken[: match.start()] + "\x00" * len(match[0]) + taken[match.end() :]
    return sorted(found, key=lambda name: name.start)


def _is_path(name: str) -> bool:
    if " " in name or name.casefold().rstrip(".") in _WORDS or name.startswith(("http:", "https:")):
        return False
    last = re.sub(r"(?::\d+)+$", "", name).rpartition("/")[2]
    ending = last.rpartition(".")[2].casefold() if "." in last.strip(".") else ""
    if ending in _ENDINGS:
        return True
    return "/" in name and (
        name.startswith(("/", "./", "../", "~/")) or name.endswith("/") or name.count("/") > 1
    )


def without_names(text: str, names: list[Name]) -> str:
    """A statement with each name blanked out, every other character where it was."""
    for name in names:
        text = text[: name.start] + "\x00" * (name.end - name.start) + text[name.end :]
    return text


def numbers_in(text: str) -> Iterator[tuple[str, int, int]]:
    """The numbers of a statement with their places; handles of messages are none.

    Yields:
        Digits without marks between groups of three, and where they stand.
    """
    blanked = _HANDLE.sub(lambda match: " " * len(match[0]), text)
    for match in _NUMBER.finditer(blanked):
        number, start = _GROUPED.sub("", match[0].lstrip("+-")), match.start()
        for piece in number.split(","):
            yield piece, start, match.end()
    for match in _WORDED.finditer(text):
        yield str(_NUMBER_WORDS[match[1].lower()]), match.start(), match.end()


# Statements: sentences, lines of lists and rows of tables.

HEADING = re.compile(
    r"^\s{0,3}(?:#{1,6}\s+(?P<marked>.+?)\s*#*|\*\*(?P<bold>[^*]{2,80})\*\*:?"
    r"|\d{1,2}[.)]\s+(?P<numbered>[^\W\d_a-z][^.!?`\"|]{2,60}):|(?P<plain>[^\W\d_][^.!?`\"|]{2,60}:))\s*$"
)
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_BULLET = re.compile(r"^\s*(?:[-*+•–]|\d{1,3}[.)])\s+(?:\[[ xX~-]\]\s+)?")
_OPEN_BOX = re.compile(r"\[[ ~-]\]")
_RULER = re.compile(r"^\s*\|?[\s:|-]+\|?\s*$")
_END = re.compile(
    r"(?<=[.!?…])[\"'”’)\]*_]{0,3}\s+(?=[^\s\d(a-z])|(?<=[。！？])|(?<=;)\s+(?!(?:that|this|it|which|das|dies|cela|c['’]|eso|esto|это)\b)"
)
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|z\.B|bzw|d\.h|p\.ex|Nr|No|approx)\.$")
_WRAPS = 40
"""Characters from which on a line may have been wrapped; shorter ones are a list without bullets."""
_ENDED = re.compile(r"[.!?…:。！？：|][\"'”’)\]*_]{0,3}\s*$")


@frozen
class Statement:
    """One sentence of a summary."""

    text: str
    end: int
    """Offset behind it in the summary, where a mark belongs."""
    heading: str = ""
    """The heading it stands under."""
    label: str = ""
    """The line above its list, such as ``Files deleted:``, or the head of its column."""


def statements(summary: str) -> Iterator[Statement]:
    """Take a summary apart; code in fences is passed over.

    Args:
        summary: Notes in Markdown or plain text, in any language.

    Yields:
        Statements in order.
    """
    heading = label = ""
    depth, fenced, offset = -1, False, 0
    for line, length in _lines(summary):
        bare = line.strip()
        start, offset = offset, offset + length
        if _FENCE.match(line):
            fenced = not fenced
        if fenced or not bare or _FENCE.match(line) or _RULER.match(line):
            continue
        indent, bullet = len(line) - len(line.lstrip()), _BULLET.match(line)
        if indent <= depth or (depth < 0 and label and not bullet and not bare.startswith("|")):
            label, depth = "", -1
        match = HEADING.match(line)
        if match and match["plain"] and not bullet:
            label, depth = bare, -1
            continue
        if match and not match["plain"] and (match["numbered"] or not bullet):
            heading, label, depth = match[match.lastgroup or 0].strip(" :*"), "", -1
            continue
        begin = bullet.end() if bullet else indent
        above = f"{heading} (to do)" if bullet and _OPEN_BOX.search(bullet[0]) else heading
        for first, last in _sentences(line, begin):
            yield Statement(line[first:last], start + last, above, label)
        if bare.endswith((":", "：")):
            label, depth = bare, indent if bullet else -1


def _lines(summary: str) -> Iterator[tuple[str, int]]:
    """Lines without their ends, wrapped ones joined by a space, each with the characters it takes."""
    held = ""
    for line in summary.splitlines(keepends=True):
        if held and _wraps(held, line):
            held = f"{held.rstrip()}{' ' * (len(held) - len(held.rstrip()))}{line}"
            continue
        if held:
            yield held.rstrip("\r\n"), len(held)
        held = line
    if held:
        yield held.rstrip("\r\n"), len(held)


def _wraps(line: str, following: str) -> bool:
    if len(line) < _WRAPS or HEADING.match(line.rstrip()) or _FENCE.match(line) or "|" in line:
        return False
    first = following.lstrip(" \t")[:1]
    goes_on = first.isalpha() and not first.isupper()
    return goes_on and not _ENDED.search(line) and not _BULLET.match(following)


def _sentences(line: str, start: int) -> Iterator[tuple[int, int]]:
    if line.lstrip().startswith("|"):
        yield start, len(line.rstrip())
        return
    for match in _END.finditer(line, start):
        if not _ABBREVIATION.search(line[start : match.start()]):
            yield start, match.end() - len(match[0]) + len(match[0].rstrip())
            start = match.end()
    if line[start:].strip():
        yield start, len(line.rstrip())
