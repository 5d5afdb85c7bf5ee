"""Which rule takes the place of another: only where that is plain, for a rule kept too long harms less.

A rule that says the same of another thing stands beside the first ("Never edit `a`.", "Never edit `b`.").
It replaces it when the user says so ("instead", "from now on", …), says the opposite of the very same
thing, or gives another value to something that has one value only, such as a port.
"""

import re

from tui_app.context.fact_extractors.cues import asks
from tui_app.context.fact_extractors.retracting import takes_back
from tui_app.context.fact_extractors.subjects import Subject, subject_of

_TAKES_BACK = re.compile(
    r"(?i)^\W*(?:(?:no|nein|non)\b(?=\s{0,3}[,.;:!–—-])|nope\b|sorry\b|wait\b|doch\b|en fait\b|不对|不是)"
    r"|\b(?:actually|instead(?! of)|scratch that|changed? my mind|change (?:it|that|this|to|from)"
    r"|switch(?:ed)? to|correction|i meant|rather(?! than)"
    r"|stattdessen|doch lieber|plutôt(?! que)|finalement|mejor|en (?:vez|lugar) de eso|en realidad)\b"
    r"|改成|改为|改用"
)
"""Cues of a correction, whatever is corrected."""
_FROM_NOW_ON = re.compile(
    r"(?i)\b(?:from now on|now use|not anymore|no longer|ab jetzt|ab sofort|nicht mehr|désormais"
    r"|dorénavant|a partir de ahora|de ahora en adelante|ya no)\b|从现在起|以后"
)
"""Cues that also introduce rules that change nothing, such as a second prohibition."""
_INSTEAD_OF = re.compile(
    r"(?i)\b(?:instead of|rather than|statt|anstatt|plutôt que|au lieu d[e']|en (?:vez|lugar) de)\b(.{1,200})"
)
"""What stands behind is what goes."""
_BESIDES = re.compile(
    r"(?i)\b(?:also|too|as well|additionally|in addition|besides|auch|zusätzlich|außerdem|aussi|également"
    r"|también|además)\b|还|也"
)
_ONE_VALUE = re.compile(
    r"(?i)\b(?:use|set|keep|make|take|listen|serve|bind|benutze|nutze|nimm|verwende|setze|utilise[rz]?"
    r"|usa|utiliza)\b.{0,60}\b(?:port|puerto|timeout|time limit|limit|version|line[- ](?:length|width)|width"
    r"|log level|default|seed|locale|theme)\b|\bformat\w{0,5} (?:\w{1,20} ){0,3}with\b"
)
"""Things that have one value at a time."""


def replaces(new: Subject, old: Subject) -> bool:
    """Whether a newer rule plainly takes the place of an older one; in doubt both stand.

    Args:
        new: What was said later.
        old: What was said before.
    """
    if not new.about or not old.about or not _plainly(new, old):
        return False
    return not asks(new.text) and not _BESIDES.search(new.text)


def corrects(sentence: str) -> bool:
    """Whether a sentence sounds like a correction of what was said before."""
    return _TAKES_BACK.search(sentence) is not None


def adds(sentence: str) -> bool:
    """Whether a sentence says that what it asks for comes on top."""
    return _BESIDES.search(sentence) is not None


def _plainly(new: Subject, old: Subject) -> bool:
    # Words are compared before cues are looked for: most pairs of rules have nothing in common.
    if takes_back(new, old):
        return True
    same = new.about == old.about
    if new.forbids != old.forbids:
        return same and new.values == old.values
    return ((same or _near(new, old)) and _corrects(new, old)) or (same and _one_value(new, old))


def _corrects(new: Subject, old: Subject) -> bool:
    """Whether the user says that this is a correction, and it can be one of the older rule."""
    if _TAKES_BACK.search(new.text):
        return True
    if gone := _INSTEAD_OF.search(new.text):
        named = subject_of(gone[1])
        return bool(named.values & old.values if named.values else named.about & old.about)
    return not new.forbids and bool(_FROM_NOW_ON.search(new.text) and not _FROM_NOW_ON.search(old.text))


def _near(new: Subject, old: Subject) -> bool:
    """Whether two rules share most of their words."""
    shared, smaller = len(new.about & old.about), min(len(new.about), len(old.about))
    return smaller >= 2 and shared * 2 >= smaller and shared * 3 >= len(new.about | old.about)


def _one_value(new: Subject, old: Subject) -> bool:
    one = len(new.values) == len(old.values) == 1
    return one and not new.forbids and all(_ONE_VALUE.search(rule.text) for rule in (new, old))
