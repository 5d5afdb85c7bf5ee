"""What the words of a piece of code are, for the lines of a diff: keywords, strings, numbers, comments.

Lexers are slow to import: nothing is coloured before the first frame. More than a screen is coloured in a
thread.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from threading import Timer
from typing import Literal, NamedTuple, get_args

CodeKind = Literal["keyword", "string", "number", "comment"]
CODE_KINDS: tuple[CodeKind, ...] = get_args(CodeKind)
_MOST_CHARS = 8_000
"""Longer code stays uncoloured: lexers are regular expressions, and the text is not trusted."""
_MOST_LINE = 500


class CodeSpan(NamedTuple):
    """A part of a text that has a colour of its own."""

    start: int
    stop: int
    kind: CodeKind


def code_spans(path: str, lines: Sequence[str]) -> list[list[CodeSpan]]:
    """Find what to colour in some lines of a file, line by line; nothing in those of an unknown language.

    Args:
        path: Name of the file, which says what language it is in.
        lines: Clean lines that follow each other.
    """
    found: list[list[CodeSpan]] = [[] for _ in lines]
    too_long = sum(map(len, lines)) > _MOST_CHARS or any(len(line) > _MOST_LINE for line in lines)
    if too_long or not language_of(path):
        return found
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    for start, stop, kind in _tokens(path, "\n".join(lines)):
        # A text of several lines is one token.
        row = bisect_right(starts, start) - 1
        while row < len(lines) and starts[row] < stop:
            first, last = max(start, starts[row]), min(stop, starts[row] + len(lines[row]))
            if first < last:
                found[row].append(CodeSpan(first - starts[row], last - starts[row], kind))
            row += 1
    return found


_FAMILIES: tuple[tuple[str, CodeKind], ...] = (
    ("Token.Comment", "comment"),
    ("Token.Keyword", "keyword"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
)


_LANGUAGES: Mapping[str, str] = {
    "bash": "bash", "c": "c", "cc": "cpp", "cpp": "cpp", "cs": "csharp", "css": "css", "cxx": "cpp",
    "dart": "dart", "ex": "elixir", "exs": "elixir", "go": "go", "h": "c", "hpp": "cpp", "hs": "haskell",
    "html": "html", "java": "java", "js": "javascript", "json": "json", "jsx": "jsx", "kt": "kotlin",
    "lua": "lua", "mjs": "javascript", "php": "php", "pl": "perl", "py": "python", "pyi": "python",
    "r": "r", "rb": "ruby", "rs": "rust", "scala": "scala", "scss": "scss", "sh": "bash", "sql": "sql",
    "swift": "swift", "tf": "terraform", "toml": "toml", "ts": "typescript", "tsx": "tsx", "vue": "vue",
    "xml": "xml", "yaml": "yaml", "yml": "yaml", "zig": "zig", "zsh": "bash",
}  # fmt: skip
"""Lexers by the end of a file's name; asking for them by a whole name looks through all that is installed."""


def language_of(path: str) -> str:
    """The language of a file by its name; empty where it is not known."""
    name = path.rpartition("/")[2].lower()
    special = {"makefile": "make", "dockerfile": "docker"}.get(name, "")
    return special or _LANGUAGES.get(name.rpartition(".")[2] if "." in name else "", "")


_LOADED: set[str] = set()
_BEHIND_S = 1.0
"""Seconds behind what is painted now, which is not to wait for a lexer."""


def load_behind(path: str) -> None:
    """Load, in a thread, what code of a file needs that is likely to be shown later."""
    language = language_of(path)
    if language and language not in _LOADED:
        _LOADED.add(language)
        timer = Timer(_BEHIND_S, code_spans, (path, ["x"]))
        timer.daemon = True
        timer.start()


def _tokens(path: str, code: str) -> Iterator[tuple[int, int, CodeKind]]:
    from rich.syntax import Syntax

    lexer = Syntax("", language_of(path)).lexer
    for at, token, text in lexer.get_tokens_unprocessed(code) if lexer is not None else ():
        name = str(token)
        kind = next((kind for family, kind in _FAMILIES if name.startswith(family)), None)
        if kind is not None:
            yield at, at + len(text), kind
