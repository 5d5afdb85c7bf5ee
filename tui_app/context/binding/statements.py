"""The statements of a text, split by form, with their anchors: names, numbers, quotes, message numbers."""

import re
from collections.abc import Callable, Iterator
from typing import Literal

from tui_app.context.binding.forms import MARK, SOURCES, bare_text, message_numbers
from tui_app.context.ledger.names import is_file_name
from tui_app.records import frozen
from tui_app.text import words

AnchorKind = Literal["code", "path", "address", "name", "number", "quote"]


@frozen
class Anchor:
    """Part of a statement that can be searched for literally."""

    text: str
    kind: AnchorKind
    strict: bool = True
    """Whether it is clearly literal: if it occurs nowhere, that is reported."""
    has_unit: bool = False
    """For a number: whether a unit sign follows it."""


@frozen
class Statement:
    """A sentence, an item of a list or a row of a table."""

    text: str
    """Without marks and sources at its end."""
    end: int
    """Index of its end in the whole text, including its marks."""
    anchors: tuple[Anchor, ...]
    sources: tuple[int, ...]
    """Message numbers that it cites."""
    heading: str = ""
    start: int = 0
    line: int = 0
    """Number of its line in the whole text, from 0."""


_LONGEST_LINE, _LONGEST_SHORT, _STATED_WORDS = 6_000, 24, 3
"""Characters of a line and of an abbreviation; words besides its names by which a heading is a statement."""
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+(.{1,200}?)[ \t#]*$|[ \t]*\*\*([^*]{1,120}):?\*\*:?[ \t]*$")
_LEAD = re.compile(r"[ \t]*(?:(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX~-]\][ \t]+)?|>[ \t]?|\|[ \t]*)*")
_RULE = re.compile(r"[\s|:+=_*–—-]*$")
_END = re.compile(r"(?<=[.!?…])[\"'”»)*`]{0,3}[ \t]+(?=\S)|(?<=[。！？।۔؟])[ \t]*(?=\S)")
_SHORT_WORD = re.compile(
    r"(?:(?:^|[\s(])[^\W\d_](?:\.[^\W\d_])*\.|(?:^|\s)\d{1,3}\.|\b(?:vs|etc|bzw|approx|Nr|No|ca)\.)[\s\"')]*$"
)


def statements(text: str) -> Iterator[Statement]:
    """Split a text into statements, without headings, labels, rules and code in fences.

    Args:
        text: Notes in Markdown, of any language.
    """
    place, fenced, heading = 0, False, ""
    lines = text.split("\n")
    last_fence = max((number for number, line in enumerate(lines) if _FENCE.match(line)), default=0)
    for number, line in enumerate(lines):
        start, place = place, place + len(line) + 1
        if _FENCE.match(line) and (fenced or number < last_fence):
            fenced = not fenced
            continue
        if fenced or _RULE.match(line):
            continue
        if match := _HEADING.match(line):
            heading = match[1] or match[2]
            if not _is_statement(heading):
                continue
        under = lines[number + 1] if number + 1 < len(lines) else ""
        is_head = line.lstrip().startswith("|") and "-" in under and _RULE.match(under) is not None
        lead = _LEAD.match(line)
        begin = lead.end() if lead else 0
        body = line[begin:].rstrip().rstrip("|").rstrip()
        is_label = bare_text(body).rstrip("*_").endswith((":", "：")) and not _is_statement(body)
        if is_head or is_label or not any(map(str.isalpha, body)):
            continue
        if len(body) > _LONGEST_LINE:
            # No real line is that long; it is not searched.
            yield Statement(
                bare_text(body), start + begin + len(body), (), (), heading, start + begin, number
            )
            continue
        for first, last in _sentences(body):
            if any(map(str.isalpha, bare_text(body[first:last]))):
                yield _statement(body[first:last], start + begin + first, heading, number)


def _is_statement(label: str) -> bool:
    """Whether a heading or label is more than a name: it states something about what it names."""
    anchors = anchors_in(label[:_LONGEST_LINE])
    rest = len(label.split()) - sum(len(anchor.text.split()) for anchor in anchors)
    return bool(anchors) and rest >= _STATED_WORDS


def _sentences(body: str) -> Iterator[tuple[int, int]]:
    """Yield the positions of the sentences in a line, each with a form after it."""
    start = counted = marks = 0
    for match in _END.finditer(body):
        if match.start() < start:
            continue
        marks += body.count("`", counted, match.start())
        counted = match.start()
        if marks % 2:
            continue
        if _SHORT_WORD.search(body[max(start, match.start() - _LONGEST_SHORT) : match.start() + 1]):
            continue
        end = after = match.end()
        last = match.start() + len(match[0].rstrip())
        while form := SOURCES.match(body, end) or MARK.match(body, end):
            end = last = form.end()
            end += len(body[end:]) - len(body[end:].lstrip(" \t"))
        if end > after and not body[end:].strip(" .。*_"):
            continue
        yield start, last
        start = counted = end
        marks = 0
    if body[start:].strip():
        yield start, len(body)


def _statement(raw: str, start: int, heading: str, line: int) -> Statement:
    bare = bare_text(raw)
    given = (number for form in SOURCES.finditer(raw) for number in message_numbers(form[2]))
    anchors, sources = tuple(anchors_in(SOURCES.sub(" ", bare))), tuple(dict.fromkeys(given))
    return Statement(bare, start + len(raw), anchors, sources, heading, start, line)


_CODE = re.compile(r"`([^`\n]{1,400})`")
_ADDRESS = re.compile(r"https?://[^\s<>\"'`)\]}]+")
_L = r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0600-\u06ff]"
"""A letter or digit of a script that puts spaces around names."""
_PATH = re.compile(
    rf"(?<!{_L})(?<![/@.+-])(?:~|…|\.{{1,2}})?/?(?:(?:{_L}|[.@+-])+/)+(?:{_L}|[.@+-])*"
    rf"|(?:(?<!{_L})(?<![/@.+-])|(?<=…/))(?:{_L}|[@+-])(?:{_L}|[.@+-])*\.[A-Za-z][A-Za-z0-9_]{{0,7}}(?!{_L}|[(/])"
)
_SHAPED = re.compile(
    r"(?a)(?<![\w/.-])(?:[a-z0-9]+(?:_[a-z0-9]+)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|\w+_\w+)(?:\(\))?(?![\w/])"
    r"|(?<![\w/])@[\w-]+/[\w.-]*\w|(?<![\w-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}(?![\w-])"
    r"|(?<![\w/.-])[A-Za-z_]\w*(?:\.\w+)*\(\)"
)
_CASED = re.compile(
    r"(?a)(?<![\w/.-])(?:[a-z]+[0-9]*[A-Z]\w*|(?:[A-Z][a-z0-9]+){2,}|[A-Z][A-Z0-9-]{2,}[0-9]\w*)(?![\w/])"
)
"""Names by their case: products are spelled like that as well."""
_QUOTE = re.compile(
    r"“([^“”\n]{2,400})”|„([^„“”\n]{2,400})[“”]|«([^«»\n]{2,400})»|「([^「」\n]{2,400})」|『([^『』\n]{2,400})』"
    r"|(?<![\w\"=])\"(?=\S)([^\"\n]{2,400})\"(?!\w)|(?<!\w)'(?=\S)([^'\n]{4,400})'(?!\w)"
)
_VERSION = re.compile(r"(?<![\w.])v?\d{1,4}(?:\.\d{1,6}){2,3}(?:[-+][\w.]{1,20})?(?!\w)")
_NUMBER = re.compile(
    r"(?a)(?<![\w#./:-])\d{1,3}(?: \d{3})+(?![\w/]|[.,:-]\d)"
    r"|(?<![\w#./:-])[-+]?\d+(?:[.,'’\u202f\u00a0]\d+)*(?![\d/])|(?<=[:=#L~≈])\d+(?:[.,]\d+)*(?![\w/])"
)
_ORDINAL = re.compile(r"(?a)^\d+(?:st|nd|rd|th|er|e|ème|º|ª)\b")
_UNIT = re.compile(
    r"[\s\u202f\u00a0]?(?:[num\u00b5\u03bcKkMGT]?(?:s|B|b|bit|Hz|W)|[KMGT]iB|sec|min|h|%|°)(?![A-Za-z])"
)
"""A unit sign after a number, so that the log may have it in another unit."""
_NO_PATHS = words("e.g i.e node.js next.js vue.js three.js express.js d3.js asp.net z.b d.h and/or")
_NOTHING = "\x00"


def anchors_in(text: str) -> list[Anchor]:
    """Return the searchable parts of a statement, by kind; no part has two kinds."""
    found: list[Anchor] = []
    for pattern, anchor_of in _READERS:
        left = text
        for match in pattern.finditer(left):
            if (anchor := anchor_of(match)) is not None:
                found.append(anchor)
                text = f"{text[: match.start()]}{_NOTHING * len(match[0])}{text[match.end() :]}"
    return list(dict.fromkeys(found))


def _code(match: re.Match[str]) -> Anchor:
    inside = match[1].strip()
    if _NUMBER.fullmatch(inside):
        return Anchor(inside.strip("+"), "number")
    # A plain word in code marks is not code.
    is_literal = not (inside.isalpha() and inside.islower()) and len(inside) > 1
    return Anchor(inside, "path" if _is_path(inside) else "code", strict=is_literal)


def _quote(match: re.Match[str]) -> Anchor | None:
    inside = next(filter(None, match.groups()), "").strip()
    # A quotation: three words, or as many characters without spaces.
    is_long = len(inside.split()) > 2 or sum(char > "\u0dff" for char in inside) > 7
    return Anchor(inside, "quote", strict=is_long) if inside and _NOTHING not in inside else None


def _path(match: re.Match[str]) -> Anchor | None:
    name = match[0].rstrip(".:,")
    # Outside of code marks two words with a slash between them are not a path.
    is_plain = len([*filter(None, name.split("/"))]) != 2 or "." in name or name[0] in "/~" or name[-1] == "/"
    return Anchor(name, "path", strict=is_plain) if _is_path(name) else None


def _number(match: re.Match[str]) -> Anchor | None:
    is_ordinal = _ORDINAL.match(match.string[match.start() : match.end() + 3])
    has_unit = _UNIT.match(match.string, match.end()) is not None
    return None if is_ordinal else Anchor(match[0].strip("+"), "number", has_unit=has_unit)


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Anchor | None]], ...] = (
    (_CODE, _code),
    (_QUOTE, _quote),
    (_ADDRESS, lambda match: Anchor(match[0].rstrip(".,;:"), "address")),
    (_PATH, _path),
    (_VERSION, lambda match: Anchor(match[0].rstrip("."), "name", strict=True)),
    (_SHAPED, lambda match: Anchor(match[0].rstrip("."), "name", strict=True)),
    (_CASED, lambda match: Anchor(match[0].rstrip("."), "name", strict=False)),
    (_NUMBER, _number),
)


def _is_path(name: str) -> bool:
    if (
        {" ", "*"} & {*name}
        or name.casefold().rstrip(".") in _NO_PATHS
        or name.startswith(("http:", "https:", "@"))
    ):
        return False
    if "/" in name.strip("/"):
        return not any(char in name for char in "(){}<>*$=\"'|,;") and any(map(str.isalpha, name))
    return ("." in name and is_file_name(name) and not name.startswith(".")) or (
        name.endswith("/") and len(name) > 2
    )
