"""Keywords, strings, numbers and comments in the lines of a diff."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from threading import Timer
from typing import Literal, NamedTuple, get_args

from rich.text import Text

from tui_app.ui.colours.palette import Palette, Tone

CodeKind = Literal["keyword", "string", "number", "comment", "added", "removed"]

CODE_KINDS: tuple[CodeKind, ...] = get_args(CodeKind)

_MOST_CHARS = 8_000
"""Longer code stays uncoloured: lexers are regular expressions, and the text is not trusted."""

_MOST_LINE = 500


class CodeSpan(NamedTuple):
    """A part of a text that has a colour of its own."""

    start: int
    stop: int
    kind: CodeKind


_CODE_TONES: Mapping[CodeKind, Tone] = {
    "keyword": Tone.KEYWORD, "string": Tone.STRING, "number": Tone.NUMBER, "comment": Tone.COMMENT,
    "added": Tone.ADDED, "removed": Tone.REMOVED,
}  # fmt: skip


def coloured(code: str, language: str, palette: Palette) -> Text:
    """Clean code with a style for what stands out in it."""
    text, at, lines = Text(code, end=""), 0, code.split("\n")
    for line, spans in zip(lines, code_spans(language, lines), strict=True):
        for start, stop, kind in spans:
            text.stylize(palette.accent_of(_CODE_TONES[kind]), at + start, at + stop)
        at += len(line) + 1
    return text


def code_spans(language: str, lines: Sequence[str]) -> list[list[CodeSpan]]:
    """Find what to colour in some lines of code, line by line; nothing in those of an unknown language.

    Args:
        language: Its name; empty where it is not known.
        lines: Clean lines that follow each other.
    """
    found: list[list[CodeSpan]] = [[] for _ in lines]
    too_long = sum(map(len, lines)) > _MOST_CHARS or any(len(line) > _MOST_LINE for line in lines)
    if too_long or not language:
        return found
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    from rich.syntax import Syntax

    lexer = Syntax("", language).lexer
    for start, token, text in lexer.get_tokens_unprocessed("\n".join(lines)) if lexer is not None else ():
        kind = next((kind for family, kind in _FAMILIES if str(token).startswith(family)), None)
        if kind is None:
            continue
        stop = start + len(text)
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
    ("Token.Name.Tag", "keyword"),
    ("Token.Generic.Inserted", "added"),
    ("Token.Generic.Deleted", "removed"),
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
        timer = Timer(_BEHIND_S, code_spans, (language, ["x"]))
        timer.daemon = True
        timer.start()
