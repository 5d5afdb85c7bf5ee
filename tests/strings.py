"""Lists every string a user may see, for proofreading: ``python -m tests.strings [PART OF A PATH]``.

Prints file, line and text of what appears on the screen, in a terminal or in error messages. Docstrings,
names, patterns, styles and table keys are left out as far as the text alone shows what it is.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "tui_app"
_WORDS = re.compile(r"[A-Za-z]{2,}[.,:;!?]? [A-Za-z`/{(]")
"""Two consecutive words, which suggests a sentence rather than a name."""
_CODE = re.compile(
    r"^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|WITH|ALTER|DROP|BEGIN)\b"
    r"|[{;]\s*(color|height|width|background|padding|margin|border|display)\s*:|\(\?|\\[bswd]"
)
"""SQL statements, styles and patterns."""


def docstrings(tree: ast.AST) -> set[int]:
    """Nodes of docstrings, including those below attributes."""
    found = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            for each in body:
                if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                    found.add(id(each.value))
    return found


def text_of(node: ast.AST) -> str | None:
    """The text of a string node; the fields of an f-string become braces."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (text_of(part) or "{}" for part in node.values)
        return "".join(parts)
    return None


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of each string in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    unsaid = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            unsaid |= {id(part) for part in node.values}
    for node in ast.walk(tree):
        text = text_of(node) if id(node) not in unsaid else None
        if text and _WORDS.search(text) and not _CODE.search(text):
            yield node.lineno, " ".join(text.split())  # type: ignore[attr-defined]


def main(part: str = "") -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE.parent)
        if part in str(name):
            for line, text in sorted(set(strings(path))):
                print(f"{name}:{line}: {text}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
