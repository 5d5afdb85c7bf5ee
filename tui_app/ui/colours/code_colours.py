"""Syntax highlighting of code and diffs."""

from collections.abc import Mapping, Sequence
from threading import Timer

from rich.text import Text
from textual.content import Content, Span

from tui_app.ui.colours.palette import Palette, Tone

_MOST_CHARS = 8_000
"""Longer code is not highlighted: lexers use regular expressions, and the text is untrusted."""

_MOST_LINE = 500


CODE_TONES: Mapping[str, Tone] = {
    "keyword": Tone.KEYWORD, "string": Tone.STRING, "number": Tone.NUMBER, "comment": Tone.COMMENT,
    "added": Tone.ADDED, "removed": Tone.REMOVED,
}  # fmt: skip
"""Kinds of code that have a colour."""


def coloured(code: str, language: str, palette: Palette) -> Text:
    """Return clean code with styles for highlighted parts."""
    text, at, lines = Text(code, end=""), 0, code.split("\n")
    for line, spans in zip(lines, code_spans(language, lines), strict=True):
        for start, stop, kind in spans:
            text.stylize(palette.accent_of(CODE_TONES[str(kind)]), at + start, at + stop)
        at += len(line) + 1
    return text


def code_spans(language: str, lines: Sequence[str]) -> list[Sequence[Span]]:
    """Return the spans to highlight, line by line; none for an unknown language.

    Args:
        language: Its name; empty if unknown.
        lines: Clean consecutive lines.
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
    # A token may have several lines.
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
"""Lexers by file extension; looking one up by a complete file name would search all installed ones."""


def language_of(path: str) -> str:
    """Return the language of a file by its name; empty if unknown."""
    name = path.rpartition("/")[2].lower()
    special = {"makefile": "make", "dockerfile": "docker"}.get(name, "")
    return special or _LANGUAGES.get(name.rpartition(".")[2] if "." in name else "", "")


_LOADED: set[str] = set()

_DELAY_S = 1.0
"""Seconds to wait, so that the current painting is not delayed by loading a lexer."""


def preload_colours(path: str) -> None:
    """Load the lexer for a file in a thread, because its code is likely to be shown soon."""
    language = language_of(path)
    if language and language not in _LOADED:
        _LOADED.add(language)
        timer = Timer(_DELAY_S, code_spans, (language, ["x"]))
        timer.daemon = True
        timer.start()
