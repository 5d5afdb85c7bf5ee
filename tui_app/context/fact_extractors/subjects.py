"""What a rule is about, so that two of them can be compared."""

import re
from dataclasses import dataclass
from functools import lru_cache

from tui_app.context.fact_extractors.words import words

_VALUE = re.compile(r"`[^`]{1,80}`|\"[^\"]{1,80}\"|'[^']{1,80}'|\b\d[\w.,:/-]{0,40}")
_AROUND = "`\"'.,:;/"
_WORD = re.compile(r"[^\W\d_]{2,40}")
_CARRIERS = words(
    "the an to of in on for and or is it be with by as at that this please use using used set make do not "
    "don dont never always must should only instead actually no now we you me my your our its rather than "
    "from wait sorry correction will can let want der die das ein eine und oder nicht nur bitte le la les "
    "un une et ou pas el los las uno una y o solo may might ok okay well longer anymore jetzt ab sofort "
    "désormais ahora immer nie"
)
_NEGATION = re.compile(
    r"(?i)\b(?:not|never|no|don['’]?t|avoid|without|stop|nicht|kein\w*|nie|niemals|pas|jamais|nunca)\b"
    r"|n['’]t\b|不|别"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a rule is about."""

    text: str
    about: frozenset[str]
    """Its content words, without its values."""
    values: frozenset[str]
    forbids: bool


@lru_cache(maxsize=2_048)  # each compaction compares all standing rules again
def subject_of(text: str) -> Subject:
    """Take a rule apart into its content words and its values."""
    found = (word.casefold() for word in _WORD.findall(_VALUE.sub(" ", text)))
    return Subject(
        text=text,
        about=frozenset(word for word in found if word not in _CARRIERS),
        values=frozenset(value.casefold().strip(_AROUND) for value in _VALUE.findall(text)),
        forbids=_NEGATION.search(text) is not None,
    )
