"""Keywords, strings, numbers and comments in the lines of a diff."""

from collections.abc import Mapping, Sequence
from threading import Timer

from rich.text import Text
from textual.content import Content, Span

from tui_app.ui.colours.palette import Palette, Tone

_MOST_CHARS = 8_000
"""Longer code stays uncoloured: lexers are regular expressions, and the text is not trusted."""

_MOST_LINE = 500


CODE_TONES: Mapping[str, Tone] = {
    "keyword": Tone.KEYWORD, "string": Tone.STRING, "number": Tone.NUMBER, "comment": Tone.COMMENT,
    "added": Tone.ADDED, "removed": Tone.REMOVED,
}  # fmt: skip
"""The kinds of code that have a colour of their own."""


def coloured(code: str, language: str, palette: Palette) -> Text:
    """Clean code with a style for what stands out in it."""
    text, at, lines = Text(code, end=""), 0, code.split("\n")
    for line, spans in zip(lines, code_spans(language, lines), strict=True):
        for start, stop, kind in spans:
            text.stylize(palette.accent_of(CODE_TONES[str(kind)]), at + start, at + stop)
        at += len(line) + 1
    return text


def code_spans(language: str, lines: Sequence[str]) -> list[Sequence[Span]]:
    """Find what to colour in some lines of code, line by line; nothing in those of an unknown language.

    Args:
        language: Its name; empty where it is not known.
        lines: Clean lines that follow each other.
    """
    too_long = sum(map(len, lines)) > _MOST_CHARS or any(len(line) > _MOST_LINE for line in lines)
    if too_long or not language:
        return [[] for _ in lines]
    from rich.syntax import Syntax

    code, found, lexer = "\n".join(lines), list[Span](), Syntax("", language).lexer
    for start, token, text in lexer.get_tokens_unprocessed(code) if lexer is not None else ():
        kind = next((kind for family, kind in _FAMILIES if str(token).startswith(family)), None)
        if kind is not None and text:
            found.append(Span(start, start + len(text), kind))
    # A text of several lines is one token.
    return [line.spans for line in Content(code, spans=found).split(allow_blank=True)]


_FAMILIES: tuple[tuple[str, str], ...] = (
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


def preload_colours(path: str) -> None:
    """Load, in a thread, what code of a file needs that is likely to be shown later."""
    language = language_of(path)
    if language and language not in _LOADED:
        _LOADED.add(language)
        timer = Timer(_BEHIND_S, code_spans, (language, ["x"]))
        timer.daemon = True
        timer.start()
