"""Colours source code with the tones of the theme, so that it is legible on light and dark alike."""

from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.text import Text

from tui_app.ui.widgets.palette import Palette, Tone

_MAX_CHARS = 8_000
"""Longer code stays uncoloured: lexers are regular expressions, and the text is not trusted."""
_TONES: dict[tuple[str, ...], Tone] = {
    ("Comment",): Tone.COMMENT,
    ("Keyword",): Tone.KEYWORD,
    ("Operator", "Word"): Tone.KEYWORD,
    ("Literal", "String"): Tone.STRING,
    ("Literal", "Number"): Tone.NUMBER,
    ("Name", "Function"): Tone.NAME,
    ("Name", "Class"): Tone.NAME,
    ("Name", "Builtin"): Tone.NAME,
    ("Name", "Decorator"): Tone.NAME,
    ("Name", "Tag"): Tone.KEYWORD,
    ("Generic", "Inserted"): Tone.ADDED,
    ("Generic", "Deleted"): Tone.REMOVED,
    ("Generic", "Heading"): Tone.NAME,
}


def colour_code(code: str, language: str, palette: Palette) -> Text:
    """Return code as text with one style per token.

    Args:
        code: Clean source code.
        language: Name as given after the fence; unknown or empty leaves the code in one tone.
        palette: Where the styles come from.
    """
    plain = Text(code, style=palette.accent_of(Tone.TEXT), end="")
    if not language or len(code) > _MAX_CHARS:
        return plain
    styles: dict[tuple[str, ...], Style] = {kind: palette.accent_of(tone) for kind, tone in _TONES.items()}
    syntax = Syntax("", language, theme=ANSISyntaxTheme(styles))
    coloured = syntax.highlight(code)
    coloured.rstrip()
    # Lexers add or drop line ends at either side; a text of other length would shift every line break.
    return coloured if coloured.plain == code.rstrip() else plain
