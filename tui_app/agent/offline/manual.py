"""The pages about Plimsoll that come with it, searched by section for questions about the program itself."""

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from tui_app.agent.offline.turn import Question
from tui_app.records import frozen

_PLACES = (Path(__file__).parents[2] / "docs", Path(__file__).parents[3] / "docs")
"""Where the pages are: in an installed package, in a checkout."""
_USING = re.compile(r"^Using it$(.*?)(?=^\S[^\n]*$\n\n- |\Z)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]*)\)")
_ASIDE = re.compile(r"!\[[^\]]*\]\([^)\s]*\)|<!--.*?-->", re.DOTALL)
_HEAD_ROW = re.compile(r"^\|[^\n]*\n(?=\|[-:| ]+\|$)", re.MULTILINE)
_RULE = re.compile(r"[|\-: ]+|```\w*")
_HEADING = re.compile(r"^(#{1,4}) (.+)$")
_IN_HEADING, _IN_TITLE, _TOGETHER, _ENTRY = 4.0, 1.5, 2.0, 3.0
"""What a word counts in a heading, and in the title of the page; all words in one paragraph; and a row of a
table that is about it."""
_SHOWN_CHARS = 800
ABOUT = (
    "Plimsoll is a terminal agent whose conversation never outgrows its model: you see how full the context"
    " is and with what, check what a compaction keeps, and undo it. `?` on an empty prompt shows every key,"
    " `/demo` lets you try it."
)


@frozen
class Section:
    """What stands under one heading of a page."""

    page: str
    """Name of the file."""
    title: str
    """Heading of the page."""
    heading: str
    text: str

    @property
    def paragraphs(self) -> list[str]:
        """Its paragraphs without links; each row of a table counts as one."""
        found: list[str] = []
        for block in _LINK.sub(r"\1", _ASIDE.sub("", self.text)).split("\n\n"):
            found += _HEAD_ROW.sub("", block).splitlines() if "\n|" in f"\n{block}" else [block]
        return [each for each in found if each.strip() and not _RULE.fullmatch(each)]

    def excerpt(self, patterns: Sequence[re.Pattern[str]]) -> str:
        """The paragraph that says most about some words, and those behind it while there is room."""
        every = self.paragraphs

        def worth(at: int) -> tuple[bool, int, int]:
            is_entry = any(each.fullmatch(_entry(every[at])) for each in patterns)
            return is_entry, _count_held(every[at], patterns), -at

        best = max(range(len(every)), key=worth)
        taken = [every[best]]
        for paragraph in every[best + 1 :]:
            if paragraph.startswith("|") or sum(map(len, taken)) + len(paragraph) > _SHOWN_CHARS:
                break
            taken.append(paragraph)
        return "\n\n".join(_row(each) for each in taken)[: 2 * _SHOWN_CHARS].strip()


def _row(paragraph: str) -> str:
    """A row of a table as a line of text."""
    cells = [cell.strip() for cell in paragraph.strip("| ").split(" |")] if paragraph.startswith("|") else []
    return " · ".join(filter(None, cells)).replace("\\|", "|") or paragraph


def _entry(paragraph: str) -> str:
    """What a row of a table is about: its first cell."""
    return paragraph.strip("| ").partition(" |")[0].strip("`") if paragraph.startswith("|") else ""


def _count_held(text: str, patterns: Sequence[re.Pattern[str]]) -> int:
    return sum(bool(each.search(text)) for each in patterns)


@lru_cache(maxsize=1)
def sections() -> tuple[Section, ...]:
    """Read the pages for users, as the index lists them; none where they did not come along."""
    folder = next((place for place in _PLACES if (place / "index.md").is_file()), None)
    if folder is None:
        return ()
    using = _USING.search((folder / "index.md").read_text(encoding="utf-8"))
    links = _LINK.findall(using[1] if using else "")
    pages = [name for _, name in links if re.fullmatch(r"[\w-]+\.md", name)]
    found: list[Section] = []
    for page in pages:
        if (folder / page).is_file():
            found += _sections(page, (folder / page).read_text(encoding="utf-8"))
    return tuple(found)


def _sections(page: str, text: str) -> list[Section]:
    title, heading, lines, found = "", "", list[str](), list[Section]()
    for line in [*text.splitlines(), "# "]:
        mark = _HEADING.match(line) or (line == "# ")
        if not mark:
            lines.append(line)
            continue
        if body := "\n".join(lines).strip():
            found.append(Section(page, title, heading, body))
        if isinstance(mark, re.Match):
            heading = mark[2].strip()
            title = title or heading
        lines = []
    return found


def manual_pattern(word: str) -> re.Pattern[str]:
    """What a word of a question is looked for as: also its other forms, and never inside of another word."""
    stem = re.sub(r"(?:ations?|ions?|ing|ed|ies|e?s|e|y)$", "", word) if len(word) > 4 else word
    return re.compile(rf"(?<![\w.]){re.escape(stem)}\w{{0,5}}", re.IGNORECASE)


def best_section(patterns: Sequence[re.Pattern[str]]) -> Section | None:
    """The section that holds every word and is about them.

    Args:
        patterns: What each word is looked for as; none finds nothing.
    """
    every = sections()
    if not patterns or not every:
        return None
    holding = [sum(bool(each.search(_whole(section))) for section in every) for each in patterns]
    scored: list[tuple[float, int]] = []
    for at, section in enumerate(every):
        # Of many words one may be missing.
        if _count_held(_whole(section), patterns) < len(patterns) - (len(patterns) > 2):
            continue
        length = 1.0 + len(section.text) / 4_000
        together = max(_count_held(each, patterns) for each in section.paragraphs)
        score = _TOGETHER * (together == len(patterns))
        for each, rows in zip(patterns, holding, strict=True):
            rarity = math.log(1.0 + (len(every) - rows + 0.5) / (rows + 0.5))
            entry = any(each.fullmatch(_entry(row)) for row in section.paragraphs)
            heads = _IN_HEADING * bool(each.search(section.heading))
            heads += _IN_TITLE * bool(each.search(section.title)) + _ENTRY * entry
            count = len(each.findall(section.text))
            # Of rows that are about it, that of the page which the index lists first.
            score += rarity * (heads + (1.0 if entry else count / (count + length)))
        scored.append((-score, at))
    return every[min(scored)[1]] if scored else None


def _whole(section: Section) -> str:
    return f"{section.title}\n{section.heading}\n{section.text}"


def about_program(question: Question) -> str:
    """What the pages about this program say, where a question is about it; else empty.

    That it is: it names the program, one of its keys or a command, or it asks how something is done and a
    section of the pages is about that.
    """
    if question.kind not in ("conversation", "general"):
        return ""
    if question.about == "named":
        return from_manual(question, named=True) if question.words else ABOUT
    return from_manual(question) if question.about == "asked" and len(question.words) > 1 else ""


def from_manual(question: Question, *, named: bool = False) -> str:
    """The section of the pages about this program that holds all words of a question.

    Args:
        question: What is looked for.
        named: Whether it names the program: else a heading must hold one of the words.
    """
    patterns = [manual_pattern(word) for word in question.words]
    section = best_section(patterns)
    if section is None:
        return ""
    heads = f"{section.title} {section.heading}"
    if not (named or any(each.search(heads) for each in patterns)):
        return ""
    quoted = "\n".join(f"> {line}".rstrip() for line in section.excerpt(patterns).splitlines())
    return f"Plimsoll's own pages say, in `docs/{section.page}` under *{section.heading}*:\n\n{quoted}"
