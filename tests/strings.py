"""Every string that a user may read, to be read in one go: ``python -m tests.strings [PART OF A PATH]``.

Texts of the program's own files are listed by file and line: what is said on the screen, in a terminal, and
in messages of errors. Docstrings, names, patterns, styles and keys of tables are left out as far as a look at
a text can tell them apart.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "tui_app"
_WORDS = re.compile(r"[A-Za-z]{2,}[.,:;!?]? [A-Za-z`/{(]")
"""Two words behind each other: what is said, rather than a name."""
_CODE = re.compile(
    r"^\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|PRAGMA|WITH|ALTER|DROP|BEGIN)\b"
    r"|[{;]\s*(color|height|width|background|padding|margin|border|display)\s*:|\(\?|\\[bswd]"
)
"""Statements of a database, styles and patterns."""


def docstrings(tree: ast.AST) -> set[int]:
    """The texts that only describe code, those below a name among them."""
    found = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            for each in body:
                if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                    found.add(id(each.value))
    return found


def text_of(node: ast.AST) -> str | None:
    """A text as it is written, its places in braces."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (text_of(part) or "{}" for part in node.values)
        return "".join(parts)
    return None


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of what a file may say."""
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
