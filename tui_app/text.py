"""Text made safe to show: hidden characters written out, terminal sequences removed, titles shortened."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

UNSEEN = re.compile(
    r"[\xad\u034f\u200d\u115f\u1160\u180b-\u180f\u2061-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f\uffa0\ufff9-\ufffb"
    r"\U0001f3fb-\U0001f3ff\U000e0000-\U000e0fff]"
)
"""Characters without a shape of their own: they hide words, or change the width of the preceding one."""
_BLANK = "\u2800\U0001d159"
"""Blank characters of full width, which are used for drawings."""
_PLAIN_OR_SIGN = re.compile(r"([ -~]+)|([^ -~])")
"""Splits off printable ASCII, so that only the rest is examined character by character."""


def visible(text: str) -> str:
    r"""Write out every character of a line that a screen would hide or act on, as ``\x1b``.

    Removing them, as elsewhere, could make a command look like another one.
    """
    return written_out(text)[0]


def written_out(text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Like ``visible``, with the places of such characters: a text may contain the same letters itself."""
    if text.isascii() and text.isprintable():
        return text, ()
    shown: list[str] = []
    places: list[tuple[int, int]] = []
    size = marks = 0
    for plain, sign in _PLAIN_OR_SIGN.findall(text.replace("\t", "    ")):
        category = unicodedata.category(sign) if sign else "L"
        marks = marks + 1 if category.startswith("M") else 0
        hidden = category.startswith(("C", "Z")) or sign in _BLANK or bool(UNSEEN.match(sign))
        if sign and (hidden or marks > _MOST_MARKS or not sign.isprintable()):
            piece = sign.encode("unicode_escape", "surrogatepass").decode("ascii")
            places.append((size, size + len(piece)))
        else:
            piece = plain or sign
        shown.append(piece)
        size += len(piece)
    return "".join(shown), tuple(places)


_MOST_MARKS = 4
"""Maximum marks on one letter: no language needs more, and many of them cover other rows."""
_WORDS = re.compile(r"[^\W\d_]+")
_INNER_SIGN = re.compile(r"(?<=[0-9A-Za-z])[^\w\s\x00-\x7f](?=[0-9A-Za-z])")
_WRITTEN_TOGETHER = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO"})
"""Scripts that a word may combine with others, none of whose letters looks like a Latin one."""
_TWINS = frozenset(
    "асеорхуіјѕһԁԛԝӏүѵАВСЕНІЈКМОРЅТХУԌԚԜҮѴ"  # Cyrillic
    "αγινορυΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳ"  # Greek
    "օսոհցզյՕՍԼ"  # Armenian
    "ᎠᎡᎢᎪᎫᎬᎷᎳᎻᎽᏀᏃᏏᏒᏔᏚᏞᏟᏢᏦᏴᏙᏎ"  # Cherokee
    "ɑɡꜱᴄᴏᴠᴡᴢꞁ"  # Latin of phoneticians
)  # fmt: skip
"""Letters that look like ASCII ones."""
_ALL_TWINS = frozenset({"LISU"})
"""Scripts of which every letter does."""
_JOINED = re.compile(r"[ _-]")
"""Separators between the words of a name; blanks only within quotes."""


MOST_REMARKS = 5
"""Maximum number of remarks about one text."""


def lookalikes(text: str) -> Iterator[str]:
    """Yield remarks on words that may not be what they look like: mixed scripts, or similar characters.

    A word in one script is remarked on if all of its letters look like ASCII ones, unless another word of the
    same name shows the script.
    """
    if turned := next((sign for sign in text if unicodedata.bidirectional(sign) in ("R", "AL", "AN")), ""):
        yield f"it has letters that run right to left, such as {turned}, and may be shown in another order"
    if text.isascii():
        return
    words = list(_WORDS.finditer(text))
    for at, found in enumerate(words):
        if why := "" if found.group().isascii() else _why_odd(text, words, at):
            yield f'"{visible(found.group()[:60])}" {why}'
    for found in _INNER_SIGN.finditer(text):
        sign = found.group()
        name = unicodedata.name(sign, "")
        if name and unicodedata.category(sign)[0] in "PS":
            yield f'"{_around(text, found)}" has a {name.lower()}'
    for found in _MARKED.finditer(text):
        if len(unicodedata.normalize("NFC", found.group())) > 1:
            sign, mark = found.group()[0], found.group()[1]
            yield f'"{_around(text, found)}" has a {unicodedata.name(mark, "mark").lower()} on {sign}'


def _around(text: str, found: re.Match[str]) -> str:
    return visible(text[max(0, found.start() - 20) : found.end() + 20])


def _why_odd(text: str, words: Sequence[re.Match[str]], at: int) -> str:
    word = words[at].group()
    scripts: dict[str, str] = {}
    for letter in word:
        scripts.setdefault(_script(letter), letter)
    for name in _WRITTEN_TOGETHER:
        scripts.pop(name, None)
    odd = [each for each in scripts if each != "LATIN"]
    styled = [each for each in odd if unicodedata.normalize("NFKC", scripts[each]).isascii()]
    if len(scripts) > 1 or styled:
        name = (styled or odd)[0]
        return f"has {name.capitalize()} letters, such as {scripts[name]}"
    if odd and _is_twin(word) and not _is_shown(text, words, at, odd[0]):
        return f"is of {odd[0].capitalize()} letters only, which look like Latin ones"
    twin = next((each for each in word if each in _TWINS), "") if "LATIN" in scripts else ""
    return f"has unusual Latin letters, such as {twin}" if twin else ""


_MARKED = re.compile(
    r"[0-9A-Za-z!-/:-@\[-`{-~][\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
"""An ASCII character with marks. In real languages they can be composed to one letter."""


def _script(letter: str) -> str:
    return unicodedata.name(letter, "UNKNOWN").partition(" ")[0]


def _is_twin(word: str) -> bool:
    return all(letter in _TWINS or _script(letter) in _ALL_TWINS for letter in word)


def _is_shown(text: str, words: Sequence[re.Match[str]], at: int, script: str) -> bool:
    """Return whether a neighbouring word of the same name can only be in this script."""
    here = words[at]
    is_quoted = any(text.count(sign, 0, here.start()) % 2 for sign in "\"'")
    for other in words[max(0, at - 1) : at + 2]:
        between = text[here.end() : other.start()] or text[other.end() : here.start()]
        if other is here or not _JOINED.fullmatch(between) or (between == " " and not is_quoted):
            continue
        if _script(other.group()[0]) == script and not _is_twin(other.group()):
            return True
    return False


_ESCAPES = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,16}[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[@-Z\\-_])")
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def without_sequences(text: str) -> str:
    """Remove terminal sequences as a whole: their parameters would be noise."""
    return _ESCAPES.sub("", text)


def plain_text(text: str) -> str:
    """Remove terminal sequences, control characters, direction overrides and lone surrogates."""
    text = without_sequences(text).replace("\r\n", "\n").replace("\r", "\n")
    if text.isprintable():
        return text
    return "".join(
        c for c in text if c in "\n\t" or (unicodedata.category(c) not in ("Cc", "Cs") and c not in _BIDI)
    )


_FENCE = re.compile(r"(?:```|~~~)[\w+.#-]*")
_HEADING = re.compile(r"#{1,6}\s+(?P<words>\S.*?)(?:\s+#+)?")
# Bold has word borders around it: a glob (`src/**/*.py`) and a power (`2**3`) are no markup.
_INLINE = re.compile(
    r"(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|(?:(?<=[\s(\[{\"'“‘–—:,;])|^)\*\*(?=[^\s*])(?P<bold>.+?)(?<=[^\s*])\*\*(?=[\s)\]}\"'”’–—:,;.!?…]|$)"
)
LOOKED_AT = 1_000
"""Characters of a line that are examined: more than fit in any row."""


def plain_line(text: str) -> str:
    """Return the first line with any words, without Markdown's syntax for headings, bold and code.

    Text that only resembles it stays: ``a*b*c``, ``__init__``, ``#12``.
    """
    lines = (line.strip() for line in text.splitlines())
    filled = [line for line in lines if line]
    line = next((line for line in filled if not _FENCE.fullmatch(line)), filled[0] if filled else "")
    shown, rest = line[:LOOKED_AT], line[LOOKED_AT:]
    heading = _HEADING.fullmatch(shown)
    return _bare(heading["words"] if heading else shown) + rest


def _bare(line: str) -> str:
    def bare(found: re.Match[str]) -> str:
        code = found["code"]
        return _bare(found["bold"]) if code is None else code.strip() or code

    return _INLINE.sub(bare, line)


def cut(text: str, limit: int) -> str:
    """Shorten a text to a maximum length, with an ellipsis as the last character."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def count(number: int, thing: str) -> str:
    """Format a count: ``1 turn``, ``1,204 turns``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def thousands(tokens: int) -> str:
    """Format tokens in thousands or millions with one digit, for example ``91.5k``."""
    return f"{tokens / 1_000:.1f}k" if tokens < 999_950 else f"{tokens / 1_000_000:.1f}M"


LARGE = 20
"""A paste of more lines becomes a chip."""
LONG = 4_000
"""So does one of more characters: the editor wraps every line again at each key."""


def is_large(text: str) -> bool:
    """Return whether a pasted text is too long to be shown in place."""
    return len(text) > LONG or len(text.rstrip("\n").split("\n")) > LARGE


def words(text: str) -> frozenset[str]:
    """Return the words of a text, as a set."""
    return frozenset(text.split())
