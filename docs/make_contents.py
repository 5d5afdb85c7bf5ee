"""Writes the contents of long pages from their headings: ``python docs/make_contents.py``."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from docs.tables import fill  # noqa: E402

LONG = 1_800
"""Words from which a page has contents."""
_START, _END = "<!-- contents -->", "<!-- end of contents -->"


def pages() -> list[Path]:
    """The pages that are long."""
    return [path for path in sorted(HERE.glob("*.md")) if len(path.read_text("utf-8").split()) > LONG]


def filled(page: str) -> str:
    """The page with fresh contents, in front of its first chapter where it has none yet."""
    if _START not in page:
        page = page.replace("\n## ", f"\n{_START}\n{_END}\n\n## ", 1)
    headings = re.findall(
        r"^## (.+)$", re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return fill(page, {"contents": " ·\n".join(f"[{each}](#{anchor(each)})" for each in headings)})


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


if __name__ == "__main__":
    for path in pages():
        path.write_text(filled(path.read_text("utf-8")), encoding="utf-8")
